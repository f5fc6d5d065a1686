// The derivative of the hypervolume: for each point and objective m the facet that it pushes, which
// is what it adds in the other objectives to the points that are before it in m.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/for_each_group.hpp"
#include "cpu/hypervolume_of_sides.hpp"
#include "cpu/sides.hpp"
#include "ops.hpp"

namespace paretopo::cpu {
namespace {

template <typename Scalar>
class GroupGradient {
  public:
    GroupGradient(Batch<Scalar> batch, const double* ref, double* gradient, FirstRefused* refused)
        : batch_(batch), ref_(ref), gradient_(gradient), refused_(refused) {
        for (std::int32_t m = 0; m < batch.objectives; ++m) {
            const double sign = batch.is_minimised(m) ? -1.0 : 1.0;
            signed_ref_.push_back(sign * ref[m]);
        }
    }

    void operator()(std::int64_t g) {
        if (refused_->note(batch_, g, sides_.measure(batch_, g, ref_))) return;
        const auto width = static_cast<std::size_t>(batch_.objectives);
        double* out = gradient_ + g * batch_.points * batch_.objectives;
        std::fill_n(out, static_cast<std::size_t>(batch_.points) * width, 0.0);
        for (std::size_t i = 0; i < sides_.count; ++i) {
            check_interrupt();
            for (std::size_t m = 0; m < width; ++m) {
                const double sign = batch_.is_minimised(static_cast<int>(m)) ? -1.0 : 1.0;
                const auto at = static_cast<std::size_t>(sides_.index[i]) * width + m;
                out[at] = sign * facet(g, i, m);
            }
        }
    }

  private:
    // Values that are larger when better.
    double value(std::int64_t g, std::size_t i, std::size_t m) const {
        const std::int64_t at =
            std::int64_t{sides_.index[i]} * batch_.objectives + static_cast<std::int64_t>(m);
        const auto given = static_cast<double>(batch_.group(g)[at]);
        return batch_.is_minimised(static_cast<int>(m)) ? -given : given;
    }

    double facet(std::int64_t g, std::size_t i, std::size_t m) {
        const auto width = static_cast<std::size_t>(batch_.objectives);
        const auto is_before = [&](std::size_t j) {
            const double other = sides_.values[j * width + m];
            const double own = sides_.values[i * width + m];
            return other > own || (other == own && j < i);
        };
        std::int32_t count = 0;
        rows_.clear();
        for (std::size_t j = 0; j <= sides_.count; ++j) {  // the point itself comes last
            const std::size_t from = j < sides_.count ? j : i;
            if (j < sides_.count && (j == i || !is_before(j))) continue;
            for (std::size_t k = 0; k < width; ++k) {
                if (k != m) rows_.push_back(value(g, from, k));
            }
            ++count;
        }
        if (width == 1) return count == 1 ? 1.0 : 0.0;
        other_ref_ = signed_ref_;
        other_ref_.erase(other_ref_.begin() + static_cast<std::ptrdiff_t>(m));
        double added = 0.0;
        hypervolume_gain(Batch<double>{rows_.data(), nullptr, 1, count, batch_.objectives - 1, 0},
                         other_ref_.data(), &added);
        return added;
    }

    Batch<Scalar> batch_;
    const double* ref_;
    double* gradient_;
    FirstRefused* refused_;
    std::vector<double> signed_ref_, other_ref_, rows_;
    Sides sides_;
};

}  // namespace

template <typename Scalar>
std::int64_t hypervolume_gradient(Batch<Scalar> batch, const double* ref, double* gradient) {
    if (batch.is_empty()) return kNoneRefused;
    FirstRefused refused;
    const double cost = batch.points * volume_cost(batch.points, batch.objectives);
    for_each_group(batch.groups, cost, GroupGradient<Scalar>(batch, ref, gradient, &refused));
    return refused.index();
}

template std::int64_t hypervolume_gradient(Batch<float>, const double*, double*);
template std::int64_t hypervolume_gradient(Batch<double>, const double*, double*);

}  // namespace paretopo::cpu
