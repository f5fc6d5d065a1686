// The instruction set that the vector kernels run on, chosen at run time.
#pragma once

#include <vector>

#include "cpu/lanes/kernels.hpp"

namespace paretopo::cpu {

enum class Isa : int { kPortable, kAvx2, kAvx512 };
inline constexpr const char* kIsaNames[] = {"portable", "avx2", "avx512"};

const std::vector<Isa>& isas();  // those of this build that this machine supports, the best last
Isa isa();                       // the one in use; initially the best
void set_isa(Isa isa);           // to one of isas()

const Kernels& kernels();         // of the instruction set in use
const Kernels& kernels(Isa isa);  // of one of isas()

}  // namespace paretopo::cpu
