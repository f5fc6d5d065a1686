#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/ranking/fronts.hpp"
#include "cpu/runtime/for_each_group.hpp"
#include "cpu/runtime/thread_scratch.hpp"
#include "cpu/volume/dimension_sweep.hpp"
#include "cpu/volume/hypervolume_of_sides.hpp"
#include "cpu/volume/sides.hpp"
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
        if (refused_->note(batch_, g, sides_->measure(batch_, g, ref_))) return;
        out_ = contributions_ + g * batch_.points;
        if (batch_.objectives < 2 || batch_.objectives > 3) {
            by_limits(g);
        } else if (!ignore_dominated_) {
            sweep(nullptr);
        } else if (!sweep([this, g](std::size_t cover, std::size_t row) {
                       return is_settled(g, cover, row);
                   })) {
            drop_dominated(g);
            sweep(nullptr);
        }
        write();
    }

  private:
    // True if the rows are the points of the group: their contributions need no room of their own.
    bool has_all() const { return sides_->count == static_cast<std::size_t>(batch_.points); }

    double* room() {
        if (has_all()) return out_;
        own_.resize(sides_->count);
        return own_.data();
    }

    void write() {
        if (!has_all()) {
            std::fill_n(out_, batch_.points, 0.0);
            for (std::size_t i = 0; i < sides_->count; ++i) out_[sides_->index[i]] = own_[i];
        }
        if (sides_->exponent == 0) return;
        for (std::int32_t i = 0; i < batch_.points; ++i) {
            out_[i] = std::ldexp(out_[i], sides_->exponent);
        }
    }

    bool sweep(const DimensionSweep::Ignorable& ignorable) {
        const double* sides = sides_->values.data();
        if (batch_.objectives == 3) {
            return sweep_->contributions_3d(sides, sides_->count, ignorable, room());
        }
        return sweep_->contributions_2d(sides, sides_->count, ignorable, room());
    }

    // Given that row a is not smaller than row b in any side, is point a not worse than point b?
    // Far from the reference, different values can round to one side.
    bool is_settled(std::int64_t g, std::size_t a, std::size_t b) const {
        const auto width = static_cast<std::size_t>(batch_.objectives);
        const Scalar* one = batch_.group(g) + static_cast<std::size_t>(sides_->index[a]) * width;
        const Scalar* other = batch_.group(g) + static_cast<std::size_t>(sides_->index[b]) * width;
        bool are_equal = true;
        bool are_copies = true;
        for (std::size_t m = 0; m < width; ++m) {
            if (sides_->values[a * width + m] > sides_->values[b * width + m]) {
                are_equal = false;
                continue;
            }
            const bool is_minimised = batch_.is_minimised(static_cast<int>(m));
            if (is_minimised ? one[m] > other[m] : one[m] < other[m]) return false;
            are_copies = are_copies && one[m] == other[m];
        }
        return !are_equal || are_copies;
    }

    // True if measuring from the reference kept all points distinct. Far from it, sides round to
    // ties.
    bool keeps_order(std::int64_t g) const {
        if (sides_->exponent != 0) return false;
        const auto width = static_cast<std::size_t>(batch_.objectives);
        for (std::size_t i = 0; i < sides_->count; ++i) {
            const Scalar* point =
                batch_.group(g) + static_cast<std::size_t>(sides_->index[i]) * width;
            for (std::size_t m = 0; m < width; ++m) {
                const double sign = batch_.is_minimised(static_cast<int>(m)) ? -1.0 : 1.0;
                const double value = sign * static_cast<double>(point[m]);
                if (sides_->values[i * width + m] + sign * ref_[m] != value) return false;
            }
        }
        return true;
    }

    // Dominance is decided on the points as given.
    void drop_dominated(std::int64_t g) {
        const auto width = static_cast<std::size_t>(batch_.objectives);
        given_.count = static_cast<std::int32_t>(sides_->count);
        given_.values.resize(sides_->count * width);
        for (std::size_t i = 0; i < sides_->count; ++i) {
            std::copy_n(batch_.group(g) + static_cast<std::size_t>(sides_->index[i]) * width, width,
                        &given_.values[i * width]);
        }
        kept_.resize(sides_->count);
        ranker_.find_nondominated(given_, batch_.objectives, batch_.minimised, true, kept_.data());
        std::size_t count = 0;
        for (std::size_t i = 0; i < sides_->count; ++i) {
            if (kept_[i] == 0) continue;
            std::copy_n(&sides_->values[i * width], width, &sides_->values[count * width]);
            sides_->index[count++] = sides_->index[i];
        }
        sides_->count = count;
    }

    // Point by point: its box, less the parts covered by others. Points are independent, so that
    // threads share one large set.
    void by_limits(std::int64_t g) {
        // Dominance can be decided on sides, unless some have become equal. Then it is decided on
        // the points as given, and all survivors count.
        const bool ignore = ignore_dominated_ && keeps_order(g);
        if (ignore_dominated_ && !ignore) drop_dominated(g);
        double* const own = room();
        std::fill_n(own, sides_->count, 0.0);
        const auto width = static_cast<std::size_t>(batch_.objectives);
        rows_.clear();
        row_of_.clear();
        if (ignore) {
            kept_.resize(sides_->count);
            volume_.nondominated(sides_->values.data(), sides_->count, kept_.data());
        } else {
            kept_.assign(sides_->count, 1);
        }
        for (std::size_t i = 0; i < sides_->count; ++i) {
            if (kept_[i] == 0) continue;
            const double* row = sides_->values.data() + i * width;
            rows_.insert(rows_.end(), row, row + width);
            row_of_.push_back(i);
        }
        const std::size_t count = row_of_.size();
        exclusive_.resize(count);

        const bool is_alone = batch_.groups == 1 && count >= 2 * kGrain;
        const std::size_t grain = is_alone ? kGrain : std::max<std::size_t>(count, 1);
        const auto work = [this, count, grain, volume = volume_](std::int64_t part) mutable {
            const std::size_t first = static_cast<std::size_t>(part) * grain;
            volume.contributions(rows_.data(), count, first, std::min(first + grain, count),
                                 exclusive_.data());
        };
        if (is_alone) {
            const double cost = volume_cost(static_cast<std::int32_t>(count), batch_.objectives);
            const auto parts = static_cast<std::int64_t>((count + grain - 1) / grain);
            for_each_group(parts, cost / static_cast<double>(parts), work);
        } else {
            volume_.contributions(rows_.data(), count, 0, count, exclusive_.data());
        }
        for (std::size_t k = 0; k < count; ++k) own[row_of_[k]] = exclusive_[k];
    }

    static constexpr std::size_t kGrain = 64;  // points

    Batch<Scalar> batch_;
    const double* ref_;
    bool ignore_dominated_;
    double* contributions_;
    double* out_ = nullptr;  // of the current group
    FirstRefused* refused_;
    ThreadScratch<Sides> sides_;
    Present<Scalar> given_;
    Ranker ranker_;
    ThreadScratch<DimensionSweep> sweep_;
    HypervolumeOfSides volume_;
    std::vector<std::uint8_t> kept_;
    std::vector<std::size_t> row_of_;
    std::vector<double> own_, rows_, exclusive_;
};

}  // namespace

template <typename Scalar>
std::int64_t hypervolume_contributions(Batch<Scalar> batch, const double* ref,
                                       bool ignore_dominated, double* contributions) {
    if (batch.is_empty()) return kNoneRefused;
    FirstRefused refused;
    for_each_group(
        batch.groups, volume_cost(batch.points, batch.objectives),
        GroupContributions<Scalar>(batch, ref, ignore_dominated, contributions, &refused));
    return refused.index();
}

template std::int64_t hypervolume_contributions(Batch<float>, const double*, bool, double*);
template std::int64_t hypervolume_contributions(Batch<double>, const double*, bool, double*);

}  // namespace paretopo::cpu
