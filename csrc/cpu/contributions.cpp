#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/for_each_group.hpp"
#include "cpu/hypervolume_3d.hpp"
#include "cpu/refused.hpp"
#include "cpu/sides.hpp"
#include "cpu/volume.hpp"
#include "ops.hpp"

namespace paretopo::cpu {
namespace {

template <typename Scalar>
class GroupContributions {
  public:
    GroupContributions(Batch<Scalar> batch, const double* ref, bool ignore_dominated,
                       double* contributions, FirstRefused* refused)
        : batch_(batch),
          ref_(ref),
          ignore_dominated_(ignore_dominated),
          contributions_(contributions),
          refused_(refused),
          volume_(batch.objectives) {}

    void operator()(std::int64_t g) {
        if (refused_->note(batch_, g, sides_.measure(batch_, g, ref_))) return;
        double* out = contributions_ + g * batch_.points;
        std::fill_n(out, batch_.points, 0.0);
        own_.assign(sides_.count, 0.0);
        const double* sides = sides_.values.data();
        if (batch_.objectives == 2) {
            sweep_.contributions_2d(sides, sides_.count, ignore_dominated_, own_.data());
        } else if (batch_.objectives == 3) {
            sweep_.contributions_3d(sides, sides_.count, ignore_dominated_, own_.data());
        } else {
            by_limits();
        }
        for (std::size_t i = 0; i < sides_.count; ++i) {
            out[sides_.index[i]] =
                sides_.exponent == 0 ? own_[i] : std::ldexp(own_[i], sides_.exponent);
        }
    }

  private:
    // Point by point: its box, less what limits it. One point does not wait for another, so that
    // one large set is shared between threads.
    void by_limits() {
        const auto width = static_cast<std::size_t>(batch_.objectives);
        rivals_.clear();
        rival_of_.clear();
        if (ignore_dominated_) {
            kept_.resize(sides_.count);
            volume_.nondominated(sides_.values.data(), sides_.count, kept_.data());
        } else {
            kept_.assign(sides_.count, 1);
        }
        for (std::size_t i = 0; i < sides_.count; ++i) {
            if (kept_[i] == 0) continue;
            const double* row = sides_.values.data() + i * width;
            rivals_.insert(rivals_.end(), row, row + width);
            rival_of_.push_back(i);
        }
        const std::size_t rivals = rival_of_.size();
        shares_.resize(rivals);

        const bool is_alone = batch_.groups == 1 && rivals >= 2 * kGrain;
        const std::size_t grain = is_alone ? kGrain : std::max<std::size_t>(rivals, 1);
        const auto work = [this, rivals, grain, volume = volume_](std::int64_t part) mutable {
            const std::size_t first = static_cast<std::size_t>(part) * grain;
            volume.contributions(rivals_.data(), rivals, first, std::min(first + grain, rivals),
                                 shares_.data());
        };
        if (is_alone) {
            const double cost = volume_cost(static_cast<std::int32_t>(rivals), batch_.objectives);
            const auto parts = static_cast<std::int64_t>((rivals + grain - 1) / grain);
            for_each_group(parts, cost / static_cast<double>(parts), work);
        } else {
            volume_.contributions(rivals_.data(), rivals, 0, rivals, shares_.data());
        }
        for (std::size_t k = 0; k < rivals; ++k) own_[rival_of_[k]] = shares_[k];
    }

    static constexpr std::size_t kGrain = 64;  // points

    Batch<Scalar> batch_;
    const double* ref_;
    bool ignore_dominated_;
    double* contributions_;
    FirstRefused* refused_;
    Sides sides_;
    Sweep sweep_;
    Volume volume_;
    std::vector<std::uint8_t> kept_;
    std::vector<std::size_t> rival_of_;
    std::vector<double> own_, rivals_, shares_;
};

}  // namespace

template <typename Scalar>
std::int64_t hv_contributions(Batch<Scalar> batch, const double* ref, bool ignore_dominated,
                              double* contributions) {
    FirstRefused refused;
    for_each_group(
        batch.groups, volume_cost(batch.points, batch.objectives),
        GroupContributions<Scalar>(batch, ref, ignore_dominated, contributions, &refused));
    return refused.index();
}

template std::int64_t hv_contributions(Batch<float>, const double*, bool, double*);
template std::int64_t hv_contributions(Batch<double>, const double*, bool, double*);

}  // namespace paretopo::cpu
