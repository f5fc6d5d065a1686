// The instruction set that the vector kernels run on, chosen at run time.
#pragma once

#include "cpu/lanes/kernels.hpp"

namespace paretopo::cpu {

enum class Isa : int { kPortable, kAvx2, kAvx512 };
inline constexpr const char* kIsaNames[] = {"portable", "avx2", "avx512"};

Isa best_isa();  // the best that this machine, and this build, can do
Isa isa();       // the one in use; at first the best
void set_isa(Isa isa);

const Kernels& kernels();         // of the one in use
const Kernels& kernels(Isa isa);  // of one up to the best

}  // namespace paretopo::cpu
