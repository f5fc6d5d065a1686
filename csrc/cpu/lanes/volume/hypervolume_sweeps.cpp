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

// By hit: the height up to which columns of at most its width stay free, and the drop to the next.
PARETOPO_INLINE void measure_levels(const Hits& hits, std::size_t count, double* height,
                                    double* drop) {
    for (std::size_t k = 0; k < count; k += kLanes) {
        store(height + k, all(hits.top_y) - load(hits.y + k));
        store(drop + k, load(hits.z + k) - load(hits.z + k + 1));
    }
}

// The last of up to 64 hits that are as wide as the point; arbitrary if there is none.
PARETOPO_INLINE int find_last_wide(const Hits& hits, std::size_t count) {
    std::uint64_t wide = 1;
    for (std::size_t k = 0; k < count; k += kLanes) {
        wide |= std::uint64_t{bits(reaches(load(hits.x + k), all(hits.top_x)))} << k % 64;
    }
    return 63 - __builtin_clzll(wide);
}

// The free volume of the columns `first` to `first` + kVectors * kLanes, one lane each: from the x
// of a hit to the next x on the left. The free part of a column is above all hits at least as wide,
// and only shrinks from level to level. Among equal columns all but the last are empty.
template <int kVectors>
class FreeColumns {
  public:
    // The hits after `count` do not matter.
    PARETOPO_INLINE FreeColumns(const Hits& hits, std::size_t first, std::size_t count,
                                int last_wide) {
        for (int p = 0; p < kVectors; ++p) {
            column_[p] = load(hits.x + first + static_cast<std::size_t>(p * kLanes));
            next_[p] = all(hits.left);
            height_[p] = all(hits.top_y - hits.below);
            free_[p] = all((hits.top_y - hits.below) * (hits.top_z - hits.z[0]));
        }
        if (hits.is_distinct) {
            empty_before(all(hits.top_x), last_wide - static_cast<int>(first));
            return;
        }
#pragma GCC unroll 16
        for (std::size_t k = first + 1; k < count; ++k) {
            empty_before(all(hits.x[k]), static_cast<int>(k - first));
        }
    }

    // Goes down from a hit to the next.
    PARETOPO_INLINE void pass(double hit_x, double hit_height, double hit_drop) {
        const Doubles x = all(hit_x);
        const Doubles height = all(hit_height);
        const Doubles drop = all(hit_drop);
        for (int p = 0; p < kVectors; ++p) {
            const Mask is_wider = above(column_[p], x);
            next_[p] = raised(next_[p], is_wider, x);
            height_[p] = lowered_without(height_[p], is_wider, height);
            free_[p] += height_[p] * drop;
        }
    }

    PARETOPO_INLINE double sum() const {
        double volume = 0.0;
        for (int first = 0; first < kVectors; first += kParts) {
            Doubles parts[kParts];
            for (int p = 0; p < kParts; ++p) {
                const int at = first + p;
                parts[p] = at < kVectors ? (column_[at] - next_[at]) * free_[at] : all(0.0);
            }
            volume += sum_of_eight(parts);
        }
        return volume;
    }

  private:
    // Empties the columns of this width before the given one.
    PARETOPO_INLINE void empty_before(Doubles x, int column) {
        for (int p = 0; p < kVectors; ++p) {
            const Mask same = Lanes<double>::equal((Words)column_[p], (Words)x);
            next_[p] = choose(both(same, lanes_before(column - p * kLanes)), column_[p], next_[p]);
        }
    }

    Doubles column_[kVectors], next_[kVectors], height_[kVectors], free_[kVectors];
};

// For up to kHits hits: no branch on their number.
template <int kHits>
__attribute__((noinline)) double columns_of_few(const Hits& hits) {
    const int last_wide = hits.is_distinct ? find_last_wide(hits, kHits) : 0;
    FreeColumns<(kHits + kLanes - 1) / kLanes> columns(hits, 0, kHits, last_wide);
    if constexpr (kHits <= kEight) {  // too few to share the subtractions
#pragma GCC unroll 16
        for (int k = 0; k < kHits; ++k) {
            columns.pass(hits.x[k], hits.top_y - hits.y[k], hits.z[k] - hits.z[k + 1]);
        }
    } else {
        alignas(64) double height[kHits + kEight];
        alignas(64) double drop[kHits + kEight];
        measure_levels(hits, kHits, height, drop);
#pragma GCC unroll 16
        for (int k = 0; k < kHits; ++k) columns.pass(hits.x[k], height[k], drop[k]);
    }
    return columns.sum();
}

template <int kVectors>
PARETOPO_INLINE double columns_from(const Hits& hits, const double* height, const double* drop,
                                    std::size_t first, int last_wide) {
    FreeColumns<kVectors> columns(hits, first, hits.count, last_wide);
    for (std::size_t k = 0; k < hits.count; ++k) columns.pass(hits.x[k], height[k], drop[k]);
    return columns.sum();
}

