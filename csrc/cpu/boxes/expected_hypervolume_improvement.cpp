// The expected hypervolume improvement of one candidate with independent Gaussian objectives.
//
// A candidate Y improves the hypervolume by the volume of the undominated region that it dominates.
// The expectation is therefore the integral of P(Y > t) over that region. In a box it is a product
// of one integral for each objective. With the mean m, the deviation s and z = (m - t) / s,
//
//   integral of P(Y > t) from a to b = (min(m, b) - min(m, a)) + (x(a) - x(b)),
//   x(t) = E[max(Y - t, 0)] - max(m - t, 0) = s (phi(z) - |z| Q(|z|)),
//
// with phi the density of a standard normal variable and Q(z) its probability above z. The first
// part is the side without noise, x is the effect of noise, and no x exceeds 0.4 s.
//
// x(a) - x(b) loses digits if the box is much shorter than s. The sum does not: the undominated
// region continues above the box, and the integral of P(Y > t) from a to infinity is at least x(a).
// An error of x(a) is thus a rounding of the result.
//
// Boxes share corners: x is computed once for each distinct number of an objective.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <vector>

#include "cpu/boxes/boxes.hpp"
#include "cpu/runtime/for_each_group.hpp"
#include "cpu/runtime/interrupt.hpp"
#include "cpu/runtime/thread_scratch.hpp"
#include "cpu/sorting/key_order.hpp"
#include "cpu/sorting/objective_order.hpp"
#include "cpu/volume/sides.hpp"
#include "formulas/sides.hpp"

namespace paretopo::cpu {
namespace {

// A standard normal variable Z at a distance from its mean.
struct Tail {
    double density, above, excess;  // above: P(Z > distance); excess: E[max(Z - distance, 0)]
};

Tail tail_at(double distance) {
    constexpr double kFarthest = 39.0;  // the density is 0 beyond it
    constexpr double kFar = 2.0;
    if (!(distance < kFarthest)) return {0.0, 0.0, 0.0};
    constexpr double kScale = std::numbers::inv_sqrtpi / std::numbers::sqrt2;
    const double square = distance * distance;
    const double rest = std::fma(distance, distance, -square);  // the rounding error of the square
    const double density = kScale * std::exp(-0.5 * square) * (1.0 - 0.5 * rest);
    if (distance < kFar) {
        const double above = 0.5 * std::erfc(distance / std::numbers::sqrt2);
        return {density, above, density - distance * above};
    }
    // There the difference would cancel. Laplace's continued fraction has positive terms only;
    // this many of them are exact to a rounding.
    double rise = distance;
    for (int k = 8 + static_cast<int>(600.0 / square); k > 1; --k) rise = distance + k / rise;
    const double above = density / (distance + 1.0 / rise);
    return {density, above, above / rise};
}

// The same from polynomials, several times faster than by exponentials: the Taylor series of the
// excess around the middle of each interval, whose derivatives are -above and the density.
class NearTails {
  public:
    static constexpr double kEnd = 8.0;

    static const NearTails& instance() {
        static const NearTails tails;
        return tails;
    }

    double excess_at(double distance) const {
        const auto [terms, step] = locate(distance);
        double sum = terms[kDegree];
        for (std::size_t n = kDegree; n-- > 0;) sum = sum * step + terms[n];
        return sum;
    }

    Tail at(double distance) const {
        const auto [terms, step] = locate(distance);
        double sum = terms[kDegree];
        double slope = 0.0;
        double half_bend = 0.0;
        for (std::size_t n = kDegree; n-- > 0;) {
            half_bend = half_bend * step + slope;
            slope = slope * step + sum;
            sum = sum * step + terms[n];
        }
        return {2.0 * half_bend, -slope, sum};
    }

  private:
    static constexpr std::size_t kPerUnit = 32;
    static constexpr std::size_t kDegree = 11;  // the next term is below a rounding
    using Terms = std::array<double, kDegree + 1>;

