// Volumes of 2 and 3 objectives, and the volume that one point adds to a set of 3: staircases in
// flat memory, searched by vector comparisons.
//
// Sources: Fonseca, Paquete and Lopez-Ibanez, 2006, "An improved dimension-sweep algorithm for the
// hypervolume indicator"; Guerreiro and Fonseca, 2018, for the contribution by delimiters.
#include "cpu/lanes/volume/hypervolume.hpp"

namespace paretopo::cpu::PARETOPO_LANES {

double Hypervolume::volume_2d(const Columns& rows) {
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

double Hypervolume::volume_3d(const Columns& rows, double* gains) {
    double* steps = steps_.of(2 * (rows.count + 2));
    FlatStaircase staircase{steps, steps + rows.count + 2};
    double volume = 0.0;
    for (std::size_t i = 0; i < rows.count; ++i) {
        if (i % kPollInterval == kPollInterval - 1) check_interrupt();
        const double x = rows[0][i];
        const double y = rows[1][i];
        const FlatStaircase::Taken taken = staircase.take(x, y, 0.0, 0.0);
        if (gains) gains[i] = taken.area;
        if (!(taken.area > 0.0)) continue;
        volume += taken.area * rows[2][i];
        staircase.replace(taken.first, taken.end, x, y);
    }
    return volume;
}

namespace {

struct DelimitedBox {
    double x, y, z, left, below, floor;
};

// The free volume of the columns `first` to `first` + 8 * kBlocks, one lane each: from the x of a
// hit to the next x on the left. The free part of a column is above all hits at least as wide, and
// only shrinks from level to level.
template <int kBlocks>
PARETOPO_INLINE double columns_of(const double* x, const double* y, const double* z,
                                  std::size_t hits, std::size_t first, const DelimitedBox& box) {
    constexpr int kAll = kBlocks * kParts;
    Doubles column[kAll];
    Doubles next[kAll];
    Doubles top[kAll];
    Doubles free[kAll];
    for (int p = 0; p < kAll; ++p) {
        column[p] = load(x + first + static_cast<std::size_t>(p * kLanes));
        next[p] = all(box.left);
        top[p] = all(box.below);
        free[p] = all((box.y - box.below) * (box.z - z[0]));
    }
    for (std::size_t k = 0; k < hits; ++k) {
        const Doubles qx = all(x[k]);
        const Doubles qy = all(y[k]);
        const Doubles drop = all(z[k] - z[k + 1]);
        const int earlier = k > first ? static_cast<int>(k - first) : 0;
        for (int p = 0; p < kAll; ++p) {
            // Among equal columns all but the last are empty.
            const Mask reached = reaches(column[p], qx);
            const Mask narrower = above(column[p], qx);
            const Mask ends = either(narrower, both(reached, lanes_before(earlier - p * kLanes)));
            next[p] = raised(next[p], ends, qx);
            top[p] = raised(top[p], opposite(narrower), qy);
            free[p] += (all(box.y) - top[p]) * drop;
        }
    }
    double volume = 0.0;
    for (int b = 0; b < kBlocks; ++b) {
        Doubles parts[kParts];
        for (int p = 0; p < kParts; ++p) {
            const int at = b * kParts + p;
            parts[p] = (column[at] - next[at]) * free[at];
        }
        volume += sum_of_eight(parts);
    }
    return volume;
}

}  // namespace

double Hypervolume::exclusive_3d(const double* point, const Columns& rows, std::size_t& high) {
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
            high += static_cast<std::size_t>(count(is_high));
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

    // Rows within that rectangle, from the top down to the first that covers all of it.
    const std::size_t room = rows.count + 4 * kPadding;
    double* hit_x = steps_.of(4 * room);
    double* hit_y = hit_x + room;
    double* hit_z = hit_y + room;
    std::size_t hits = 0;
    double floor = 0.0;
    Doubles reach = all(left);
    for (std::size_t i = 0; i < rows.count; i += kLanes) {
        const Doubles qx = load(x + i);
        const Doubles qy = load(y + i);
        Mask inside = both(above(qx, all(left)), above(qy, all(below)));
        const unsigned covers = bits(both(reaches(qx, all(px)), reaches(qy, all(py))));
        if (covers) {
            const int first = __builtin_ctz(covers);
            floor = z[i + static_cast<std::size_t>(first)];
            inside = both(inside, lanes_before(first));
        }
        const Doubles cut = smaller(qx, all(px));
        reach = raised(reach, inside, cut);
        squeeze(hit_x + hits, inside, cut);
        squeeze(hit_y + hits, inside, smaller(qy, all(py)));
        squeeze(hit_z + hits, inside, smaller(load(z + i), all(pz)));
        hits += static_cast<std::size_t>(count(inside));
        if (covers) break;
    }
    if (hits == 0) return (px - left) * (py - below) * (pz - floor);
    if (hits > kMaxDense && !is_exact_) {
        return by_staircase(hit_x, hit_y, hit_z, hits, {px, py, pz}, {left, below, floor});
    }

    hit_z[hits] = floor;
    for (std::size_t i = 0; i < 2 * kPadding; ++i) hit_x[hits + i] = left;
    const DelimitedBox box{px, py, pz, left, below, floor};
    double volume = 0.0;
    if (hits <= kEight) {
        volume = columns_of<1>(hit_x, hit_y, hit_z, hits, 0, box);
    } else {
        for (std::size_t first = 0; first < hits; first += 2 * kEight) {
            volume += columns_of<2>(hit_x, hit_y, hit_z, hits, first, box);
        }
    }
    return volume + (px - largest(reach)) * (py - below) * (pz - floor);
}

// The same for many hits, one after another: each shrinks the free area.
double Hypervolume::by_staircase(const double* x, const double* y, const double* z,
                                 std::size_t hits, const Corner& point, Corner corner) {
    double* memory = levels_[3].gains.of(2 * (hits + 2));
    FlatStaircase steps{memory, memory + hits + 2};
    double area = (point.x - corner.x) * (point.y - corner.y);
    double volume = 0.0;
    double level = point.z;
    for (std::size_t i = 0; i < hits; ++i) {
        if (x[i] <= corner.x || y[i] <= corner.y) continue;
        const FlatStaircase::Taken taken = steps.take(x[i], y[i], corner.x, corner.y);
        if (!(taken.area > 0.0)) continue;
        volume += area * (level - z[i]);
        level = z[i];
        area -= taken.area;
        if (x[i] >= point.x) {
            steps.drop(0, taken.end);
            corner.y = y[i];
        } else if (y[i] >= point.y) {
            steps.drop(taken.first, steps.size);
            corner.x = x[i];
        } else {
            steps.replace(taken.first, taken.end, x[i], y[i]);
        }
    }
    return volume + area * (level - corner.z);
}

}  // namespace paretopo::cpu::PARETOPO_LANES
