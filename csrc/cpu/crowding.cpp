#include "formulas/crowding.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "cpu/for_each_group.hpp"
#include "cpu/fronts.hpp"
#include "cpu/lanes/interrupt.hpp"
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
        order_.resize(count);
        keys_.resize(count);
        own_.assign(count, 0.0);
        if (given_) {
            for (std::size_t k = 0; k < count; ++k) {
                ranks_[k] = given_[g * batch_.points + set_.index[k]];
            }
        } else {
            ranker_.rank(set_, batch_.objectives, batch_.minimised, ranks_.data());
        }
        for (std::int32_t m = 0; m < batch_.objectives; ++m) add_objective(m);

        double* out = distances_ + g * batch_.points;
        std::fill_n(out, batch_.points, 0.0);
        for (std::size_t k = 0; k < count; ++k) out[set_.index[k]] = own_[k];
    }

  private:
    Scalar value(std::int32_t point, std::int32_t objective) const {
        return set_
            .values[static_cast<std::size_t>(point) * static_cast<std::size_t>(batch_.objectives) +
                    static_cast<std::size_t>(objective)];
    }

    void add_objective(std::int32_t m) {
        check_interrupt();
        std::iota(order_.begin(), order_.end(), 0);
        for (const std::int32_t k : order_) {
            keys_[static_cast<std::size_t>(k)] = key_of(value(k, m), batch_.is_minimised(m));
        }
        std::sort(order_.begin(), order_.end(), [&](std::int32_t a, std::int32_t b) {
            const std::int32_t ra = ranks_[static_cast<std::size_t>(a)];
            const std::int32_t rb = ranks_[static_cast<std::size_t>(b)];
            if (ra != rb) return ra < rb;
            const Key<Scalar> ka = keys_[static_cast<std::size_t>(a)];
            const Key<Scalar> kb = keys_[static_cast<std::size_t>(b)];
            return ka != kb ? ka < kb : a < b;
        });
        const std::int32_t* order = order_.data();
        for (std::int32_t first = 0, end = 0; first < set_.count; first = end) {
            const std::int32_t rank = ranks_[static_cast<std::size_t>(order[first])];
            while (end < set_.count && ranks_[static_cast<std::size_t>(order[end])] == rank) ++end;
            add_front(order + first, order + end, m);
        }
    }

    void add_front(const std::int32_t* first, const std::int32_t* end, std::int32_t m) {
        const auto at = [&](const std::int32_t* point) {
            const auto given = static_cast<double>(value(*point, m));
            return batch_.is_minimised(m) ? -given : given;
        };
        const std::int32_t* last = end - 1;
        for (const std::int32_t* point = first + 1; point < last; ++point) {
            own_[static_cast<std::size_t>(*point)] +=
                crowding_gap(at(point - 1), at(point + 1), at(first), at(last));
        }
        own_[static_cast<std::size_t>(*first)] = kAtAnEnd;
        own_[static_cast<std::size_t>(*last)] = kAtAnEnd;
    }

    Batch<Scalar> batch_;
    const std::int32_t* given_;
    double* distances_;
    Present<Scalar> set_;
    Ranker ranker_;
    std::vector<std::int32_t> ranks_, order_;
    std::vector<Key<Scalar>> keys_;  // of the points, in one objective
    std::vector<double> own_;
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
