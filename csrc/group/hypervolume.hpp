// The hypervolume of ONE small group: the volume that its points dominate above a reference.
// Definition: Zitzler and Thiele, 1998; sweeps after Fonseca, Paquete and Lopez-Ibanez, 2006.
//
// Points come as sides: distances from the reference, all positive, larger is better. Sums have
// positive terms only, so that no digits cancel.
#pragma once

#include "portability.hpp"

namespace paretopo {

// sides: (count, 2), first side descending.
PARETOPO_HD inline double area_of_sorted(const double* sides, int count) {
    double area = 0.0;
    double height = 0.0;
    for (int i = 0; i < count; ++i) {
        const double y = sides[2 * i + 1];
        if (!(y > height)) continue;
        area += sides[2 * i] * (y - height);
        height = y;
    }
    return area;
}

}  // namespace paretopo