    NearTails() {
        for (std::size_t k = 0; k < series_.size(); ++k) {
            const double middle = (static_cast<double>(k) + 0.5) / kPerUnit;
            const Tail tail = tail_at(middle);
            series_[k][0] = tail.excess;
            series_[k][1] = -tail.above;
            double before = 0.0;  // Hermite polynomials
            double hermite = 1.0;
            double scale = tail.density;
            for (std::size_t n = 2; n <= kDegree; ++n) {
                scale /= n == 2 ? 2.0 : -static_cast<double>(n);
                series_[k][n] = hermite * scale;
                const double next = middle * hermite - static_cast<double>(n - 2) * before;
                before = hermite;
                hermite = next;
            }
        }
    }

    struct Place {
        const Terms& terms;
        double step;  // from the middle of the interval
    };

    Place locate(double distance) const {
        const auto k = static_cast<std::size_t>(distance * kPerUnit);
        return {series_[k], distance - (static_cast<double>(k) + 0.5) / kPerUnit};
    }

    std::array<Terms, static_cast<std::size_t>(kEnd) * kPerUnit> series_;
};

// The boxes of one set in one objective, larger is better, as places in a list of their corners.
struct Axis {
    std::vector<double> corners;         // distinct, ascending; infinity is one
    std::vector<std::int32_t> from, to;  // of each box
};

// A corner, measured for one candidate.
struct Level {
    double reached, noise;
};
struct LevelSlopes {
    double in_mean, in_deviation;
};

template <typename Scalar>
class ExpectedImprovement {
  public:
    // Writes either the improvements or the gradient.
    ExpectedImprovement(Batch<Scalar> candidates, BoxSets sets, FirstRefused* refused,
                        FirstRefused* refused_corner, double* improvements, double* gradient)
        : batch_(candidates),
          sets_(sets),
          refused_(refused),
          refused_corner_(refused_corner),
          improvements_(improvements),
          gradient_(gradient),
          width_(static_cast<std::size_t>(candidates.objectives)),
          axes_(width_),
          levels_(width_),
          slopes_(width_),
          powers_(width_) {
        for (std::int32_t m = 0; m < candidates.objectives; ++m) {
            signs_.push_back(candidates.is_minimised(m) ? -1.0 : 1.0);
        }
    }

    void operator()(std::int64_t g) {
        double* out = gradient_ ? gradient_ + g * 2 * batch_.objectives : improvements_ + g;
        std::fill_n(out, gradient_ ? 2 * width_ : 1, 0.0);
        if (!take(g) || sets_.count == 0) return;
        if (gradient_) {
            write_gradient(out);
        } else {
            *out = unscaled(improvement(), exponent_);
        }
    }

  private:
    static constexpr std::size_t kBlock = 64;

    // Measures the corners for a candidate; false if it is padding, or a value is refused.
    bool take(std::int64_t g) {
        const std::uint8_t* mask = batch_.group_mask(g);
        if (mask && mask[0] == 0) return false;
        const Scalar* mean = batch_.group(g);
        const Scalar* deviation = mean + width_;
        for (std::size_t m = 0; m < width_; ++m) {
            const bool is_mean = signs_[m] * static_cast<double>(mean[m]) <= kLargestSide;
            if (!is_mean) return !refused_->note(batch_, g, static_cast<std::int64_t>(m));
        }
        for (std::size_t m = 0; m < width_; ++m) {
            const auto number = static_cast<double>(deviation[m]);
            const bool is_deviation = number >= 0.0 && number <= kLargestSide;
            if (!is_deviation)
                return !refused_->note(batch_, g, static_cast<std::int64_t>(width_ + m));
        }
        const std::int64_t set = sets_.of_group ? sets_.of_group[g] : 0;
        if (set != taken_) {
            taken_ = -1;
            const std::int64_t corner = take_boxes(set);
            if (corner != kNoneRefused) {
                const Batch<double> corners{sets_.lower, nullptr, 1, 0, 0, 0};
                return !refused_corner_->note(corners, 0, corner);
            }
            taken_ = set;
        }
        weights_ = sets_.weights ? sets_.weights + set * sets_.count : nullptr;
        exponent_ = 0;
        for (std::size_t m = 0; m < width_ && sets_.count > 0; ++m) {
            measure(m, signs_[m] * static_cast<double>(mean[m]), static_cast<double>(deviation[m]));
        }
        return true;
    }

