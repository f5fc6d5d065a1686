// The members of an archive and their sides, kept between two additions.
#include "cpu/lanes/prefix.hpp"
#include "cpu/lanes/volume_engine.hpp"

namespace paretopo::cpu::PARETOPO_LANES {
namespace {

PARETOPO_INLINE Mask rows_from(std::size_t i, std::size_t count) {
    const std::size_t left = count - i;
    return lanes_before(left < kLanes ? static_cast<int>(left) : kLanes);
}

}  // namespace

double Engine::gain(const double* side) {
    std::size_t high = 0;
    return exact_exclusive(most_objectives_, side, kept_.rows, high);
}

void Engine::keep(const double* side) {
    kept_.need_one_more(most_objectives_);
    std::size_t high = 0;
    const Doubles key = all(side[most_objectives_ - 1]);
    for (;;) {  // sides are positive: the zeros behind the rows stop it
        const int reach = count(reaches(load(kept_.rows[most_objectives_ - 1] + high), key));
        high += static_cast<std::size_t>(reach);
        if (reach < kLanes) break;
    }
    insert(kept_.rows, side, most_objectives_, high);
}

bool Engine::is_covered(const double* point) {
    const Columns& rows = members_.rows;
    for (std::size_t i = 0; i < rows.count; i += kLanes) {
        Mask covers = rows_from(i, rows.count);
        for (int m = 0; m < most_objectives_; ++m) {
            covers = both(covers, reaches(load(rows[m] + i), all(point[m])));
        }
        if (bits(covers)) return true;
    }
    return false;
}

void Engine::admit(const double* point) {
    members_.need_one_more(most_objectives_);
    kept_.need_one_more(most_objectives_);  // lest a member be admitted whose sides find no room
    Columns& rows = members_.rows;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < rows.count; i += kLanes) {
        const Mask present = rows_from(i, rows.count);
        Mask covered = present;
        for (int m = 0; m < most_objectives_; ++m) {
            covered = both(covered, reaches(all(point[m]), load(rows[m] + i)));
        }
        const Mask stays = without(present, covered);
        if (kept != i || bits(covered)) {
            for (int m = 0; m < most_objectives_; ++m) {
                squeeze(rows[m] + kept, stays, load(rows[m] + i));
            }
        }
        kept += static_cast<std::size_t>(count(stays));
    }
    for (int m = 0; m < most_objectives_; ++m) rows[m][kept] = point[m];
    rows.count = kept + 1;
    rows.close(most_objectives_);
}

void Engine::forget() {
    kept_.clear(most_objectives_);
    members_.clear(most_objectives_);
}

}  // namespace paretopo::cpu::PARETOPO_LANES
