#include "formulas/crowding.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "cpu/lanes/isa.hpp"
#include "cpu/lanes/ranking.hpp"
#include "cpu/ranking/fronts.hpp"
#include "cpu/runtime/for_each_group.hpp"
#include "cpu/runtime/interrupt.hpp"
#include "cpu/runtime/thread_scratch.hpp"
#include "cpu/sorting/objective_order.hpp"
#include "formulas/dominance.hpp"
#include "ops.hpp"

namespace paretopo::cpu {
namespace {

template <typename Scalar>
class GroupCrowding {
  public:
    GroupCrowding(Batch<Scalar> batch, const std::int32_t* given, double* distances)
        : batch_(batch), given_(given), distances_(distances) {}

    void operator()(std::int64_t g) {
        set_.take(batch_, g);
        const auto count = static_cast<std::size_t>(set_.count);
        ranks_.resize(count);
        own_.assign(count, 0.0);
        sort_by(0);
        const bool is_line = batch_.objectives == 2 && is_chain();
        count_fronts(given_ ? number_given_fronts(g) : is_line ? join_in_one() : rank());
        for (std::int32_t m = 0; m < batch_.objectives; ++m) {
            check_interrupt();
            if (m > 0 && is_line && is_one_front()) {
                std::reverse(order_.begin(), order_.end());
            } else {
                if (m > 0) sort_by(m);
                deal_out();
            }
            add_objective(m);
        }

        double* out = distances_ + g * batch_.points;
        std::fill_n(out, batch_.points, 0.0);
        for (std::size_t k = 0; k < count; ++k) out[set_.index[k]] = own_[k];
    }

  private:
    const Scalar* point(std::int32_t k) const {
        return set_.values.data() +
               static_cast<std::size_t>(k) * static_cast<std::size_t>(batch_.objectives);
    }

    // True if each point of the order is worse in the second objective and better in the first than
    // the point before. Then all points are on one front, and the second objective reverses the
    // order.
    bool is_chain() const {
        const bool less_wins = batch_.is_minimised(0);
        const bool less_loses = !batch_.is_minimised(1);
        for (std::size_t k = 1; k < order_.size(); ++k) {
            const Scalar* one = point(order_[k - 1]);
            const Scalar* next = point(order_[k]);
            const bool wins = less_wins ? next[0] < one[0] : next[0] > one[0];
            const bool loses = less_loses ? next[1] < one[1] : next[1] > one[1];
            if (!wins || !loses) return false;
        }
        return true;
    }

    std::int32_t join_in_one() {
        std::fill(ranks_.begin(), ranks_.end(), 0);
        return ranks_.empty() ? 0 : 1;
    }

    std::int32_t rank() {
        return ranker_.rank(set_.values.data(), set_.count, batch_.objectives, batch_.minimised,
                            ranks_.data());
    }

    bool is_one_front() const { return starts_.size() == 2; }

    // Renumbers arbitrary front numbers to 0, 1, 2, ... in their order.
    std::int32_t number_given_fronts(std::int64_t g) {
        for (std::size_t k = 0; k < ranks_.size(); ++k) {
            ranks_[k] = given_[g * batch_.points + set_.index[k]];
        }
        if (ranks_.empty()) return 0;
        const auto [least, most] = std::minmax_element(ranks_.begin(), ranks_.end());
        if (*least == *most) return join_in_one();  // as if one front was given
        next_.assign(ranks_.begin(), ranks_.end());
        std::sort(next_.begin(), next_.end());
        next_.erase(std::unique(next_.begin(), next_.end()), next_.end());
        for (std::int32_t& rank : ranks_) {
            rank = static_cast<std::int32_t>(std::lower_bound(next_.begin(), next_.end(), rank) -
                                             next_.begin());
        }
        return static_cast<std::int32_t>(next_.size());
    }

    // Worst first in objective m; equal values in the order of the points.
    void sort_by(std::int32_t m) {
        order_.resize(ranks_.size());
        const bool flip = batch_.is_minimised(m);
        if (!flip && set_.count <= kMaxOrdered) {
            kernels().sets.of<Scalar>().order(set_.values.data(), set_.count, batch_.objectives, m,
                                              order_.data());
        } else {
            const ObjectiveOrder order(set_.values.data(), set_.count, batch_.objectives, m,
                                       From::kWorst, flip, *scratch_);
            for (std::size_t k = 0; k < order.size(); ++k) order_[k] = order.point(k);
        }
    }

    // Splits the order into fronts; each front keeps the overall order.
    void deal_out() {
        if (is_one_front()) return;
        spare_.resize(order_.size());
        next_.assign(starts_.begin(), starts_.end() - 1);
        for (const std::int32_t point : order_)
            spare_[static_cast<std::size_t>(next_[front_of(point)]++)] = point;
        order_.swap(spare_);
    }

    std::size_t front_of(std::int32_t point) const {
        return static_cast<std::size_t>(ranks_[static_cast<std::size_t>(point)]);
    }

    // starts_[f]: the number of points on the fronts before f.
    void count_fronts(std::int32_t fronts) {
        starts_.assign(static_cast<std::size_t>(fronts) + 1, 0);
        for (const std::int32_t rank : ranks_) ++starts_[static_cast<std::size_t>(rank) + 1];
        for (std::size_t f = 1; f < starts_.size(); ++f) starts_[f] += starts_[f - 1];
    }

    void add_objective(std::int32_t m) {
        sorted_.resize(order_.size());
        const double sign = batch_.is_minimised(m) ? -1.0 : 1.0;
        for (std::size_t k = 0; k < order_.size(); ++k) {
            sorted_[k] = sign * static_cast<double>(point(order_[k])[m]);
        }
        check_interrupt();
        for (std::size_t f = 0; f + 1 < starts_.size(); ++f) {
            add_front(static_cast<std::size_t>(starts_[f]),
                      static_cast<std::size_t>(starts_[f + 1]));
        }
    }

    void add_front(std::size_t first, std::size_t end) {
        const double* at = sorted_.data();
        const double lowest = at[first];
        const double highest = at[end - 1];
        if (end - first > 1 && is_flat(lowest, highest)) return;
        for (std::size_t k = first + 1; k + 1 < end; ++k) {
            own_[static_cast<std::size_t>(order_[k])] +=
                crowding_gap(at[k - 1], at[k + 1], lowest, highest);
        }
        own_[static_cast<std::size_t>(order_[first])] = kAtAnEnd;
        own_[static_cast<std::size_t>(order_[end - 1])] = kAtAnEnd;
    }

    Batch<Scalar> batch_;
    const std::int32_t* given_;
    double* distances_;
    Present<Scalar> set_;
    Ranker ranker_;
    ThreadScratch<KeyOrder> scratch_;
    std::vector<std::int32_t> ranks_, starts_, next_, order_, spare_;
    std::vector<double> own_, sorted_;
};

}  // namespace

template <typename Scalar>
void crowding_distance(Batch<Scalar> batch, const std::int32_t* ranks, double* distances) {
    if (batch.is_empty()) return;
    const double cost = (1.0 + batch.objectives) * ranking_cost(batch.points, batch.objectives);
    for_each_group(batch.groups, cost, GroupCrowding<Scalar>(batch, ranks, distances));
}

template void crowding_distance(Batch<float>, const std::int32_t*, double*);
template void crowding_distance(Batch<double>, const std::int32_t*, double*);

}  // namespace paretopo::cpu