    // Returns the index of a corner that is refused, or kNoneRefused.
    std::int64_t take_boxes(std::int64_t set) {
        const auto count = static_cast<std::size_t>(sets_.count);
        const std::size_t first = static_cast<std::size_t>(set) * count * width_;
        ends_.resize(2 * count);
        KeyOrder& order = *order_;
        for (std::size_t m = 0; m < width_; ++m) {
            order.keys.resize(2 * count);
            for (std::size_t b = 0; b < count; ++b) {
                poller_.step();
                const std::size_t at = first + b * width_ + m;
                const double worse = signs_[m] < 0.0 ? -sets_.upper[at] : sets_.lower[at];
                const double better = signs_[m] < 0.0 ? -sets_.lower[at] : sets_.upper[at];
                if (!std::isfinite(worse) || std::isnan(better)) {
                    return static_cast<std::int64_t>(at);
                }
                ends_[2 * b] = worse;
                ends_[2 * b + 1] = std::max(worse, better);
                order.keys[2 * b] = best_first(ends_[2 * b], true);
                order.keys[2 * b + 1] = best_first(ends_[2 * b + 1], true);
            }
            order.sort();
            Axis& axis = axes_[m];
            axis.corners.clear();
            axis.from.resize(count);
            axis.to.resize(count);
            for (std::size_t k = 0; k < 2 * count; ++k) {
                const std::size_t end = order.at(k);
                if (!order.repeats(k)) axis.corners.push_back(ends_[end]);
                auto& places = end % 2 == 0 ? axis.from : axis.to;
                places[end / 2] = static_cast<std::int32_t>(axis.corners.size() - 1);
            }
        }
        return kNoneRefused;
    }

    void measure(std::size_t m, double mean, double deviation) {
        const std::vector<double>& corners = axes_[m].corners;
        std::vector<Level>& levels = levels_[m];
        levels.resize(corners.size());
        if (gradient_) slopes_[m].resize(corners.size());
        // Equal numbers have no difference, but may be too large for the units below.
        const bool is_above = mean > corners[0];
        for (std::size_t k = 0; k < corners.size(); ++k) {
            const double gap = mean - corners[k];
            const double z = gap == 0.0 ? 0.0 : gap / deviation;
            const double distance = std::abs(z);
            const bool is_near = distance < NearTails::kEnd;
            double noise = 0.0;
            if (gradient_) {
                const Tail tail = is_near ? tails_.at(distance) : tail_at(distance);
                slopes_[m][k] = {z > 0.0 ? 1.0 - tail.above : tail.above, tail.density};
                noise = tail.excess;
            } else if (is_near) {
                noise = tails_.excess_at(distance);
            } else if (z < 0.0) {  // far below the mean it vanishes next to the side without noise
                noise = tail_at(distance).excess;
            }
            levels[k] = {is_above ? std::min(mean, corners[k]) : 0.0, deviation * noise};
        }
        const double without_noise = is_above ? mean - corners[0] : 0.0;
        const double longest = std::min(without_noise + levels[0].noise, kLargestSide);
        powers_[m] = excess_power(longest, batch_.objectives);
        if (powers_[m] == 0) return;
        exponent_ += powers_[m];
        for (Level& level : levels) {
            level.reached = std::ldexp(level.reached, -powers_[m]);
            level.noise = std::ldexp(level.noise, -powers_[m]);
        }
    }

    // The integral of P(Y > t) over a box's side.
    double side(std::size_t m, std::size_t box) const {
        const Level& from = levels_[m][static_cast<std::size_t>(axes_[m].from[box])];
        const Level& to = levels_[m][static_cast<std::size_t>(axes_[m].to[box])];
        return std::max((to.reached - from.reached) + (from.noise - to.noise), 0.0);
    }

    double improvement() {
        const auto count = static_cast<std::size_t>(sets_.count);
        double sum = 0.0;
        std::array<double, kBlock> volumes;
        for (std::size_t first = 0; first < count; first += kBlock) {
            poller_.step();
            const std::size_t size = std::min(kBlock, count - first);
            volumes.fill(1.0);
            for (std::size_t m = 0; m < width_; ++m) {
                for (std::size_t b = 0; b < size; ++b) volumes[b] *= side(m, first + b);
            }
            for (std::size_t b = 0; b < size; ++b) sum += weight(first + b) * volumes[b];
        }
        return sum;
    }

