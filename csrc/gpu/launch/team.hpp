// Teams: lanes that work on one group together, threads of a warp or of a block on a GPU, the turns
// of a loop on the CPU. What they run is written once, as a sequence of steps; the code between
// steps is run by every lane alike. Within a step no lane may read what another one writes; nor may
// a step write what the code since the step before it reads, as some lanes may still be reading.
//
// A team offers:
//   lanes()        how many
//   each(step)     step(lane) by every lane; then all wait, and see what the others wrote
//   any(step)      as each; whether a lane answers true
//   count(step)    as each; the sum of the lanes' integers
//   sum(step)      as each; the sum of the lanes' doubles, always in the same order
//   atomic_max(at, value) and
//   atomic_min(at, value), by any number of lanes within one step
// and a warp, or what stands for one:
//   ballot(n, test)  as each; bit i is test(i), for n <= 64
// and a block:
//   one_warp(work)   work(warp) by the first warp; then all wait
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

// The arrays of one job, one after the other in memory that somebody else owns. What lays them out
// tells how much they take, too: an arena that begins at null ends at their size.
class Arena {
  public:
    PARETOPO_HD explicit Arena(void* start) : at_(reinterpret_cast<std::uintptr_t>(start)) {}

    template <typename T>
    PARETOPO_HD T* array(std::int64_t count) {
        T* first = reinterpret_cast<T*>(at_);
        const auto bytes = static_cast<std::uintptr_t>(count) * sizeof(T);
        at_ += (bytes + kAlign - 1) / kAlign * kAlign;
        return first;
    }

    PARETOPO_HD std::int64_t end() const { return static_cast<std::int64_t>(at_); }

  private:
    static constexpr std::uintptr_t kAlign = 16;
    std::uintptr_t at_;
};

}  // namespace paretopo::gpu
