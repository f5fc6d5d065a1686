// Ranks and filters one large set with 3 objectives or more, and thins out a set quickly.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "cpu/lanes/kernels.hpp"
#include "cpu/lanes/ranking/block.hpp"
#include "cpu/lanes/ranking/front.hpp"
#include "cpu/lanes/ranking/short_codes.hpp"
#include "cpu/lanes/simd/columns.hpp"
#include "cpu/runtime/interrupt.hpp"
#include "formulas/dominance.hpp"

namespace paretopo::cpu::PARETOPO_LANES {
namespace {

Coarse coarse_of(const CodeColumns& set) {
    Coarse coarse(set.points, set.objectives);
    std::vector<std::int32_t> highest;
    for (int m = 0; m < set.objectives; ++m) {
        const std::int32_t* column = set.codes[m];
        highest.push_back(set.points == 0 ? 0 : *std::max_element(column, column + set.points));
    }
    coarse.set_ranges(highest);
    return coarse;
}

// Compares a block of points, one per lane, with every earlier point: quadratic, but a few
// instructions handle as many pairs as there are lanes of two-byte codes. kRest: the number of
// objectives but the first, which the order of the points settles. It is 0 if only known at run
// time; rows are then padded with zeros to a multiple of kTogether.
template <int kRest>
class Pairs {
    using V = ShortCodes;
    using I = V::I;
    using Mask = V::Mask;

  public:
    explicit Pairs(CodeColumns set)
        : set_(set),
          rest_((set.objectives - 1 + kTogether - 1) / kTogether * kTogether),
          rows_(row_memory_.of(static_cast<std::size_t>(set.points) * width())),
          own_(own_memory_.of(static_cast<std::size_t>(rest()))) {}

    void rank(std::int32_t* ranks) {
        for (std::int32_t first = 0; first < set_.points; first += V::kLanes) {
            check_interrupt();
            take(first);
            I above{};  // the number of fronts up to the last one with a dominator
            const std::int32_t* row = rows_;
            for (std::int32_t j = 0; j < first; ++j, row += width()) {
                above = V::larger_where(reached(row, V::all_lanes()), above, V::all(row[rest()]));
            }
            // Visits the points of the block in turn: a lane is complete when its turn comes.
            const int here = std::min(V::kLanes, set_.points - first);
            for (int lane = 0; lane < here; ++lane) {
                std::int32_t* const own = add_row(first + lane);
                std::int16_t counts[V::kLanes];
                V::store(counts, above);
                ranks[first + lane] = counts[lane];
                own[rest()] = V::twice(counts[lane] + 1);
                above = V::larger_where(reached(own, V::after(lane)), above, V::all(own[rest()]));
            }
        }
    }

    void find_nondominated(std::uint8_t* nondominated) {
        constexpr std::int32_t kPollInterval = 16;
        for (std::int32_t first = 0; first < set_.points; first += V::kLanes) {
            check_interrupt();
            take(first);
            Mask dominated = V::none();
            const std::int32_t* row = rows_;
            for (std::int32_t j = 0; j < count_ && !V::every(dominated);) {
                const std::int32_t end = std::min(j + kPollInterval, count_);
                for (; j < end; ++j, row += width()) {
                    dominated = V::either(dominated, reached(row, V::all_lanes()));
                }
            }
            const int here = std::min(V::kLanes, set_.points - first);
            for (int lane = 0; lane < here; ++lane) {
                nondominated[first + lane] = !V::holds(dominated, lane);
                if (V::holds(dominated, lane)) continue;
                const std::int32_t* const own = add_row(first + lane);
                dominated = V::either(dominated, reached(own, V::after(lane)));
            }
        }
    }

  private:
    static constexpr int kTogether = 4;

    PARETOPO_INLINE int rest() const { return kRest != 0 ? kRest : rest_; }
    PARETOPO_INLINE std::size_t width() const { return static_cast<std::size_t>(rest()) + 1; }