    // out: (2, objectives), with respect to the means and the deviations.
    void write_gradient(double* out) {
        sides_.resize(width_);
        before_.resize(width_);
        for (std::size_t box = 0; box < static_cast<std::size_t>(sets_.count); ++box) {
            poller_.step();
            double product = weight(box);
            for (std::size_t m = 0; m < width_; ++m) {
                sides_[m] = side(m, box);
                before_[m] = product;
                product *= sides_[m];
            }
            product = 1.0;
            for (std::size_t m = width_; m-- > 0;) {
                const double others = before_[m] * product;
                const LevelSlopes& from = slopes_[m][static_cast<std::size_t>(axes_[m].from[box])];
                const LevelSlopes& to = slopes_[m][static_cast<std::size_t>(axes_[m].to[box])];
                out[m] += others * (from.in_mean - to.in_mean);
                out[width_ + m] += others * (from.in_deviation - to.in_deviation);
                product *= sides_[m];
            }
        }
        for (std::size_t m = 0; m < width_; ++m) {
            out[m] = turned_slope(unscaled(out[m], exponent_ - powers_[m]), signs_[m]);
            out[width_ + m] = unscaled(out[width_ + m], exponent_ - powers_[m]);
        }
    }

    double weight(std::size_t box) const { return weights_ ? weights_[box] : 1.0; }

    static double unscaled(double number, int power) {
        return power == 0 ? number : std::ldexp(number, power);
    }

    Batch<Scalar> batch_;  // a candidate to each group: its means, then its deviations
    BoxSets sets_;
    FirstRefused* refused_;
    FirstRefused* refused_corner_;
    double* improvements_;
    double* gradient_;
    std::size_t width_;
    std::vector<double> signs_;
    std::int64_t taken_ = -1;
    const double* weights_ = nullptr;  // of the boxes; null: 1
    // For each objective:
    std::vector<Axis> axes_;
    std::vector<std::vector<Level>> levels_;
    std::vector<std::vector<LevelSlopes>> slopes_;  // of the integral above a corner
    std::vector<int> powers_;                       // sides are in units of 2^power
    int exponent_ = 0;                              // the sum of the powers
    std::vector<double> ends_, sides_, before_;
    const NearTails& tails_ = NearTails::instance();
    ThreadScratch<KeyOrder> order_;
    Poller poller_;
};

template <typename Scalar>
RefusedImprovement measure_candidates(Batch<Scalar> candidates, BoxSets boxes, double* improvements,
                                      double* gradient) {
    constexpr double kSideCost = 4.0;  // ns
    FirstRefused refused;
    FirstRefused refused_corner;
    for_each_group(candidates.groups,
                   kSideCost * static_cast<double>(boxes.count) * candidates.objectives,
                   ExpectedImprovement<Scalar>(candidates, boxes, &refused, &refused_corner,
                                               improvements, gradient));
    return {refused.index(), refused_corner.index()};
}

}  // namespace

template <typename Scalar>
RefusedImprovement expected_hypervolume_improvement(Batch<Scalar> candidates, BoxSets boxes,
                                                    double* improvements) {
    return measure_candidates(candidates, boxes, improvements, nullptr);
}

template <typename Scalar>
RefusedImprovement expected_hypervolume_improvement_gradient(Batch<Scalar> candidates,
                                                             BoxSets boxes, double* gradient) {
    return measure_candidates(candidates, boxes, nullptr, gradient);
}

template RefusedImprovement expected_hypervolume_improvement(Batch<float>, BoxSets, double*);
template RefusedImprovement expected_hypervolume_improvement(Batch<double>, BoxSets, double*);
template RefusedImprovement expected_hypervolume_improvement_gradient(Batch<float>, BoxSets,
                                                                      double*);
template RefusedImprovement expected_hypervolume_improvement_gradient(Batch<double>, BoxSets,
                                                                      double*);

}  // namespace paretopo::cpu
