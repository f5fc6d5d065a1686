// Small groups as grids, one group per lane. A network sorts points by the first objective, then
// every row of the grid is visited. Only rows of height 0 are skipped by a branch on the points.
// The sums and their order are those of formulas/attainment.hpp. Padding and points outside are
// zeros, so that they only appear in rows and steps of width 0.
#include <cstring>

#include "cpu/lanes/kernels.hpp"
#include "cpu/lanes/simd/sorting_networks.hpp"
#include "cpu/lanes/simd/transpose.hpp"
#include "cpu/lanes/volume.hpp"
#include "cpu/lanes/volume/part.hpp"
#include "cpu/lanes/volume/tile.hpp"
#include "cpu/lanes/volume/weights.hpp"

namespace paretopo::cpu::PARETOPO_LANES {
namespace {

PARETOPO_INLINE bool has_extent(Doubles height) { return bits(above(height, all(0.0))) != 0; }

// One group per lane, sorted.
template <int kPoints, int kObjectives>
struct Grids {
    Doubles* points;            // ascending in the first objective
    Doubles rows[2 * kPoints];  // with 3 objectives: the second, ascending, and the last
    Doubles slabs[kPoints];     // only the last objective, ascending
    Mask moved[kNetwork<kPoints>.size];

    explicit Grids(Doubles* given) : points(given) {
        for (int i = 0; i < kPoints; ++i) {
            slabs[i] = points[i * kObjectives + kObjectives - 1];
            if constexpr (kObjectives == 3) {
                rows[2 * i] = points[3 * i + 1];
                rows[2 * i + 1] = points[3 * i + 2];
            }
        }
        sort_rows<kPoints, kObjectives>(points, moved);
        sort_rows<kPoints, 1>(slabs, nullptr);
        if constexpr (kObjectives == 3) sort_rows<kPoints, 2>(rows, nullptr);
    }

    // Integrates one row along the first objective: `reaching` of its points reach it, and
    // `counting` is the state of the weights for their number. Adds to `own` of each point, and
    // returns the whole.
    template <bool kOwn, typename Weights, typename Reach>
    PARETOPO_INLINE Doubles row(const Weights& weights, Words counting, Doubles area, Reach reach,
                                Doubles* own) const {
        Doubles reached = all(0.0);
        Doubles sum = all(0.0);
#pragma GCC unroll 8
        for (int j = 0; j < kPoints; ++j) {
            const Mask here = reach(j);
            const Doubles x = points[j * kObjectives];
            sum = added(sum, here, weights.at(counting) * (x - reached));
            reached = choose(here, x, reached);
            counting = Lanes<double>::add_where(here, counting, Words{} - 1);
            if constexpr (kOwn) own[j] = added(own[j], here, area * sum);
        }
        return area * sum;
    }

    // Visits every slab: integrates over the box of each point, in the given order, or over the
    // whole region.
    template <bool kOwn, typename Weights>
    Doubles measure(const Weights& weights, Doubles* boxes) const {
        Doubles total = all(0.0);
        if constexpr (kOwn) {
            for (int j = 0; j < kPoints; ++j) boxes[j] = all(0.0);
        }
        for (int t = 0; t < kPoints; ++t) {
            const Doubles height = t > 0 ? slabs[t] - slabs[t - 1] : slabs[0];
            if (!has_extent(height)) continue;
            if constexpr (kObjectives == 2) {
                const Words all_left = Words{} + (kPoints - t);
                const auto reach = [&](int j) __attribute__((always_inline)) {
                    return reaches(points[2 * j + 1], slabs[t]);
                };
                total += row<kOwn>(weights, weights.counting(all_left), height, reach, boxes);
            } else {
                Doubles own[kPoints];
                const Doubles in_slab = slab<kOwn>(weights, t, own);
                total += height * in_slab;
                if constexpr (kOwn) {
                    for (int j = 0; j < kPoints; ++j) boxes[j] += height * own[j];
                }
            }
        }
        if constexpr (kOwn) unsort_values<kPoints>(boxes, moved);
        return total;
    }

  private:
    template <bool kOwn, typename Weights>
    PARETOPO_INLINE Doubles slab(const Weights& weights, int t, Doubles* own) const {
        Mask inside[kPoints];
        for (int j = 0; j < kPoints; ++j) {
            inside[j] = reaches(points[3 * j + 2], slabs[t]);
            own[j] = all(0.0);
        }
        Words counting = weights.counting(Words{} + (kPoints - t));
        Doubles reached = all(0.0);
        Doubles total = all(0.0);
        for (int r = 0; r < kPoints; ++r) {
            const Mask is_row = reaches(rows[2 * r + 1], slabs[t]);
            const Doubles height = where(is_row, rows[2 * r] - reached);
            if (has_extent(height)) {
                const auto reach = [&](int j) __attribute__((always_inline)) {
                    return both(inside[j], reaches(points[3 * j + 1], rows[2 * r]));
                };
                total += row<kOwn>(weights, counting, height, reach, own);
            }
            reached = choose(is_row, rows[2 * r], reached);
            counting = Lanes<double>::add_where(is_row, counting, Words{} - 1);
        }
        return total;
    }
};

// The operation for the tiles of a part, and the destination of its results.
template <int kObjectives, typename Scalar>
class PartOfGrids {
  public:
    PartOfGrids(const Part<Scalar>& part, const GridIntegrals& how)
        : part_(part), how_(how), tile_(part.batch, how.ref) {}

