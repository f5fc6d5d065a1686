// The derivative of the hypervolume: for each point and objective m, the measure of its facet. That
// is the volume, in the other objectives, that the point adds to the points before it in m.
//
// 2 and 3 objectives: O(n log n). From 4: for each wanted point and objective the gain of one point
// in a set of one objective less.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/runtime/for_each_group.hpp"
#include "cpu/runtime/interrupt.hpp"
#include "cpu/runtime/thread_scratch.hpp"
#include "cpu/sorting/key_order.hpp"
#include "cpu/volume/hypervolume_of_sides.hpp"
#include "cpu/volume/ranked_staircase.hpp"
#include "cpu/volume/sides.hpp"
#include "formulas/sides.hpp"
#include "ops.hpp"

namespace paretopo::cpu {
namespace {

template <typename Scalar>
class GroupGradient {
  public:
    GroupGradient(Batch<Scalar> batch, const double* ref, const std::uint8_t* wanted,
                  double* gradient, FirstRefused* refused)
        : batch_(batch), ref_(ref), wanted_(wanted), gradient_(gradient), refused_(refused) {
        for (std::int32_t m = 0; m < batch.objectives; ++m) {
            signs_.push_back(batch.is_minimised(m) ? -1.0 : 1.0);
            signed_ref_.push_back(signs_.back() * ref[m]);
        }
    }

    void operator()(std::int64_t g) {
        if (refused_->note(batch_, g, sides_->measure(batch_, g, ref_))) return;
        const auto width = static_cast<std::size_t>(batch_.objectives);
        out_ = gradient_ + g * batch_.points * batch_.objectives;
        std::fill_n(out_, static_cast<std::size_t>(batch_.points) * width, 0.0);
        if (sides_->count == 0) return;
        // A sweep finds the facets of all points. A few are found faster one by one, except with 2
        // objectives, where one facet takes as long as all.
        const bool is_swept = (width == 2 || width == 3) && sides_->exponent == 0;
        if (is_swept && (width == 2 || !wanted_ || count_wanted(g) > kFew)) {
            width == 2 ? sweep_2d() : sweep_3d();
            if (wanted_) width == 2 ? clear_unwanted<2>(g) : clear_unwanted<3>(g);
            return;
        }
        for (std::size_t i = 0; i < sides_->count; ++i) {
            check_interrupt();
            if (!is_wanted(g, i)) continue;
            for (std::size_t m = 0; m < width; ++m) {
                set(i, m, is_swept ? facet_3d(i, m) : facet(g, i, m));
            }
        }
    }

  private:
    static constexpr std::size_t kFew = 1;  // of 3 objectives: a sweep costs as much

    struct Row {
        double x, y;
        std::uint32_t index;
    };

    void set(std::size_t i, std::size_t m, double facet) {
        const auto width = static_cast<std::size_t>(batch_.objectives);
        out_[static_cast<std::size_t>(sides_->index[i]) * width + m] =
            turned_slope(facet, signs_[m]);
    }

    bool is_wanted(std::int64_t g, std::size_t i) const {
        return !wanted_ || wanted_[g * batch_.points + sides_->index[i]] != 0;
    }
    std::size_t count_wanted(std::int64_t g) const {
        std::size_t count = 0;
        for (std::size_t i = 0; i < sides_->count; ++i) count += is_wanted(g, i);
        return count;
    }
    // Without branches, because the pattern of wanted points is unpredictable.
    template <std::size_t kWidth>
    void clear_unwanted(std::int64_t g) {
        const std::uint8_t* wanted = wanted_ + g * batch_.points;
        const auto points = static_cast<std::size_t>(batch_.points);
        for (std::size_t i = 0; i < points; ++i) {
            for (std::size_t m = 0; m < kWidth; ++m) {
                const double slope = out_[i * kWidth + m];
                out_[i * kWidth + m] = wanted[i] != 0 ? slope : 0.0;
            }
        }
    }

    // In descending order of one objective; equal ones in the order of the points.
    void sort_by(std::size_t m) {
        const std::size_t count = sides_->count;
        const auto width = static_cast<std::size_t>(batch_.objectives);
        const double* sides = sides_->values.data() + m;
        order_->keys.resize(count);
        std::uint64_t* keys = order_->keys.data();
        for (std::size_t i = 0; i < count; ++i) keys[i] = descending_key(sides[i * width]);
        order_->sort();
    }

    // Sweeps down the first objective: the facet of a row there is its rise above all rows before
    // it. Its facet in the second objective lasts until the first later row that is before it
    // there. A row that is already passed has none, so that at most one row is open at any time.
    void sweep_2d() {
        sort_by(0);
        const std::size_t count = sides_->count;
        const double* sides = sides_->values.data();
        const std::int32_t* index = sides_->index.data();
        const SortedKeys order = order_->sorted();
        const auto set_facet = [index, out = out_, x = signs_[0], y = signs_[1]](
                                   std::uint32_t i, std::size_t m, double facet) {
            out[2 * static_cast<std::size_t>(index[i]) + m] = turned_slope(facet, m == 0 ? x : y);
        };
        double height = 0.0;
        Row waiting{};
        for_each_item(count, [&](std::size_t k) {
            __builtin_prefetch(sides + 2 * std::size_t{order.ahead(k)});
            const std::uint32_t i = order.at(k);
            const Row row{sides[2 * std::size_t{i}], sides[2 * std::size_t{i} + 1], i};
            set_facet(i, 0, row.y > height ? row.y - height : 0.0);
            height = std::max(height, row.y);
            const bool is_before =
                k == 0 || row.y > waiting.y || (row.y == waiting.y && i < waiting.index);
            if (!is_before) return set_facet(i, 1, 0.0);
            if (k > 0) set_facet(waiting.index, 1, waiting.x - row.x);
            waiting = row;
        });
        set_facet(waiting.index, 1, waiting.x);
    }

