// Estimates the hypervolume from random directions, each drawn from the box of a point that is
// chosen with probability proportional to its volume. The distance at which a ray leaves every box
// is computed exactly. With r_i the distance to the end of box i and V the sum of the boxes, V max
// r^m / sum r^m has the hypervolume as its mean, and never exceeds V: docs/mathematics.md.
//
// The directions of one replicate are a randomly shifted Kronecker lattice. Each replicate is
// unbiased and replicates are independent, so that their spread gives the error.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "cpu/lanes/isa.hpp"
#include "cpu/lanes/quality.hpp"
#include "cpu/quality/indicators.hpp"
#include "cpu/runtime/for_each_group.hpp"
#include "cpu/runtime/interrupt.hpp"
#include "cpu/volume/hypervolume_of_sides.hpp"
#include "cpu/volume/sides.hpp"

namespace paretopo::cpu {
namespace {

// The generator of Steele, Lea and Flood (2014): a number for each index.
std::uint64_t scramble(std::uint64_t seed, std::uint64_t index) {
    std::uint64_t bits = seed + (index + 1) * 0x9e3779b97f4a7c15;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
    return bits ^ (bits >> 31);
}

// Strictly between 0 and 1.
double uniform(std::uint64_t bits) { return (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52; }

// Generators of the lattice: powers of one over the root of x^(d + 1) = x + 1, as fractions of
// 2^64.
std::vector<std::uint64_t> lattice_steps(std::size_t dimensions) {
    double root = 2.0;
    const double power = 1.0 / static_cast<double>(dimensions + 1);
    for (int turn = 0; turn < 64; ++turn) root = std::pow(1.0 + root, power);
    std::vector<std::uint64_t> steps;
    double step = 1.0;
    for (std::size_t d = 0; d < dimensions; ++d) {
        step /= root;
        steps.push_back(static_cast<std::uint64_t>(std::ldexp(step, 64)));
    }
    return steps;
}

// The replicates of one group share these.
struct Scale {
    int exponent = 0;  // volumes are to be multiplied by 2^exponent
    double rounding = 0.0;
};

template <typename Scalar>
class Estimate {
  public:
    Estimate(Batch<Scalar> batch, const double* ref, std::int64_t samples, std::uint64_t seed,
             double* means, Scale* scales, FirstRefused* refused)
        : batch_(batch),
          ref_(ref),
          samples_(samples),
          seed_(seed),
          means_(means),
          scales_(scales),
          refused_(refused),
          width_(static_cast<std::size_t>(batch.objectives)),
          steps_(lattice_steps(width_)),
          inverses_(width_ * kDirections),
          volume_(batch.objectives) {}

    void operator()(std::int64_t part) {
        const std::int64_t g = part / kReplicates;
        if (g != held_) {
            held_ = g;
            is_refused_ = !take(g);
        }
        if (is_refused_) return;
        if (part % kReplicates == 0) scales_[g] = {sides_.exponent, rounding()};
        means_[part] = replicate(static_cast<std::uint64_t>(part % kReplicates));
    }

  private:
    bool take(std::int64_t g) {
        if (refused_->note(batch_, g, sides_.measure(batch_, g, ref_))) return false;
        kept_.resize(sides_.count);
        if (sides_.count > 0) {
            volume_.nondominated(sides_.values.data(), sides_.count, kept_.data());
        }
        std::size_t count = 0;
        until_.clear();
        double total = 0.0;
        for (std::size_t i = 0; i < sides_.count; ++i) {
            if (kept_[i] == 0) continue;
            double box = 1.0;
            for (std::size_t m = 0; m < width_; ++m) {
                const double side = sides_.values[i * width_ + m];
                sides_.values[count * width_ + m] = side;
                box *= side;
            }
            total += box;
            until_.push_back(total);
            ++count;
        }
        sides_.count = count;
        scratch_.resize(8 * count);
        return true;
    }

    // Bounds the relative error of `replicate`: sums over samples and boxes, products of sides.
    double rounding() const {
        const auto steps = static_cast<double>(samples_) + 2.0 * static_cast<double>(sides_.count) +
                           10.0 * static_cast<double>(width_);
        return steps * std::numeric_limits<double>::epsilon() / 2.0;
    }

    double replicate(std::uint64_t index) {
        const double total = until_.empty() ? 0.0 : until_.back();
        if (!(total > 0.0)) return 0.0;
        std::vector<std::uint64_t> place;
        for (std::size_t d = 0; d < width_; ++d) {
            place.push_back(scramble(scramble(seed_, index), d));
        }
        std::array<double, kDirections> shares;
        double sum = 0.0;
        for (std::int64_t first = 0; first < samples_; first += kDirections) {
            check_interrupt();
            for (std::size_t s = 0; s < kDirections; ++s) {
                aim(place, s);
                for (std::size_t d = 0; d < width_; ++d) place[d] += steps_[d];
            }
            kernels().indicators.share_rays(sides_.values.data(), sides_.count, batch_.objectives,
                                            inverses_.data(), scratch_.data(), shares.data());
            const std::int64_t end = std::min<std::int64_t>(kDirections, samples_ - first);
            for (std::int64_t s = 0; s < end; ++s) sum += shares[static_cast<std::size_t>(s)];
        }
        return total * (sum / static_cast<double>(samples_));
    }

    // A direction towards a random point of a box. The box is chosen by its volume, then one of the
    // faces away from the reference, whose cones have equal volumes, then a point of that face.
    void aim(const std::vector<std::uint64_t>& place, std::size_t column) {
        const double at = uniform(place[0]) * until_.back();
        const auto found = std::upper_bound(until_.begin(), until_.end() - 1, at);
        const auto box = static_cast<std::size_t>(found - until_.begin());
        const double low = box == 0 ? 0.0 : until_[box - 1];
        const double within = (at - low) / (until_[box] - low);
        const auto face =
            std::min(width_ - 1,
                     static_cast<std::size_t>(std::max(within, 0.0) * static_cast<double>(width_)));
        std::size_t d = 1;
        for (std::size_t m = 0; m < width_; ++m) {
            const double part = m == face ? 1.0 : uniform(place[d++]);
            inverses_[m * kDirections + column] = 1.0 / (part * sides_.values[box * width_ + m]);
        }
    }

    Batch<Scalar> batch_;
    const double* ref_;
    std::int64_t samples_;
    std::uint64_t seed_;
    double* means_;
    Scale* scales_;
    FirstRefused* refused_;
    std::size_t width_;
    std::vector<std::uint64_t> steps_;
    Sides sides_;
    std::vector<std::uint8_t> kept_;
    std::vector<double> until_;  // cumulative volumes of the boxes
    std::vector<double> inverses_, scratch_;
    HypervolumeOfSides volume_;
    std::int64_t held_ = -1;  // the group whose sides are loaded
    bool is_refused_ = false;
};

}  // namespace

template <typename Scalar>
std::int64_t hypervolume_approx(Batch<Scalar> batch, const double* ref, std::int64_t samples,
                                std::uint64_t seed, double* values, double* errors) {
    std::vector<double> means(static_cast<std::size_t>(batch.groups) * kReplicates);
    std::vector<Scale> scales(static_cast<std::size_t>(batch.groups));
    FirstRefused refused;
    const double cost =
        1000.0 + static_cast<double>(samples) * (20.0 + 0.2 * batch.points * batch.objectives);
    for_each_group(
        batch.groups * kReplicates, cost,
        Estimate<Scalar>(batch, ref, samples, seed, means.data(), scales.data(), &refused));
    for (std::int64_t g = 0; g < batch.groups; ++g) {
        const double* own = means.data() + g * kReplicates;
        double mean = 0.0;
        for (int r = 0; r < kReplicates; ++r) mean += own[r] / kReplicates;
        double spread = 0.0;
        for (int r = 0; r < kReplicates; ++r) {
            const double apart = mean > 0.0 ? own[r] / mean - 1.0 : 0.0;
            spread += apart * apart;
        }
        const auto [exponent, rounding] = scales[static_cast<std::size_t>(g)];
        const double error = std::sqrt(spread / (kReplicates * (kReplicates - 1)));
        values[g] = std::ldexp(mean, exponent);
        errors[g] = std::isinf(values[g]) ? values[g]
                                          : std::ldexp(mean * std::max(error, rounding), exponent);
    }
    return refused.index();
}

template std::int64_t hypervolume_approx(Batch<float>, const double*, std::int64_t, std::uint64_t,
                                         double*, double*);
template std::int64_t hypervolume_approx(Batch<double>, const double*, std::int64_t, std::uint64_t,
                                         double*, double*);

}  // namespace paretopo::cpu
