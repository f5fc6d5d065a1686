// The joint hypervolume improvement of candidates over a front whose undominated region is given as
// boxes: the sum, over the boxes, of the volume that the candidates dominate in each.
//
// One candidate: a product for each box, over columns of boxes. More: the volume of the candidates
// clipped at the box. With two objectives they are a staircase, and a box visits only the steps
// within it. A derivative is the measure of a facet: for each box that a candidate ends in, the
// facet that no earlier candidate in that objective covers.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "cpu/boxes/boxes.hpp"
#include "cpu/runtime/for_each_group.hpp"
#include "cpu/runtime/interrupt.hpp"
#include "cpu/runtime/thread_scratch.hpp"
#include "cpu/sorting/key_order.hpp"
#include "cpu/sorting/objective_order.hpp"
#include "cpu/volume/hypervolume_of_sides.hpp"
#include "cpu/volume/sides.hpp"
#include "formulas/sides.hpp"

namespace paretopo::cpu {
namespace {

constexpr std::size_t kBoxesAtOnce = 64;  // for one candidate

// The boxes of one set in columns, larger is better, in units in which no product of sides leaves
// the range of doubles. The candidates use the same units.
class OrientedBoxes {
  public:
    explicit OrientedBoxes(std::size_t width) : width_(width), columns_(2 * width) {}

    std::size_t count() const { return count_; }
    const double* worse(std::size_t m) const { return columns_[m].data(); }
    const double* better(std::size_t m) const { return columns_[width_ + m].data(); }

    // Returns the index within the set of a corner that is refused, or kNoneRefused.
    std::int64_t take(const BoxSets& boxes, std::int64_t set, const std::vector<double>& signs) {
        count_ = static_cast<std::size_t>(boxes.count);
        const std::size_t first = static_cast<std::size_t>(set) * count_ * width_;
        lowest_.assign(width_, std::numeric_limits<double>::infinity());
        for (std::size_t m = 0; m < width_; ++m) {
            columns_[m].resize(count_);
            columns_[width_ + m].resize(count_);
            for (std::size_t b = 0; b < count_; ++b) {
                const std::size_t at = b * width_ + m;
                const bool is_turned = signs[m] < 0.0;
                const double lower = boxes.lower[first + at];
                const double upper = boxes.upper[first + at];
                const double worse = is_turned ? -upper : lower;
                const double better = is_turned ? -lower : upper;
                if (!std::isfinite(worse) || std::isnan(better)) {
                    return static_cast<std::int64_t>(first + at);
                }
                columns_[m][b] = worse;
                columns_[width_ + m][b] = better;
                lowest_[m] = std::min(lowest_[m], worse);
            }
        }
        return kNoneRefused;
    }

    // The longest side that a candidate at `value` can have in a box.
    double reach(std::size_t m, double value) const { return value - lowest_[m]; }

    // Powers of two are exact.
    void scale(std::size_t m, int power) {
        for (std::size_t half : {m, width_ + m}) {
            for (double& corner : columns_[half]) corner = std::ldexp(corner, power);
        }
    }

  private:
    std::size_t width_;
    std::size_t count_ = 0;
    std::vector<std::vector<double>> columns_;  // the worse corners, then the better ones
    std::vector<double> lowest_;                // of the worse corners, in each objective
};

// Scratch of one thread, for both operations.
template <typename Scalar>
class GroupImprovement {
  public:
    GroupImprovement(Batch<Scalar> candidates, BoxSets sets, FirstRefused* refused,
                     FirstRefused* refused_corner)
        : batch_(candidates),
          sets_(sets),
          refused_(refused),
          refused_corner_(refused_corner),
          width_(static_cast<std::size_t>(candidates.objectives)),
          boxes_(width_),
          volume_(candidates.objectives),
          facet_(std::max(candidates.objectives - 1, 1)) {
        for (std::int32_t m = 0; m < candidates.objectives; ++m) {
            signs_.push_back(candidates.is_minimised(m) ? -1.0 : 1.0);
        }
    }

