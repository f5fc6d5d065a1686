// The derivative of the hypervolume: for each point and objective m the facet that it pushes, which
// is what it adds in the other objectives to the points that are before it in m.
//
// 2 and 3 objectives: O(n log n). From 4: for each wanted point and objective the gain of one point
// in a set of one objective less.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/for_each_group.hpp"
#include "cpu/hypervolume_of_sides.hpp"
#include "cpu/key_order.hpp"
#include "cpu/lanes/interrupt.hpp"
#include "cpu/sides.hpp"
#include "cpu/staircase_of_maxima.hpp"
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
        if (refused_->note(batch_, g, sides_.measure(batch_, g, ref_))) return;
        const auto width = static_cast<std::size_t>(batch_.objectives);
        out_ = gradient_ + g * batch_.points * batch_.objectives;
        std::fill_n(out_, static_cast<std::size_t>(batch_.points) * width, 0.0);
        std::size_t count = sides_.count;
        if (wanted_) count = count_wanted(g);
        if (count == 0) return;
        // A sweep finds the facets of all points; a few are found sooner one by one, but for 2
        // objectives, where one facet takes as long as all.
        const bool is_swept = (width == 2 || width == 3) && sides_.exponent == 0;
        if (is_swept && (width == 2 || count > kFew)) {
            width == 2 ? sweep_2d() : sweep_3d();
            if (wanted_) clear_unwanted(g);
            return;
        }
        for (std::size_t i = 0; i < sides_.count; ++i) {
            check_interrupt();
            if (!is_wanted(g, i)) continue;
            for (std::size_t m = 0; m < width; ++m) {
                set(i, m, is_swept ? facet_3d(i, m) : facet(g, i, m));
            }
        }
    }

  private:
    static constexpr std::size_t kFew = 4;  // of 3 objectives: a sweep costs as much

    struct Row {
        double key, x, y;  // of the objective swept along, and of the others
        std::uint32_t index;
    };

    void set(std::size_t i, std::size_t m, double facet) {
        const auto width = static_cast<std::size_t>(batch_.objectives);
        out_[static_cast<std::size_t>(sides_.index[i]) * width + m] = signs_[m] * facet;
    }

    bool is_wanted(std::int64_t g, std::size_t i) const {
        return !wanted_ || wanted_[g * batch_.points + sides_.index[i]] != 0;
    }
    std::size_t count_wanted(std::int64_t g) const {
        std::size_t count = 0;
        for (std::size_t i = 0; i < sides_.count; ++i) count += is_wanted(g, i);
        return count;
    }
    void clear_unwanted(std::int64_t g) {
        const auto width = static_cast<std::size_t>(batch_.objectives);
        for (std::size_t i = 0; i < sides_.count; ++i) {
            if (is_wanted(g, i)) continue;
            std::fill_n(out_ + static_cast<std::size_t>(sides_.index[i]) * width, width, 0.0);
        }
    }

    // Rows in descending order of objective m; equal ones in the order of the points.
    void sort_by(std::size_t m, std::size_t a, std::size_t b) {
        const auto width = static_cast<std::size_t>(batch_.objectives);
        const double* sides = sides_.values.data();
        order_.keys.resize(sides_.count);
        for (std::size_t i = 0; i < sides_.count; ++i) {
            order_.keys[i] = descending_key(sides[i * width + m]);
        }
        order_.sort();
        rows_.resize(sides_.count);
        for (std::size_t k = 0; k < sides_.count; ++k) {
            const std::uint32_t i = order_.at(k);
            const double* side = sides + i * width;
            rows_[k] = {side[m], side[a], side[b], i};
        }
    }

    // Down the first objective: a row's facet there is what it rises above all before it. Its facet
    // in the second lasts until the first row that is before it there; a row that meets one already
    // past has none, so that a single row waits at any time.
    void sweep_2d() {
        sort_by(0, 1, 1);
        double height = 0.0;
        const Row* waiting = nullptr;
        for (const Row& row : rows_) {
            set(row.index, 0, row.x > height ? row.x - height : 0.0);
            height = std::max(height, row.x);
            const bool is_before = waiting && (row.x > waiting->x ||
                                               (row.x == waiting->x && row.index < waiting->index));
            if (waiting && !is_before) {
                set(row.index, 1, 0.0);
                continue;
            }
            if (waiting) set(waiting->index, 1, waiting->key - row.key);
            waiting = &row;
        }
        if (waiting) set(waiting->index, 1, waiting->key);
    }

    // Down each objective: a row's facet is the area that it adds to the staircase of those before.
    void sweep_3d() {
        for (std::size_t m = 0; m < 3; ++m) {
            sort_by(m, (m + 1) % 3, (m + 2) % 3);
            staircase_.clear();
            for (const Row& row : rows_) set(row.index, m, area_added(row.x, row.y));
        }
    }

    double area_added(double x, double y) {
        const StaircaseOfMaxima::Place place = staircase_.first_not_left_of(x);
        const StaircaseOfMaxima::Step* cover = staircase_.at(place);
        if (cover && cover->y >= y) return 0.0;
        double floor = cover ? cover->y : 0.0;
        double edge = x;
        double area = 0.0;
        const auto neighbours =
            staircase_.insert(place, {x, y, 0}, [&](const StaircaseOfMaxima::Step& removed) {
                area += (edge - removed.x) * (y - floor);
                edge = removed.x;
                floor = removed.y;
            });
        return area + (edge - (neighbours.left ? neighbours.left->x : 0.0)) * (y - floor);
    }

    bool is_before(std::size_t j, std::size_t i, std::size_t m) const {
        const auto width = static_cast<std::size_t>(batch_.objectives);
        const double other = sides_.values[j * width + m];
        const double own = sides_.values[i * width + m];
        return other > own || (other == own && j < i);
    }

    // The same strips as in the sweep, in the same order: only what overlaps the row's own
    // rectangle is looked at.
    double facet_3d(std::size_t i, std::size_t m) {
        const std::size_t a = (m + 1) % 3;
        const std::size_t b = (m + 2) % 3;
        const double* sides = sides_.values.data();
        const double x = sides[3 * i + a];
        const double y = sides[3 * i + b];
        double floor = 0.0;  // of those at least as wide
        rows_.clear();
        for (std::size_t j = 0; j < sides_.count; ++j) {
            if (j == i || !is_before(j, i, m)) continue;
            const double other_x = sides[3 * j + a];
            const double other_y = sides[3 * j + b];
            if (other_x >= x) {
                if (other_y >= y) return 0.0;
                floor = std::max(floor, other_y);
            } else {
                rows_.push_back({0.0, other_x, other_y, 0});
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

    // Values that are larger when better.
    double value(std::int64_t g, std::size_t i, std::size_t m) const {
        const std::int64_t at =
            std::int64_t{sides_.index[i]} * batch_.objectives + static_cast<std::int64_t>(m);
        return signs_[m] * static_cast<double>(batch_.group(g)[at]);
    }

    double facet(std::int64_t g, std::size_t i, std::size_t m) {
        const auto width = static_cast<std::size_t>(batch_.objectives);
        std::int32_t count = 0;
        values_.clear();
        for (std::size_t j = 0; j <= sides_.count; ++j) {  // the point itself comes last
            const std::size_t from = j < sides_.count ? j : i;
            if (j < sides_.count && (j == i || !is_before(j, i, m))) continue;
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
    double* out_ = nullptr;  // of the group at hand
    FirstRefused* refused_;
    std::vector<double> signs_, signed_ref_, other_ref_, values_;
    Sides sides_;
    std::vector<Row> rows_;
    KeyOrder order_;
    StaircaseOfMaxima staircase_;
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
