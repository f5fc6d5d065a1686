// Volumes of 2 and 3 objectives, and what one point adds to a volume of 3: staircases in flat
// memory, filled through vector comparisons.
//
// Sources: Fonseca, Paquete and Lopez-Ibanez, 2006, "An improved dimension-sweep algorithm for the
// hypervolume indicator"; Guerreiro and Fonseca, 2018, for the contribution by delimiters.
#include "cpu/lanes/volume_engine.hpp"

namespace paretopo::cpu::PARETOPO_LANES {

double Engine::planar(Columns rows) {
    double area = 0.0;
    double width = 0.0;
    for (std::size_t i = 0; i < rows.count; ++i) {
        const double x = rows[0][i];
        if (!(x > width)) continue;
        area += (x - width) * rows[1][i];
        width = x;
    }
    return area;
}

double Engine::spatial(Columns rows, double* gains) {
    double* steps = steps_.of(2 * (rows.count + 2));
    Steps staircase{steps, steps + rows.count + 2};
    double volume = 0.0;
    for (std::size_t i = 0; i < rows.count; ++i) {
        const double x = rows[0][i];
        const double y = rows[1][i];
        const Steps::Taken taken = staircase.take(x, y, 0.0, 0.0);
        if (gains) gains[i] = taken.area;
        if (!(taken.area > 0.0)) continue;
        volume += taken.area * rows[2][i];
        staircase.replace(taken.first, taken.end, x, y);
    }
    return volume;
}

double Engine::exclusive_3d(const double* point, Columns rows) {
    const double px = point[0];
    const double py = point[1];
    const double pz = point[2];
    const double* x = rows[0];
    const double* y = rows[1];
    const double* z = rows[2];

    // Rows as high as the point: does one cover it, and how far do they cut its rectangle?
    double left = 0.0;
    double below = 0.0;
    {
        Doubles most_x = all(0.0);
        Doubles most_y = all(0.0);
        for (std::size_t i = 0; i < rows.count; i += kLanes) {
            const Mask is_high = reaches(load(z + i), all(pz));
            if (!bits(is_high)) break;
            const Doubles qx = load(x + i);
            const Doubles qy = load(y + i);
            const Mask wide = both(is_high, reaches(qx, all(px)));
            const Mask tall = both(is_high, reaches(qy, all(py)));
            if (bits(both(wide, tall))) return 0.0;
            most_y = larger(most_y, where(wide, qy));
            most_x = larger(most_x, where(tall, qx));
        }
        left = largest(most_x);
        below = largest(most_y);
    }

    // Downwards from the top of the point, the area that is its own shrinks.
    double* memory = steps_.of(2 * (rows.count + 2));
    Steps steps{memory, memory + rows.count + 2};
    double area = (px - left) * (py - below);
    double volume = 0.0;
    double level = pz;
    for (std::size_t i = 0; i < rows.count; i += kLanes) {
        unsigned chosen = bits(both(above(load(x + i), all(left)), above(load(y + i), all(below))));
        for (; chosen; chosen &= chosen - 1) {
            const std::size_t r = i + static_cast<std::size_t>(__builtin_ctz(chosen));
            double qx = x[r];
            double qy = y[r];
            if (qx <= left || qy <= below) continue;  // cut off since the comparison
            const double height = z[r] < pz ? z[r] : pz;
            volume += area * (level - height);
            level = height;
            const bool wide = qx >= px;
            const bool tall = qy >= py;
            if (wide && tall) return volume;
            qx = wide ? px : qx;
            qy = tall ? py : qy;
            const Steps::Taken taken = steps.take(qx, qy, left, below);
            if (!(taken.area > 0.0)) continue;
            area -= taken.area;
            if (wide) {
                steps.drop(0, taken.end);
                below = qy;
            } else if (tall) {
                steps.drop(taken.first, steps.size);
                left = qx;
            } else {
                steps.replace(taken.first, taken.end, qx, qy);
            }
        }
    }
    return volume + area * level;
}

}  // namespace paretopo::cpu::PARETOPO_LANES