  protected:
    // Reads the candidates and the boxes of a group; false if either holds a refused value.
    bool take(std::int64_t g) {
        const Scalar* group = batch_.group(g);
        const std::uint8_t* mask = batch_.group_mask(g);
        values_.clear();
        index_.clear();
        for (std::int32_t i = 0; i < batch_.points; ++i) {
            if (mask && mask[i] == 0) continue;
            for (std::size_t m = 0; m < width_; ++m) {
                const auto at = static_cast<std::int64_t>(static_cast<std::size_t>(i) * width_ + m);
                const double value = signs_[m] * static_cast<double>(group[at]);
                if (!(value <= kLargestSide)) return !refused_->note(batch_, g, at);
                values_.push_back(value);
            }
            index_.push_back(i);
        }
        count_ = index_.size();
        const std::int64_t set = sets_.of_group ? sets_.of_group[g] : 0;
        if (set != taken_) {
            taken_ = -1;
            const std::int64_t corner = boxes_.take(sets_, set, signs_);
            if (corner != kNoneRefused) {
                const Batch<double> corners{sets_.lower, nullptr, 1, 0, 0, 0};
                return !refused_corner_->note(corners, 0, corner);
            }
            taken_ = set;
        }
        weights_ = sets_.weights ? sets_.weights + set * sets_.count : nullptr;
        scale();
        return true;
    }

    // The part of a box that candidate i dominates, from the box's worse corner.
    bool cut(std::size_t box, std::size_t i, double* sides) const {
        bool is_inside = true;
        for (std::size_t m = 0; m < width_; ++m) {
            const double reached = std::min(values_[i * width_ + m], boxes_.better(m)[box]);
            sides[m] = std::max(reached - boxes_.worse(m)[box], shortest_[m]);
            is_inside = is_inside && sides[m] > 0.0;
        }
        return is_inside;
    }

    // True if the derivative of a side is 1, and not 0.
    bool ends_in(std::size_t m, double value, std::size_t box) const {
        return value <= boxes_.better(m)[box] && value - boxes_.worse(m)[box] > shortest_[m];
    }

    double weight(std::size_t box) const { return weights_ ? weights_[box] : 1.0; }

    double unscaled(double number, int power) const {
        return power == 0 ? number : std::ldexp(number, power);
    }

    Batch<Scalar> batch_;
    BoxSets sets_;
    FirstRefused* refused_;
    FirstRefused* refused_corner_;
    std::size_t width_;
    std::size_t count_ = 0;            // of present candidates
    std::vector<double> values_;       // (count, objectives), larger is better
    std::vector<std::int32_t> index_;  // the index of each candidate in its group
    std::vector<double> signs_, own_;
    std::vector<double> shortest_;  // (objectives,), in the units of the boxes
    std::vector<int> powers_;
    int exponent_ = 0;  // volumes are multiplied by 2^exponent, sides by 2^powers
    std::int64_t taken_ = -1;
    const double* weights_ = nullptr;  // of the boxes; null: 1
    OrientedBoxes boxes_;
    HypervolumeOfSides volume_, facet_;
    Poller poller_;

  private:
    void scale() {
        powers_.assign(width_, 0);
        shortest_.assign(width_, sets_.shortest_side);
        exponent_ = 0;
        for (std::size_t m = 0; m < width_ && boxes_.count() > 0; ++m) {
            double reach = 0.0;
            for (std::size_t i = 0; i < count_; ++i) {
                reach = std::max(reach,
                                 std::min(boxes_.reach(m, values_[i * width_ + m]), kLargestSide));
            }
            powers_[m] = excess_power(reach, batch_.objectives);
            if (powers_[m] == 0) continue;
            exponent_ += powers_[m];
            boxes_.scale(m, -powers_[m]);
            shortest_[m] = std::ldexp(shortest_[m], -powers_[m]);
            for (std::size_t i = 0; i < count_; ++i) {
                double& value = values_[i * width_ + m];
                value = std::ldexp(value, -powers_[m]);
            }
            taken_ = -1;  // the next group may need other units
        }
    }
};

template <typename Scalar>
class Improvement : GroupImprovement<Scalar> {
  public:
    Improvement(Batch<Scalar> candidates, BoxSets sets, FirstRefused* refused,
                FirstRefused* refused_corner, double* improvements)
        : GroupImprovement<Scalar>(candidates, sets, refused, refused_corner),
          improvements_(improvements) {}