    // Sweeps down each objective: the facet of a row is the area that it adds to the staircase of
    // earlier rows.
    void sweep_3d() {
        for (std::size_t m = 0; m < 3; ++m) rank_by(m);
        for (std::size_t m = 0; m < 3; ++m) {
            const std::size_t a = (m + 1) % 3;
            const std::size_t b = (m + 2) % 3;
            staircase_.clear(sides_->count);
            for (const std::uint32_t i : descending_[m]) {
                const double* side = sides_->values.data() + 3 * std::size_t{i};
                set(i, m, staircase_.add(side[a], side[b], ranks_[a][i]));
            }
        }
    }

    // Rows in descending order of objective m, and their ranks in ascending order: equal for equal
    // values.
    void rank_by(std::size_t m) {
        sort_by(m);
        descending_[m].resize(sides_->count);
        ranks_[m].resize(sides_->count);
        std::uint32_t rank = 0;
        for (std::size_t k = sides_->count; k-- > 0;) {
            const std::uint32_t i = order_->at(k);
            descending_[m][k] = i;
            ranks_[m][i] = rank;
            rank += !order_->repeats(k);
        }
    }

    bool is_before(std::size_t j, std::size_t i, std::size_t m) const {
        const auto width = static_cast<std::size_t>(batch_.objectives);
        const double other = sides_->values[j * width + m];
        const double own = sides_->values[i * width + m];
        return other > own || (other == own && j < i);
    }

    // The same strips as in the sweep, in the same order, restricted to the row's own rectangle.
    double facet_3d(std::size_t i, std::size_t m) {
        const std::size_t a = (m + 1) % 3;
        const std::size_t b = (m + 2) % 3;
        const double* sides = sides_->values.data();
        const double x = sides[3 * i + a];
        const double y = sides[3 * i + b];
        double floor = 0.0;  // of those at least as wide
        rows_.clear();
        for (std::size_t j = 0; j < sides_->count; ++j) {
            if (j == i || !is_before(j, i, m)) continue;
            const double other_x = sides[3 * j + a];
            const double other_y = sides[3 * j + b];
            if (other_x >= x) {
                if (other_y >= y) return 0.0;
                floor = std::max(floor, other_y);
            } else {
                rows_.push_back({other_x, other_y, 0});
            }
        }
        const auto last = std::remove_if(rows_.begin(), rows_.end(),
                                         [floor](const Row& row) { return row.y <= floor; });
        std::sort(rows_.begin(), last, [](const Row& one, const Row& other) {
            return one.x != other.x ? one.x > other.x : one.y > other.y;
        });
        double edge = x;
        double area = 0.0;
        for (auto row = rows_.begin(); row != last && floor < y; ++row) {
            if (row->y <= floor) continue;
            area += (edge - row->x) * (y - floor);
            edge = row->x;
            floor = row->y;
        }
        return floor < y ? area + edge * (y - floor) : area;
    }

    // The value, oriented so that larger is better.
    double value(std::int64_t g, std::size_t i, std::size_t m) const {
        const std::int64_t at =
            std::int64_t{sides_->index[i]} * batch_.objectives + static_cast<std::int64_t>(m);
        return signs_[m] * static_cast<double>(batch_.group(g)[at]);
    }

    double facet(std::int64_t g, std::size_t i, std::size_t m) {
        const auto width = static_cast<std::size_t>(batch_.objectives);
        std::int32_t count = 0;
        values_.clear();
        for (std::size_t j = 0; j <= sides_->count; ++j) {  // the point itself comes last
            const std::size_t from = j < sides_->count ? j : i;
            if (j < sides_->count && (j == i || !is_before(j, i, m))) continue;
            for (std::size_t k = 0; k < width; ++k) {
                if (k != m) values_.push_back(value(g, from, k));
            }
            ++count;
        }
        if (width == 1) return count == 1 ? 1.0 : 0.0;
        other_ref_ = signed_ref_;
        other_ref_.erase(other_ref_.begin() + static_cast<std::ptrdiff_t>(m));
        double added = 0.0;
        hypervolume_gain(Batch<double>{values_.data(), nullptr, 1, count, batch_.objectives - 1, 0},
                         other_ref_.data(), &added);
        return added;
    }

    Batch<Scalar> batch_;
    const double* ref_;
    const std::uint8_t* wanted_;
    double* gradient_;
    double* out_ = nullptr;  // of the current group
    FirstRefused* refused_;
    std::vector<double> signs_, signed_ref_, other_ref_, values_;
    std::vector<Row> rows_;
    std::array<std::vector<std::uint32_t>, 3> descending_, ranks_;  // of each objective
    RankedStaircase staircase_;
    ThreadScratch<Sides> sides_;
    ThreadScratch<KeyOrder> order_;
};

}  // namespace

template <typename Scalar>
std::int64_t hypervolume_gradient(Batch<Scalar> batch, const double* ref,
                                  const std::uint8_t* wanted, double* gradient) {
    if (batch.is_empty()) return kNoneRefused;
    FirstRefused refused;
    const double each = volume_cost(batch.points, batch.objectives);
    const double cost = batch.objectives <= 3 ? 3.0 * each : batch.points * each;
    for_each_group(batch.groups, cost,
                   GroupGradient<Scalar>(batch, ref, wanted, gradient, &refused));
    return refused.index();
}

template std::int64_t hypervolume_gradient(Batch<float>, const double*, const std::uint8_t*,
                                           double*);
template std::int64_t hypervolume_gradient(Batch<double>, const double*, const std::uint8_t*,
                                           double*);

}  // namespace paretopo::cpu