    void measure() {
        for (std::int64_t start = 0; start < part_.batch.groups; start += kLanes) {
            part_.take(start, sets_);
            part_.fetch(start + kLanes);
            const int count = tile_.read(sets_, part_.present);
            sound_ = tile_.sound();
            tile_.drop_outside(count);
            lanes_ = static_cast<int>(part_.batch.groups - start);
            if (lanes_ > kLanes) lanes_ = kLanes;
            measure_tile(count);
            for (int lane = 0; lane < lanes_; ++lane) {
                how_.left_over[sets_[lane]] = sound_ >> lane & 1 ? 0 : 1;
            }
        }
    }

  private:
    void measure_tile(int count) {
        if (count <= 8) return measure_tile_of<8>(count);
        if (kObjectives == 3 || count <= 16) return measure_tile_of<16>(count);
        if constexpr (kObjectives == 2) measure_tile_of<32>(count);
    }

    template <int kPoints>
    void measure_tile_of(int count) {
        Doubles* points = tile_.values;
        for (int i = count * kObjectives; i < kPoints * kObjectives; ++i) points[i] = all(0.0);
        int sizes[kLanes];
        bool same = true;
        for (int lane = 0; lane < kLanes; ++lane) {
            sizes[lane] = __builtin_popcount(part_.present[sets_[lane]]);
            same = same && sizes[lane] == sizes[0];
        }
#if defined(__AVX512F__)
        if (same) return measure_with<kPoints>(WeightsInRegisters<kPoints>(how_.weights, sizes[0]));
#endif
        measure_with<kPoints>(WeightsInMemory(how_.weights, sizes));
    }

    template <int kPoints, typename Weights>
    void measure_with(const Weights& weights) {
        const Grids<kPoints, kObjectives> grids(tile_.values);
        if (how_.boxes) {
            Doubles boxes[kPoints];
            grids.template measure<true>(weights, boxes);
            return hand_out(boxes);
        }
        const Doubles totals = grids.template measure<false>(weights, nullptr);
        for (int lane = 0; lane < lanes_; ++lane) how_.totals[sets_[lane]] = totals[lane];
    }

    // The k-th result belongs to the k-th present point.
    PARETOPO_INLINE void hand_out(const Doubles* boxes) {
        const int points = part_.batch.points;
        if (!part_.batch.mask) return hand_out_rows(boxes, points);
        for (int lane = 0; lane < lanes_; ++lane) {
            double* out = how_.boxes + sets_[lane] * points;
            int k = 0;
            for (int i = 0; i < points; ++i) {
                const bool counts = part_.present[sets_[lane]] >> i & 1;
                out[i] = counts ? boxes[k][lane] : 0.0;
                k += counts;
            }
        }
    }

    PARETOPO_INLINE void hand_out_rows(const Doubles* boxes, int points) {
        for (int first = 0; first < points; first += kLanes) {
            Doubles rows[kLanes];
            for (int k = 0; k < kLanes; ++k) rows[k] = boxes[first + k];
            rotate_addresses<double, kLanes>(rows);
            const int count = points - first < kLanes ? points - first : kLanes;
            for (int lane = 0; lane < lanes_; ++lane) {
                double* out = how_.boxes + sets_[lane] * points + first;
                if (count == kLanes) {
                    store(out, rows[lane]);
                } else {
                    std::memcpy(out, &rows[lane], sizeof(double) * static_cast<std::size_t>(count));
                }
            }
        }
    }

    const Part<Scalar>& part_;
    const GridIntegrals& how_;
    Tile<kObjectives, Scalar> tile_;
    std::int64_t sets_[kLanes] = {};
    unsigned sound_ = 0;
    int lanes_ = 0;
};

template <typename Scalar>
void integrate_grids(const Batch<Scalar>& batch, std::int64_t first, std::int64_t end,
                     const GridIntegrals& how) {
    const Part<Scalar> part(batch, first, end);
    GridIntegrals own = how;
    own.ref.at = how.ref.of(first, batch.objectives);
    if (batch.objectives == 2) {
        PartOfGrids<2, Scalar>(part, own).measure();
    } else {
        PartOfGrids<3, Scalar>(part, own).measure();
    }
}

template <typename Scalar>
constexpr GridKernels<Scalar> kTableGridKernels{.integrate = integrate_grids<Scalar>};

}  // namespace

const OfBoth<GridKernels> kGridKernels{kTableGridKernels<float>, kTableGridKernels<double>};

}  // namespace paretopo::cpu::PARETOPO_LANES