// Sums over 16 columns, which keep their state in registers: with AVX-512 all at once, otherwise in
// two halves.
__attribute__((noinline)) double columns_of_many(const Hits& hits, double* memory) {
    double* height = memory;
    double* drop = memory + hits.count + kEight;
    measure_levels(hits, hits.count, height, drop);
    const int last_wide = hits.is_distinct ? find_last_wide(hits, hits.count) : 0;
    const auto columns_at = [&](std::size_t first) __attribute__((always_inline)) {
        return hits.count - first <= kEight / 2
                   ? columns_from<(kParts + 1) / 2>(hits, height, drop, first, last_wide)
                   : columns_from<kParts>(hits, height, drop, first, last_wide);
    };
    double volume = 0.0;
    for (std::size_t first = 0; first < hits.count; first += 2 * kEight) {
        if (hits.count - first <= kEight) {
            volume += columns_at(first);
        } else if constexpr (kParts == 1) {
            volume += columns_from<2>(hits, height, drop, first, last_wide);
        } else {
            const double half = columns_from<kParts>(hits, height, drop, first, last_wide);
            volume += half + columns_at(first + kEight);
        }
    }
    return volume;
}

// `memory`: room for 2 * (hits.count + kEight).
PARETOPO_INLINE double columns_of(const Hits& hits, double* memory) {
#if defined(__AVX2__)
    switch ((hits.count + 3) / 4) {
        case 1:
            return columns_of_few<4>(hits);
        case 2:
            return columns_of_few<8>(hits);
        case 3:
            return columns_of_few<12>(hits);
        case 4:
            return columns_of_few<16>(hits);
        default:
            break;
    }
#endif
    return columns_of_many(hits, memory);
}

}  // namespace

double Hypervolume::exclusive_3d(const double* point, const Columns& rows, std::size_t& high) {
    Hits hits = {};
    const std::size_t room = room_for_hits(rows.count);
    if (!find_hits(point, rows, steps_.of(3 * room), room, high, hits)) return 0.0;
    return free_volume(hits);
}

bool Hypervolume::find_hits(const double* point, const Columns& rows, double* hit_x,
                            std::size_t stride, std::size_t& high, Hits& hits) {
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
            if (bits(both(wide, tall))) return false;
            most_y = larger(most_y, where(wide, qy));
            most_x = larger(most_x, where(tall, qx));
        }
        left = largest(most_x);
        below = largest(most_y);
    }

    // Rows within that rectangle, from the top down to the first that covers all of it.
    double* hit_y = hit_x + stride;
    double* hit_z = hit_y + stride;
    std::size_t found = 0;
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
        squeeze(hit_x + found, inside, cut);
        squeeze(hit_y + found, inside, smaller(qy, all(py)));
        squeeze(hit_z + found, inside, smaller(load(z + i), all(pz)));
        found += static_cast<std::size_t>(count(inside));
        if (covers) break;
    }
    hits = {hit_x, hit_y, hit_z, found, px, py, pz, left, below, floor, largest(reach), false};
    close_hits(hits, hit_x, hit_y, hit_z);
    return true;
}

double Hypervolume::free_volume(const Hits& hits) {
    if (hits.count == 0) {
        return (hits.top_x - hits.left) * (hits.top_y - hits.below) * (hits.top_z - hits.floor);
    }
    if (hits.count > kMaxDense && !is_exact_) return by_staircase(hits);
    double* memory = levels_[3].gains.of(2 * (hits.count + kEight));
    return columns_of(hits, memory) +
           (hits.top_x - hits.reach) * (hits.top_y - hits.below) * (hits.top_z - hits.floor);
}

// The same for many hits, one after another: each shrinks the free area.
double Hypervolume::by_staircase(const Hits& hits) {
    double* memory = levels_[3].gains.of(2 * (hits.count + 2));
    FlatStaircase steps{memory, memory + hits.count + 2};
    double left = hits.left;
    double below = hits.below;
    double area = (hits.top_x - left) * (hits.top_y - below);
    double volume = 0.0;
    double level = hits.top_z;
    for (std::size_t i = 0; i < hits.count; ++i) {
        const double x = hits.x[i];
        const double y = hits.y[i];
        if (x <= left || y <= below) continue;
        const FlatStaircase::Taken taken = steps.take(x, y, left, below);
        if (!(taken.area > 0.0)) continue;
        volume += area * (level - hits.z[i]);
        level = hits.z[i];
        area -= taken.area;
        if (x >= hits.top_x) {
            steps.drop(0, taken.end);
            below = y;
        } else if (y >= hits.top_y) {
            steps.drop(taken.first, steps.size);
            left = x;
        } else {
            steps.replace(taken.first, taken.end, x, y);
        }
    }
    return volume + area * (level - hits.floor);
}

}  // namespace paretopo::cpu::PARETOPO_LANES
