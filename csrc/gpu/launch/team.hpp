// Teams: lanes that work on one group together. Lanes are the threads of a warp or block on a GPU,
// and iterations of a loop on the CPU. Kernels are written once, as a sequence of steps; every lane
// runs the code between steps. Within a step no lane may read memory that another one writes. A
// step must not write memory that the code since the previous step reads, as some lanes may still
// be reading it.
//
// A team offers:
//   lanes()               their number
//   each(step)            step(lane) by every lane, then a barrier: all see each other's writes
//   each_unsynced(step)   step(lane) by every lane without a barrier: until the next barrier, only
//                         the lane itself may use the shared memory that its step reads and writes
//   atomic_max(at, value),
//   atomic_min(at, value) and
//   atomic_add(at, value), which returns the value before, by any number of lanes within one step
// A warp, or its substitute, also exchanges values between lanes. That is no barrier: lanes do not
// see each other's writes, and these steps must not write:
//   any(step)        whether step is true for some lane
//   count(step)      the sum of the lanes' integers
//   sum(step)        the sum of the lanes' doubles, always in the same order
//   ballot(n, test)  bit i is test(i), for n <= 64
//   of_lane(own, i)  the number of lane i in an Own<Number>, which has a number for each lane
// A block also offers:
//   sum(step)        like a warp's, with a barrier; another barrier must come before the next one
//   one_warp(work)   work(warp) by the first warp, then a barrier
#pragma once

#include <cstdint>

#include "portability.hpp"

namespace paretopo::gpu {

template <typename Team, typename Step>
PARETOPO_HD void for_each(Team& team, std::int64_t count, Step step) {
    team.each([&](int lane) {
        for (std::int64_t i = lane; i < count; i += team.lanes()) step(i);
    });
}

// Like for_each, without a barrier: lane i % lanes() owns index i.
template <typename Team, typename Step>
PARETOPO_HD void for_each_unsynced(Team& team, std::int64_t count, Step step) {
    team.each_unsynced([&](int lane) {
        for (std::int64_t i = lane; i < count; i += team.lanes()) step(i);
    });
}

// Calls step(i) for all i from..to that this part of several takes; without a barrier.
template <typename Block, typename Step>
PARETOPO_HD void for_each_in_part(Block& block, std::int64_t part, std::int64_t parts,
                                  std::int64_t from, std::int64_t to, Step step) {
    block.each_unsynced([&](int lane) {
        const std::int64_t stride = parts * block.lanes();
        for (std::int64_t i = from + part * block.lanes() + lane; i < to; i += stride) step(i);
    });
}

// Lays out the arrays of one job one after another in memory of the caller. An arena that begins at
// null returns null and only counts bytes. It works on pointers throughout: with an integer in
// between, the compiler would lose track of shared memory and use slower generic addresses.
class Arena {
  public:
    PARETOPO_HD explicit Arena(char* start) : start_(start) {}

    template <typename T>
    PARETOPO_HD T* array(std::int64_t count) {
        T* first = start_ ? reinterpret_cast<T*>(start_ + taken_) : nullptr;
        taken_ += (count * static_cast<std::int64_t>(sizeof(T)) + kAlign - 1) / kAlign * kAlign;
        return first;
    }

    PARETOPO_HD std::int64_t bytes() const { return taken_; }

  private:
    static constexpr std::int64_t kAlign = 16;
    char* start_;
    std::int64_t taken_ = 0;
};

}  // namespace paretopo::gpu
