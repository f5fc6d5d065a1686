#include "formulas/advantage.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "cpu/lanes/isa.hpp"
#include "cpu/lanes/ranking.hpp"
#include "cpu/ranking/fronts.hpp"
#include "cpu/runtime/compacted.hpp"
#include "cpu/runtime/for_each_group.hpp"
#include "cpu/tuning/instruction_sets.hpp"
#include "ops.hpp"

namespace paretopo::cpu {
namespace {

// Processes one group after another, with the scratch of one thread.
template <typename Scalar>
class GroupAdvantage {
  public:
    GroupAdvantage(Batch<Scalar> batch, Weighting<Scalar> how, Scalar* advantages,
                   std::int32_t* ranks)
        : batch_(batch), how_(how), advantages_(advantages), ranks_(ranks) {}

    void operator()(std::int64_t g) {
        set_.take(batch_, g);
        const auto count = static_cast<std::size_t>(set_.count);
        own_ranks_.resize(count);
        sums_.resize(count);
        const std::int32_t fronts = ranker_.rank(set_.values.data(), set_.count, batch_.objectives,
                                                 batch_.minimised, own_ranks_.data());

        lowest_.assign(static_cast<std::size_t>(fronts), std::numeric_limits<Scalar>::infinity());
        highest_.assign(static_cast<std::size_t>(fronts), -std::numeric_limits<Scalar>::infinity());
        const Scalar* weights = how_.weights_of(g, batch_.objectives);
        const Scalar largest = how_.largest_of(g);
        for (std::size_t k = 0; k < count; ++k) {
            const Scalar* rewards =
                set_.values.data() + k * static_cast<std::size_t>(batch_.objectives);
            sums_[k] = weighted_sum<OneLane<Scalar>>(rewards, weights, largest, batch_.objectives);
            const auto front = static_cast<std::size_t>(own_ranks_[k]);
            lowest_[front] = std::min(lowest_[front], sums_[k]);
            highest_[front] = std::max(highest_[front], sums_[k]);
        }
        for (std::size_t k = 0; k < count; ++k) {
            const auto front = static_cast<std::size_t>(own_ranks_[k]);
            sums_[k] = rank_advantage<OneLane<Scalar>>(fronts, own_ranks_[k], how_.beta, sums_[k],
                                                       lowest_[front], highest_[front]);
        }

        const Centring centring =
            centring_of(sums_.data(), own_ranks_.data(), set_.count, how_.centre);
        Scalar* out = advantages_ + g * batch_.points;
        std::fill_n(out, batch_.points, Scalar(0));
        if (ranks_) std::fill_n(ranks_ + g * batch_.points, batch_.points, kUnranked);
        for (std::size_t k = 0; k < count; ++k) {
            out[set_.index[k]] = centring.apply(sums_[k]);
            if (ranks_) ranks_[g * batch_.points + set_.index[k]] = own_ranks_[k];
        }
    }

  private:
    Batch<Scalar> batch_;
    Weighting<Scalar> how_;
    Scalar* advantages_;
    std::int32_t* ranks_;
    Present<Scalar> set_;
    Ranker ranker_;
    std::vector<std::int32_t> own_ranks_;
    std::vector<Scalar> sums_, lowest_, highest_;
};

template <typename Scalar>
void advantages_of_part(const Batch<Scalar>& batch, std::int64_t first, std::int64_t end,
                        const Weighting<Scalar>& how, Scalar* advantages, std::int32_t* ranks) {
    const auto compute = kernels().groups.of<Scalar>().advantages;
    Compacted<Scalar> few;
    if (!few.take(batch, first, end)) return compute(batch, first, end, how, advantages, ranks);
    std::vector<Scalar> own(few.size());
    std::vector<std::int32_t> own_ranks(ranks ? few.size() : 0);
    Weighting<Scalar> of_these = how;  // whose first group has index `first`
    if (how.per_group) {
        of_these.weights += first * batch.objectives;
        of_these.largest += first;
    }
    compute(few.batch(), 0, few.groups(), of_these, own.data(), ranks ? own_ranks.data() : nullptr);
    few.spread(own.data(), Scalar(0), advantages);
    if (ranks) few.spread(own_ranks.data(), kUnranked, ranks);
}

}  // namespace

template <typename Scalar>
void pareto_advantage(Batch<Scalar> batch, const double* weights, bool per_group, double beta,
                      Centre centre, Scalar* advantages, std::int32_t* ranks) {
    if (batch.is_empty()) return;
    const auto rows = static_cast<std::size_t>(per_group ? batch.groups : 1);
    const auto width = static_cast<std::size_t>(batch.objectives);
    std::vector<Scalar> own(rows * width), largest(rows);
    for (std::size_t row = 0; row < rows; ++row, weights += width + 1) {
        for (std::size_t m = 0; m < width; ++m) {
            own[row * width + m] = static_cast<Scalar>(weights[m]);
        }
        largest[row] = static_cast<Scalar>(weights[width]);
    }
    const Weighting<Scalar> how{own.data(), largest.data(), per_group, static_cast<Scalar>(beta),
                                centre};
    const bool is_tiny = batch.points <= kMaxTiny && fits_lanes(batch.points, batch.objectives);
    if (is_tiny || are_for_lanes(batch, batch.groups, kernels().tuning.most_ranked_in_lanes)) {
        return for_each_part(batch, [=](std::int64_t first, std::int64_t end) {
            advantages_of_part(batch, first, end, how, advantages, ranks);
        });
    }
    for_each_group(batch.groups, ranking_cost(batch.points, batch.objectives),
                   GroupAdvantage<Scalar>(batch, how, advantages, ranks));
}

template void pareto_advantage(Batch<float>, const double*, bool, double, Centre, float*,
                               std::int32_t*);
template void pareto_advantage(Batch<double>, const double*, bool, double, Centre, double*,
                               std::int32_t*);

}  // namespace paretopo::cpu
