#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/for_each_group.hpp"
#include "cpu/refused.hpp"
#include "cpu/sides.hpp"
#include "cpu/sort_large.hpp"
#include "cpu/volume.hpp"
#include "group/hypervolume.hpp"
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
        sorted_.sort(sides_.values.data(), static_cast<std::int32_t>(sides_.count),
                     batch_.objectives, 0);
        filter_distinct(sorted_, chosen_);
        if (batch_.objectives == 2) {
            planar();
        } else {
            one_by_one();
        }
        for (std::size_t i = 0; i < sides_.count; ++i) {
            out[sides_.index[i]] = std::ldexp(own_[i], sides_.exponent);
        }
    }

  private:
    // Is point i the only one of its kind, and dominated by none? Nobody else contributes.
    bool may_contribute(std::size_t i) const {
        const auto d = static_cast<std::size_t>(sorted_.distinct_of[i]);
        return chosen_[d] != 0 && copies_[d] == 1;
    }

    void count_copies() {
        copies_.assign(static_cast<std::size_t>(sorted_.distinct), 0);
        for (const std::int32_t d : sorted_.distinct_of) ++copies_[static_cast<std::size_t>(d)];
    }

    void one_by_one() {
        count_copies();
        const auto width = static_cast<std::size_t>(batch_.objectives);
        rivals_.clear();
        rival_of_.assign(sides_.count, kNone);
        for (std::size_t i = 0; i < sides_.count; ++i) {
            const auto d = static_cast<std::size_t>(sorted_.distinct_of[i]);
            if (ignore_dominated_ && chosen_[d] == 0) continue;
            rival_of_[i] = rivals_.size() / width;
            const double* row = sides_.values.data() + i * width;
            rivals_.insert(rivals_.end(), row, row + width);
        }
        const std::size_t rivals = rivals_.size() / width;
        shares_.resize(rivals);
        volume_.contributions(rivals_.data(), rivals, 0, rivals, shares_.data());
        for (std::size_t i = 0; i < sides_.count; ++i) {
            if (may_contribute(i)) own_[i] = shares_[rival_of_[i]];
        }
    }

    // One sweep over the front, x descending. Point k alone owns the rectangle right of its
    // successor and above its predecessor, less what points dominated by it alone take of it.
    void planar() {
        count_copies();
        front_.clear();
        for (std::int32_t d = 0; d < sorted_.distinct; ++d) {
            if (chosen_[static_cast<std::size_t>(d)] != 0) front_.push_back(d);
        }
        std::size_t shade = 0;  // distinct points are in order of descending x, then descending y
        for (std::size_t k = 0; k < front_.size(); ++k) {
            const auto i = static_cast<std::size_t>(first_point(front_[k]));
            const double left = k + 1 < front_.size() ? side(first_point(front_[k + 1]), 0) : 0.0;
            const double below = k > 0 ? side(first_point(front_[k - 1]), 1) : 0.0;
            double area = (sides_.values[2 * i] - left) * (sides_.values[2 * i + 1] - below);
            if (!ignore_dominated_) {
                shaded_.clear();
                for (; shade < static_cast<std::size_t>(sorted_.distinct); ++shade) {
                    const std::int32_t j = sorted_.first_of[shade];
                    if (side(j, 0) <= left) break;
                    if (chosen_[shade] != 0 || side(j, 1) <= below) continue;
                    shaded_.insert(shaded_.end(), {side(j, 0) - left, side(j, 1) - below});
                }
                area -= area_of_sorted(shaded_.data(), static_cast<int>(shaded_.size() / 2));
            }
            if (may_contribute(i)) own_[i] = std::max(0.0, area);
        }
    }

    std::int32_t first_point(std::int32_t d) const {
        return sorted_.first_of[static_cast<std::size_t>(d)];
    }
    double side(std::int32_t i, std::size_t m) const {
        return sides_.values[2 * static_cast<std::size_t>(i) + m];
    }

    Batch<Scalar> batch_;
    const double* ref_;
    bool ignore_dominated_;
    double* contributions_;
    FirstRefused* refused_;
    Sides sides_;
    SortedCodes sorted_;
    Volume volume_;
    std::vector<std::uint8_t> chosen_;
    std::vector<std::int32_t> copies_, front_;
    std::vector<std::size_t> rival_of_;
    std::vector<double> own_, rivals_, shares_, shaded_;
    static constexpr std::size_t kNone = ~std::size_t{0};
};

}  // namespace

template <typename Scalar>
std::int64_t hv_contributions(Batch<Scalar> batch, const double* ref, bool ignore_dominated,
                              double* contributions) {
    FirstRefused refused;
    const double cost = volume_cost(batch.points, std::max(batch.objectives, 4));
    for_each_group(
        batch.groups, cost,
        GroupContributions<Scalar>(batch, ref, ignore_dominated, contributions, &refused));
    return refused.index();
}

template std::int64_t hv_contributions(Batch<float>, const double*, bool, double*);
template std::int64_t hv_contributions(Batch<double>, const double*, bool, double*);

}  // namespace paretopo::cpu
