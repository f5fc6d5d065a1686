// Teams: lanes that work on one group together, threads of a warp or of a block on a GPU, the turns
// of a loop on the CPU. What they run is written once, as a sequence of steps; the code between
// steps is run by every lane alike. Within a step no lane may read what another one writes; nor may
// a step write what the code since the step before it reads, as some lanes may still be reading.
//
// A team offers:
//   lanes()        how many
//   each(step)     step(lane) by every lane; then all wait, and see what the others wrote
//   alone(step)    step(lane) by every lane, and nobody waits: what such a step reads and writes in
//                  memory that lanes share is the lane's own until the next wait
//   atomic_max(at, value) and
//   atomic_min(at, value), by any number of lanes within one step
// and a warp, or what stands for one, whose lanes tell each other an answer. That is no wait: they
// see nothing that the others wrote, and no step of these writes:
//   any(step)        whether a lane answers true
//   count(step)      the sum of the lanes' integers
//   sum(step)        the sum of the lanes' doubles, always in the same order
//   ballot(n, test)  bit i is test(i), for n <= 64
// and a block:
//   sum(step)        as a warp's, and a wait; before the next one there is another wait
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

// As for_each, and nobody waits: each i is at home with its lane, i % lanes().
template <typename Team, typename Step>
PARETOPO_HD void for_own(Team& team, std::int64_t count, Step step) {
    team.alone([&](int lane) {
        for (std::int64_t i = lane; i < count; i += team.lanes()) step(i);
    });
}

// The arrays of one job, one after the other in memory that somebody else owns. What lays them out
// tells how much they take, too: an arena that begins at null gives out null and counts. Pointers
// all the way: out of an integer, the compiler would not know shared memory, and reach it the slow
// way of memory of any kind.
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
