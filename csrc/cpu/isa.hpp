// The instruction set that the lane kernels run on, chosen at run time.
//
// Files under csrc/cpu/lanes/ are compiled once per instruction set, each time into the namespace
// that PARETOPO_LANES names. All of them give the same results, bit for bit.
#pragma once

namespace paretopo::cpu {

enum class Isa : int { kPortable = 0, kAvx2 = 1, kAvx512 = 2 };

Isa best_isa();  // the best that this machine, and this build, can do
Isa isa();       // the one in use; at first the best
void set_isa(Isa isa);

}  // namespace paretopo::cpu