    void operator()(std::int64_t g) {
        if (!this->take(g)) return;
        const double sum = this->count_ == 1 ? of_one() : is_flat() ? of_staircase() : of_many();
        improvements_[g] = this->unscaled(sum, this->exponent_);
    }

  private:
    static constexpr std::size_t kFewSteps = 8;  // for fewer, clipping at every box beats sorting

    bool is_flat() const {
        return this->width_ == 2 && this->count_ > kFewSteps && this->sets_.shortest_side == 0.0;
    }

    double of_one() {
        double sum = 0.0;
        std::array<double, kBoxesAtOnce> volumes;
        for (std::size_t first = 0; first < this->boxes_.count(); first += kBoxesAtOnce) {
            this->poller_.step();
            const std::size_t size = std::min(kBoxesAtOnce, this->boxes_.count() - first);
            volumes.fill(1.0);
            for (std::size_t m = 0; m < this->width_; ++m) {
                const double value = this->values_[m];
                const double shortest = this->shortest_[m];
                const double* worse = this->boxes_.worse(m) + first;
                const double* better = this->boxes_.better(m) + first;
                for (std::size_t b = 0; b < size; ++b) {
                    const double side = (value < better[b] ? value : better[b]) - worse[b];
                    volumes[b] *= side > shortest ? side : shortest;
                }
            }
            for (std::size_t b = 0; b < size; ++b) sum += this->weight(first + b) * volumes[b];
        }
        return sum;
    }

    double of_many() {
        const std::size_t width = this->width_;
        auto& sides = this->own_;
        sides.resize(this->count_ * width);
        double sum = 0.0;
        for (std::size_t box = 0; box < this->boxes_.count(); ++box) {
            this->poller_.step();
            std::size_t inside = 0;
            for (std::size_t i = 0; i < this->count_; ++i) {
                inside += this->cut(box, i, sides.data() + inside * width) ? 1 : 0;
            }
            if (inside == 0) continue;
            sum += this->weight(box) *
                   (inside > 2 ? this->volume_.of(sides.data(), inside)
                               : of_two(sides.data(), sides.data() + (inside - 1) * width));
        }
        return sum;
    }

    double of_staircase() {
        find_steps();
        const auto step_at = [this](auto is_before) {
            const auto found = std::partition_point(steps_.begin(), steps_.end(), is_before);
            return static_cast<std::size_t>(found - steps_.begin());
        };
        double sum = 0.0;
        for (std::size_t box = 0; box < this->boxes_.count(); ++box) {
            const double left = this->boxes_.worse(0)[box];
            const double right = this->boxes_.better(0)[box];
            const double below = this->boxes_.worse(1)[box];
            const double above = this->boxes_.better(1)[box];
            if (!(left < right && below < above)) continue;
            // Among the steps beyond the right end the highest covers the others.
            const std::size_t beyond = step_at([=](const Step& step) { return step.x >= right; });
            const std::size_t higher = step_at([=](const Step& step) { return step.y <= below; });
            double area = 0.0;
            double height = 0.0;
            for (std::size_t k = std::max(beyond, higher + 1) - 1; k < steps_.size(); ++k) {
                this->poller_.step();
                const Step& step = steps_[k];
                if (!(step.x > left)) break;
                const double top = std::min(step.y, above) - below;
                area += (std::min(step.x, right) - left) * (top - height);
                if (step.y >= above) break;
                height = top;
            }
            sum += this->weight(box) * area;
        }
        return sum;
    }

