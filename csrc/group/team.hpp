// Lanes that work on one group together: threads of a warp or of a block on a GPU, the turns of a
// loop on the CPU. What they run is written once, as a sequence of steps; the code between steps
// is run by every lane alike. Within a step no lane may read what another one writes; nor may a
// step write what the code since the step before it reads, as some lanes may still be reading.
//
// A team offers:
//   lanes()        how many
//   each(step)     step(lane) by every lane; then all wait, and see what the others wrote
//   any(step)      as each; whether a lane answers true
//   count(step)    as each; the sum of the lanes' integers
//   sum(step)      as each; the sum of the lanes' doubles, always in the same order
//   raise(at, to)  *at = max(*at, to) and
//   lower(at, to)  *at = min(*at, to), by any number of lanes within one step
// and a warp, or what stands for one:
//   bits(n, test)  as each; bit i is test(i), for n <= 64
// and a block:
//   one_warp(work) work(warp) by the first warp; then all wait
#pragma once

#include <cstdint>

#include "portability.hpp"

namespace paretopo {

template <typename Team, typename Step>
PARETOPO_HD void for_each(Team& team, std::int64_t count, Step step) {
    team.each([&](int lane) {
        for (std::int64_t i = lane; i < count; i += team.lanes()) step(i);
    });
}

}  // namespace paretopo