    // A block, one point per lane. Empty lanes hold the best codes; their results are not used.
    PARETOPO_INLINE void take(std::int32_t first) {
        const int here = std::min(V::kLanes, set_.points - first);
        for (int k = 0; k < rest(); ++k) own_[k] = I{};
        for (int k = 0; k < set_.objectives - 1; ++k) {
            std::int16_t codes[V::kLanes] = {};
            for (int lane = 0; lane < here; ++lane) {
                codes[lane] = static_cast<std::int16_t>(set_.codes[k + 1][first + lane]);
            }
            own_[k] = V::load(codes);
        }
    }

    // Rows that later points are compared with: codes, with room for one more.
    PARETOPO_INLINE std::int32_t* add_row(std::int32_t d) {
        std::int32_t* const row = rows_ + static_cast<std::size_t>(count_++) * width();
        for (int k = 0; k < rest(); ++k) {
            row[k] = k < set_.objectives - 1 ? V::twice(set_.codes[k + 1][d]) : 0;
        }
        return row;
    }

    // Lanes of `among` that are nowhere better than the row.
    PARETOPO_INLINE Mask reached(const std::int32_t* row, Mask among) const {
        constexpr int kStep = kRest != 0 ? kRest : kTogether;
        for (int first = 0; first < rest(); first += kStep) {
            for (int k = first; k < first + kStep; ++k) {
                among = V::and_at_least(among, own_[k], V::all(row[k]));
            }
        }
        return among;
    }

    CodeColumns set_;
    int rest_;
    Buffer<std::int32_t> row_memory_;
    Buffer<I> own_memory_;
    std::int32_t count_ = 0;
    std::int32_t* rows_;
    I* own_;
};

template <typename Work>
PARETOPO_INLINE void with_pairs(CodeColumns set, const Work& work) {
    switch (set.objectives) {
        case 3:
            return work(Pairs<2>(set));
        case 4:
            return work(Pairs<3>(set));
        case 5:
            return work(Pairs<4>(set));
        case 6:
            return work(Pairs<5>(set));
        case 7:
            return work(Pairs<6>(set));
        case 8:
            return work(Pairs<7>(set));
        default:
            return work(Pairs<0>(set));
    }
}

void rank_distinct(CodeColumns set, std::int32_t* ranks) {
    if (set.points <= kTuning.most_paired) {
        return with_pairs(set, [&](auto&& pairs) { pairs.rank(ranks); });
    }
    const Coarse coarse = coarse_of(set);
    Query query(coarse, set.objectives - 1);
    std::vector<Front> fronts;
    Poller poller;
    for (std::int32_t d = 0; d < set.points; ++d) {
        poller.step();
        query.take(set, d);
        // If front f dominates a point, so do all fronts before it.
        std::size_t low = 0;
        std::size_t high = fronts.size();
        while (low < high) {
            const std::size_t middle = low + (high - low) / 2;
            if (fronts[middle].dominates(query)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if (low == fronts.size()) fronts.emplace_back();
        fronts[low].add(query);
        ranks[d] = static_cast<std::int32_t>(low);
    }
}

void find_distinct_nondominated(CodeColumns set, std::uint8_t* nondominated) {
    if (set.points <= kTuning.most_paired) {
        return with_pairs(set, [&](auto&& pairs) { pairs.find_nondominated(nondominated); });
    }
    const Coarse coarse = coarse_of(set);
    Query query(coarse, set.objectives - 1);
    Front front;
    Poller poller;
    for (std::int32_t d = 0; d < set.points; ++d) {
        poller.step();
        query.take(set, d);
        nondominated[d] = !front.dominates(query);
        if (nondominated[d] != 0) front.add(query);
    }
}

}  // namespace

const CodeKernels kCodeKernels{.rank = rank_distinct,
                               .find_nondominated = find_distinct_nondominated};

}  // namespace paretopo::cpu::PARETOPO_LANES
