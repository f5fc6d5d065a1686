// Ranks a block of small groups and computes their advantages in one pass: one group per lane.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

#include "cpu/lanes/ranking/dominance_block.hpp"
#include "formulas/advantage.hpp"

namespace paretopo::cpu::PARETOPO_LANES {

template <typename Scalar, int kPoints, int kObjectives, int kCapacity>
class AdvantageBlock : public DominanceBlock<Scalar, kPoints, kObjectives, kCapacity> {
    using Base = DominanceBlock<Scalar, kPoints, kObjectives, kCapacity>;
    using V = Lanes<Scalar>;
    using F = typename V::F;
    using I = typename V::I;
    using Mask = typename V::Mask;
    using Base::columns_;
    using Base::fronts_;
    using Base::groups_;
    using Base::is_masked_;
    using Base::objectives;
    using Base::points;
    using Base::present_;
    using Base::ranks_;

  public:
    explicit AdvantageBlock(const Batch<Scalar>& batch) : Base(batch), all_groups_(batch.groups) {}

    // Replaces the values of the block by uncentred advantages. The ranks must be known. `first` is
    // the index of its first group.
    __attribute__((noinline)) void advantages(const Weighting<Scalar>& how, std::int64_t first) {
        F weights[kObjectives ? kObjectives : kMaxValuesInLane];
        F largest;
        read_weights(how, first, weights, largest);
        F sums[kCapacity];
        F low[kCapacity];
        F high[kCapacity];
#pragma GCC unroll 16
        for (int i = 0; i < points(); ++i) {
            sums[i] = weighted_sum<V, kObjectives>(columns_ + i * objectives(), weights, largest,
                                                   objectives());
        }
        if constexpr (kPoints && kPoints <= 8) {
            range_by_pairs(sums, low, high);
        } else {
            range_by_fronts(sums, low, high);
        }
        const F beta = V::all(how.beta);
#pragma GCC unroll 16
        for (int i = 0; i < points(); ++i) {
            columns_[i] = rank_advantage<V>(fronts_, ranks_[i], beta, sums[i], low[i], high[i]);
        }
    }

    // Not inlined: two callers share it, and ranks are seldom requested.
    __attribute__((noinline)) void write_ranks(std::int32_t* ranks) { Base::write_ranks(ranks); }

    // Centres the advantages and writes them, group-major.
    void write_advantages(const Weighting<Scalar>& how, Scalar* advantages) {
        if (how.centre == Centre::kMean) subtract_mean();
        if (how.centre == Centre::kMean || how.centre == Centre::kNone) {
            if (is_masked_) {
                for (int i = 0; i < points(); ++i) {
                    columns_[i] = V::choose(present_[i], columns_[i], V::all(0));
                }
            }
            write_columns<Scalar, kPoints>(columns_, points(), groups_, advantages);
            return;
        }
        alignas(kVectorBytes) Scalar own[V::kLanes * kCapacity];
        alignas(kVectorBytes) std::int32_t ranks[V::kLanes * kCapacity];
        write_ranks(ranks);
        write_columns<Scalar, kPoints>(columns_, points(), groups_, own);
        for (int g = 0; g < groups_; ++g) {
            centre(own + g * points(), ranks + g * points(), points(), how.centre,
                   advantages + g * points(), 0, 1);
        }
    }

  private:
    // Reads the weights of each lane's group.
    PARETOPO_INLINE void read_weights(const Weighting<Scalar>& how, std::int64_t first, F* weights,
                                      F& largest) const {
        if (!how.per_group) {
            for (int m = 0; m < objectives(); ++m) weights[m] = V::all(how.weights[m]);
            largest = V::all(*how.largest);
            return;
        }
        const auto read = [&](const Scalar* rows, int width, F* columns) {
            const bool last = (first + V::kLanes) * width + V::kLanes > all_groups_ * width;
            read_columns<Scalar>(rows + first * width, width, groups_, last, columns);
        };
        read(how.weights, objectives(), weights);
        read(how.largest, 1, &largest);
    }

    // The lowest and the highest sum in the front of each point. For few points: visits each pair
    // once.
    PARETOPO_INLINE void range_by_pairs(const F* sums, F* low, F* high) const {
        for (int i = 0; i < points(); ++i) {
            const F mine = sums[i];
            const I rank = ranks_[i];
            F lower = mine;
            F upper = mine;
#pragma GCC unroll 8
            for (int j = 0; j < i; ++j) {
                const Mask same = V::equal(rank, ranks_[j]);
                lower = V::smaller_where(same, sums[j], lower);
                upper = V::larger_where(same, sums[j], upper);
                low[j] = V::smaller_where(same, mine, low[j]);
                high[j] = V::larger_where(same, mine, high[j]);
            }
            low[i] = lower;
            high[i] = upper;
        }
    }

    // For many points: front after front, because there are far fewer fronts than points.
    PARETOPO_INLINE void range_by_fronts(const F* sums, F* low, F* high) const {
        const F infinity = V::all(std::numeric_limits<Scalar>::infinity());
        for (int i = 0; i < points(); ++i) low[i] = high[i] = sums[i];
        I front{};
        for (; V::any(V::greater(fronts_, front)); front = front + V::all_int(1)) {
            F lowest = infinity;
            F highest = -infinity;
#pragma GCC unroll 16
            for (int i = 0; i < points(); ++i) {
                const Mask in = V::equal(ranks_[i], front);
                lowest = V::smaller_where(in, sums[i], lowest);
                highest = V::larger_where(in, sums[i], highest);
            }
#pragma GCC unroll 16
            for (int i = 0; i < points(); ++i) {
                const Mask in = V::equal(ranks_[i], front);
                low[i] = V::choose(in, lowest, low[i]);
                high[i] = V::choose(in, highest, high[i]);
            }
        }
    }

    // The mean of the present advantages, summed in index order in double, as everywhere.
    PARETOPO_INLINE void subtract_mean() {
        using D = typename V::D;
        D sum[V::kDoubles] = {};
        D count[V::kDoubles] = {};
#pragma GCC unroll 16
        for (int i = 0; i < points(); ++i) {
            D doubles[V::kDoubles];
            V::to_doubles(is_masked_ ? V::choose(present_[i], columns_[i], V::all(0)) : columns_[i],
                          doubles);
            for (int p = 0; p < V::kDoubles; ++p) sum[p] = sum[p] + doubles[p];
            if (!is_masked_) continue;
            V::to_doubles(V::choose(present_[i], V::all(1), V::all(0)), doubles);
            for (int p = 0; p < V::kDoubles; ++p) count[p] = count[p] + doubles[p];
        }
        const double everyone = points();
        for (int p = 0; p < V::kDoubles; ++p) {
            sum[p] = is_masked_ ? sum[p] / count[p] : sum[p] / (everyone - D{});
        }
        const F mean = V::from_doubles(sum);
#pragma GCC unroll 16
        for (int i = 0; i < points(); ++i) columns_[i] = columns_[i] - mean;
    }

    std::int64_t all_groups_;
};

}  // namespace paretopo::cpu::PARETOPO_LANES