    // The non-dominated candidates, in descending order of the first objective.
    void find_steps() {
        KeyOrder& order = *order_;
        order.keys.resize(this->count_);
        for (std::size_t i = 0; i < this->count_; ++i) {
            order.keys[i] = best_first(this->values_[2 * i], false);
        }
        order.sort();
        steps_.clear();
        for (std::size_t k = 0; k < this->count_; ++k) {
            const double* value = this->values_.data() + 2 * std::size_t{order.at(k)};
            const Step step{value[0], value[1]};
            if (steps_.empty() || step.y > steps_.back().y) {
                if (!steps_.empty() && steps_.back().x == step.x) steps_.pop_back();
                steps_.push_back(step);
            }
        }
    }

    // The union of both boxes, as the first one's exclusive part plus the whole second one.
    double of_two(const double* one, const double* other) const {
        double first = 1.0;
        double second = 1.0;
        double shared = 1.0;
        for (std::size_t m = 0; m < this->width_; ++m) {
            first *= one[m];
            second *= other[m];
            shared *= std::min(one[m], other[m]);
        }
        return std::max(first, second) + (std::min(first, second) - shared);
    }

    struct Step {
        double x, y;
    };

    double* improvements_;
    std::vector<Step> steps_;  // x descends, y ascends
    ThreadScratch<KeyOrder> order_;
};

template <typename Scalar>
class ImprovementGradient : GroupImprovement<Scalar> {
  public:
    ImprovementGradient(Batch<Scalar> candidates, BoxSets sets, FirstRefused* refused,
                        FirstRefused* refused_corner, double* gradient)
        : GroupImprovement<Scalar>(candidates, sets, refused, refused_corner),
          gradient_(gradient) {}

    void operator()(std::int64_t g) {
        const std::size_t width = this->width_;
        double* out = gradient_ + g * this->batch_.points * this->batch_.objectives;
        std::fill_n(out, static_cast<std::size_t>(this->batch_.points) * width, 0.0);
        if (!this->take(g)) return;
        slopes_.assign(this->count_ * width, 0.0);
        this->count_ == 1 ? of_one() : of_many();
        for (std::size_t i = 0; i < this->count_; ++i) {
            for (std::size_t m = 0; m < width; ++m) {
                out[static_cast<std::size_t>(this->index_[i]) * width + m] = turned_slope(
                    this->unscaled(slopes_[i * width + m], this->exponent_ - this->powers_[m]),
                    this->signs_[m]);
            }
        }
    }

  private:
    // In each objective the product of the other sides, over columns of boxes.
    void of_one() {
        const std::size_t width = this->width_;
        constexpr std::size_t block = kBoxesAtOnce;
        auto& sides = this->own_;
        sides.resize(width * block);
        others_.resize(width * block);
        for (std::size_t first = 0; first < this->boxes_.count(); first += block) {
            this->poller_.step();
            const std::size_t size = std::min(block, this->boxes_.count() - first);
            for (std::size_t m = 0; m < width; ++m) {
                const double value = this->values_[m];
                const double shortest = this->shortest_[m];
                const double* worse = this->boxes_.worse(m) + first;
                const double* better = this->boxes_.better(m) + first;
                double* own = sides.data() + m * block;
                double* product = others_.data() + m * block;
                for (std::size_t b = 0; b < size; ++b) {
                    const double side = (value < better[b] ? value : better[b]) - worse[b];
                    own[b] = side > shortest ? side : shortest;
                    product[b] = value <= better[b] && side > shortest ? 1.0 : 0.0;
                }
            }
            for (std::size_t m = 0; m < width; ++m) {
                double* product = others_.data() + m * block;
                for (std::size_t k = 0; k < width; ++k) {
                    if (k == m) continue;
                    const double* own = sides.data() + k * block;
                    for (std::size_t b = 0; b < size; ++b) product[b] *= own[b];
                }
            }
            for (std::size_t b = 0; b < size; ++b) {
                const double weight = this->weight(first + b);
                for (std::size_t m = 0; m < width; ++m) {
                    slopes_[m] += weight * others_[m * block + b];
                }
            }
        }
    }

