// Ranks and filters one large set with 3 objectives or more, and thins out a set quickly.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "cpu/lanes/kernels.hpp"
#include "cpu/lanes/ranking.hpp"
#include "cpu/lanes/ranking/block.hpp"
#include "cpu/lanes/ranking/front.hpp"
#include "cpu/lanes/ranking/short_codes.hpp"
#include "cpu/lanes/simd/columns.hpp"
#include "cpu/runtime/interrupt.hpp"
#include "cpu/tuning/instruction_sets.hpp"
#include "formulas/dominance.hpp"

namespace paretopo::cpu::PARETOPO_LANES {
namespace {

// Codes of more objectives do not stay in registers.
std::int32_t most_paired(int objectives) {
    constexpr int kMaxInRegisters = 10;
    return objectives <= kMaxInRegisters ? kTuning.most_paired : kTuning.most_paired / 2;
}

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
// time; rows are then padded with zeros to a multiple of kPadded.
template <int kRest>
class Pairs {
    using V = ShortCodes;
    using I = V::I;
    using Mask = V::Mask;

  public:
    explicit Pairs(CodeColumns set)
        : set_(set),
          rest_((set.objectives - 1 + kPadded - 1) / kPadded * kPadded),
          rows_(row_memory_.of(static_cast<std::size_t>(set.points) * width())),
          own_(own_memory_.of(kTogether * static_cast<std::size_t>(rest()))) {}

    // Several vectors of points are compared with each earlier point, which is loaded once.
    void rank(std::int32_t* ranks) {
        for (std::int32_t first = 0; first < set_.points; first += kTogether * V::kLanes) {
            check_interrupt();
            I above[kTogether] = {};  // the number of fronts up to the last one with a dominator
            for (int v = 0; v < kTogether; ++v) take(first + v * V::kLanes, v);
            const std::int32_t* row = rows_;
            for (std::int32_t j = 0; j < first; ++j, row += width()) {
                const I fronts = V::all(row[rest()]);
#pragma GCC unroll 2
                for (int v = 0; v < kTogether; ++v) {
                    above[v] = V::larger_where(reached(row, v, V::all_lanes()), above[v], fronts);
                }
            }
            // Visits the points of the block in turn: a lane is complete when its turn comes.
#pragma GCC unroll 2
            for (int v = 0; v < kTogether; ++v) {
                const std::int32_t start = first + v * V::kLanes;
                const int here = std::min(V::kLanes, set_.points - start);
                for (int lane = 0; lane < here; ++lane) {
                    std::int32_t* const own = add_row(start + lane);
                    std::int16_t counts[V::kLanes];
                    V::store(counts, above[v]);
                    ranks[start + lane] = counts[lane];
                    own[rest()] = V::twice(counts[lane] + 1);
                    const I fronts = V::all(own[rest()]);
                    above[v] = V::larger_where(reached(own, v, V::after(lane)), above[v], fronts);
#pragma GCC unroll 2
                    for (int u = v + 1; u < kTogether; ++u) {
                        above[u] =
                            V::larger_where(reached(own, u, V::all_lanes()), above[u], fronts);
                    }
                }
            }
        }
    }

    void find_nondominated(std::uint8_t* nondominated) {
        constexpr std::int32_t kPollInterval = 16;
        for (std::int32_t first = 0; first < set_.points; first += kTogether * V::kLanes) {
            check_interrupt();
            Mask dominated[kTogether];
            for (int v = 0; v < kTogether; ++v) {
                take(first + v * V::kLanes, v);
                dominated[v] = V::none();
            }
            const auto are_all_dominated = [&] {
                bool are_all = true;
                for (const Mask& of : dominated) are_all = are_all && V::every(of);
                return are_all;
            };
            const std::int32_t* row = rows_;
            for (std::int32_t j = 0; j < count_ && !are_all_dominated();) {
                const std::int32_t end = std::min(j + kPollInterval, count_);
                for (; j < end; ++j, row += width()) {
#pragma GCC unroll 2
                    for (int v = 0; v < kTogether; ++v) {
                        dominated[v] = V::either(dominated[v], reached(row, v, V::all_lanes()));
                    }
                }
            }
#pragma GCC unroll 2
            for (int v = 0; v < kTogether; ++v) {
                const std::int32_t start = first + v * V::kLanes;
                const int here = std::min(V::kLanes, set_.points - start);
                for (int lane = 0; lane < here; ++lane) {
                    nondominated[start + lane] = !V::holds(dominated[v], lane);
                    if (V::holds(dominated[v], lane)) continue;
                    const std::int32_t* const own = add_row(start + lane);
                    dominated[v] = V::either(dominated[v], reached(own, v, V::after(lane)));
#pragma GCC unroll 2
                    for (int u = v + 1; u < kTogether; ++u) {
                        dominated[u] = V::either(dominated[u], reached(own, u, V::all_lanes()));
                    }
                }
            }
        }
    }

  private:
    // So many vectors of codes stay in registers.
    static constexpr int kTogether = kVectorBytes == 64 || (kRest > 0 && kRest <= 5) ? 2 : 1;
    static constexpr int kPadded = 4;

    PARETOPO_INLINE int rest() const { return kRest != 0 ? kRest : rest_; }
    PARETOPO_INLINE std::size_t width() const { return static_cast<std::size_t>(rest()) + 1; }

    // A vector of points, one per lane. Empty lanes hold the best codes; their results are not
    // used.
    PARETOPO_INLINE void take(std::int32_t first, int v) {
        const int here = std::clamp(set_.points - first, 0, V::kLanes);
        I* const own = own_ + v * rest();
        for (int k = 0; k < rest(); ++k) own[k] = I{};
        for (int k = 0; k < set_.objectives - 1; ++k) {
            std::int16_t codes[V::kLanes] = {};
            for (int lane = 0; lane < here; ++lane) {
                codes[lane] = static_cast<std::int16_t>(set_.codes[k + 1][first + lane]);
            }
            own[k] = V::load(codes);
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

    // Lanes of `among` in vector v that are nowhere better than the row.
    PARETOPO_INLINE Mask reached(const std::int32_t* row, int v, Mask among) const {
        constexpr int kStep = kRest != 0 ? kRest : kPadded;
        const I* const own = own_ + v * rest();
        I excess{};
        for (int first = 0; first < rest(); first += kStep) {
            for (int k = first; k < first + kStep; ++k) {
                excess |= V::excess(V::all(row[k]), own[k]);
            }
        }
        return V::without(among, excess);
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
        case 9:
            return work(Pairs<8>(set));
        case 10:
            return work(Pairs<9>(set));
        default:
            return work(Pairs<0>(set));
    }
}

void rank_distinct(CodeColumns set, std::int32_t* ranks) {
    if (set.points <= most_paired(set.objectives)) {
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
    if (set.points <= most_paired(set.objectives)) {
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
