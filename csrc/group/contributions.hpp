// What ONE point dominates alone: its box, less what the others dominate of it.
//
// The box is first shrunk to its tightest lower corner, so that the subtraction happens at the
// scale of the contribution itself and never between two whole hypervolumes.
// Limiting after While, Bradstreet and Barone, 2012, "A fast way of calculating exact
// hypervolumes".
#pragma once

#include "portability.hpp"

namespace paretopo {

// Raises `corner` by one rival: a rival that is at least as good in all objectives but one cuts
// the box in that one. Returns true if the rival covers the point, so that nothing is left of it.
PARETOPO_HD inline bool raise_corner(const double* point, const double* rival, int objectives,
                                     double* corner) {
    int short_in = -1;
    for (int m = 0; m < objectives; ++m) {
        if (rival[m] >= point[m]) continue;
        if (short_in >= 0) return false;
        short_in = m;
    }
    if (short_in < 0) return true;
    if (rival[short_in] > corner[short_in]) corner[short_in] = rival[short_in];
    return false;
}

// What a rival dominates of the box corner..point, measured from the corner; false if nothing.
PARETOPO_HD inline bool limit_to_box(const double* point, const double* corner, const double* rival,
                                     int objectives, double* limited) {
    for (int m = 0; m < objectives; ++m) {
        const double reach = rival[m] < point[m] ? rival[m] : point[m];
        if (!(reach > corner[m])) return false;
        limited[m] = reach - corner[m];
    }
    return true;
}

}  // namespace paretopo