    void of_many() {
        this->own_.resize(this->count_ * this->width_);
        is_inside_.resize(this->count_);
        for (std::size_t box = 0; box < this->boxes_.count(); ++box) {
            this->poller_.step();
            bool any = false;
            for (std::size_t i = 0; i < this->count_; ++i) {
                is_inside_[i] = this->cut(box, i, this->own_.data() + i * this->width_);
                any = any || is_inside_[i];
            }
            if (any) add_facets(box);
        }
    }

    // A candidate beyond the box does not end in it: its facet is in another box, or in none.
    void add_facets(std::size_t box) {
        const std::size_t width = this->width_;
        for (std::size_t i = 0; i < this->count_; ++i) {
            if (!is_inside_[i]) continue;
            for (std::size_t m = 0; m < width; ++m) {
                if (!this->ends_in(m, this->values_[i * width + m], box)) continue;
                slopes_[i * width + m] += this->weight(box) * facet(i, m);
            }
        }
    }

    double facet(std::size_t i, std::size_t m) {
        const std::size_t width = this->width_;
        others_.clear();
        point_.clear();
        for (std::size_t j = 0; j < this->count_; ++j) {
            if (j == i || !is_inside_[j] || !is_before(j, i, m)) continue;
            if (width == 1) return 0.0;
            for (std::size_t k = 0; k < width; ++k) {
                if (k != m) others_.push_back(this->own_[j * width + k]);
            }
        }
        double whole = 1.0;
        for (std::size_t k = 0; k < width; ++k) {
            if (k == m) continue;
            point_.push_back(this->own_[i * width + k]);
            whole *= point_.back();
        }
        if (others_.empty()) return whole;
        return this->facet_.exclusive(point_.data(), others_.data(), others_.size() / (width - 1));
    }

    bool is_before(std::size_t j, std::size_t i, std::size_t m) const {
        const double other = this->values_[j * this->width_ + m];
        const double own = this->values_[i * this->width_ + m];
        return other > own || (other == own && j < i);
    }

    double* gradient_;
    std::vector<double> slopes_, others_, point_;  // slopes: (count, objectives)
    std::vector<char> is_inside_;                  // (count,), for the current box
};

// An estimate, in ns, for the choice of threads.
template <typename Scalar>
double improvement_cost(const Batch<Scalar>& candidates, const BoxSets& boxes) {
    const double q = candidates.points;
    return static_cast<double>(boxes.count) * candidates.objectives * (1.0 + q * (q - 1.0));
}

}  // namespace

template <typename Scalar>
RefusedImprovement hypervolume_improvement(Batch<Scalar> candidates, BoxSets boxes,
                                           double* improvements) {
    FirstRefused refused;
    FirstRefused refused_corner;
    for_each_group(candidates.groups, improvement_cost(candidates, boxes),
                   Improvement<Scalar>(candidates, boxes, &refused, &refused_corner, improvements));
    return {refused.index(), refused_corner.index()};
}

template <typename Scalar>
RefusedImprovement hypervolume_improvement_gradient(Batch<Scalar> candidates, BoxSets boxes,
                                                    double* gradient) {
    FirstRefused refused;
    FirstRefused refused_corner;
    for_each_group(
        candidates.groups, 4.0 * improvement_cost(candidates, boxes),
        ImprovementGradient<Scalar>(candidates, boxes, &refused, &refused_corner, gradient));
    return {refused.index(), refused_corner.index()};
}

template RefusedImprovement hypervolume_improvement(Batch<float>, BoxSets, double*);
template RefusedImprovement hypervolume_improvement(Batch<double>, BoxSets, double*);
template RefusedImprovement hypervolume_improvement_gradient(Batch<float>, BoxSets, double*);
template RefusedImprovement hypervolume_improvement_gradient(Batch<double>, BoxSets, double*);

}  // namespace paretopo::cpu
