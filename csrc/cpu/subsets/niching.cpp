#include "cpu/subsets/niching.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace paretopo::cpu {

void Niching::choose(std::vector<double>& values, std::size_t count, std::size_t leading,
                     std::size_t kept, std::size_t end, std::size_t wanted,
                     const double* directions, std::size_t niches, std::uint64_t seed,
                     std::vector<std::size_t>& chosen) {
    normalise(values.data(), count, leading);
    associate(values.data(), end, directions, niches);
    members_.assign(niches, 0);
    candidates_.resize(niches);
    for (auto& each : candidates_) each.clear();
    for (std::size_t i = 0; i < kept; ++i) ++members_[niche_[i]];
    for (std::size_t i = kept; i < end; ++i) candidates_[niche_[i]].push_back(i);

    Draws draws(seed);
    chosen.clear();
    while (chosen.size() < wanted) {
        poller_.step();
        emptiest_.clear();
        for (std::size_t niche = 0; niche < niches; ++niche) {
            if (candidates_[niche].empty()) continue;
            if (!emptiest_.empty() && members_[niche] > members_[emptiest_[0]]) continue;
            if (!emptiest_.empty() && members_[niche] < members_[emptiest_[0]]) emptiest_.clear();
            emptiest_.push_back(niche);
        }
        const std::size_t niche = emptiest_[draws.below(emptiest_.size())];
        auto& rows = candidates_[niche];
        auto row = rows.begin();
        if (members_[niche]++ == 0) {
            row = std::min_element(rows.begin(), rows.end(), [this](std::size_t a, std::size_t b) {
                return distance_[a] < distance_[b];
            });
        } else {
            row += static_cast<std::ptrdiff_t>(draws.below(rows.size()));
        }
        chosen.push_back(*row);
        rows.erase(row);
    }
}

// Distances from the ideal point, in units of the intercepts of a plane through the extreme points
// (Blank, Deb and Roy, 2019), at most of the worst point, as in pymoo. They are halved so that none
// overflows; only their ratios matter.
void Niching::normalise(double* values, std::size_t count, std::size_t leading) {
    ideal_.assign(width_, std::numeric_limits<double>::infinity());
    worst_.assign(width_, 0.0);
    for (std::size_t i = 0; i < count * width_; ++i) {
        ideal_[i % width_] = std::min(ideal_[i % width_], values[i] * 0.5);
    }
    for (std::size_t i = 0; i < count * width_; ++i) {
        values[i] = values[i] * 0.5 - ideal_[i % width_];
        worst_[i % width_] = std::max(worst_[i % width_], values[i]);
    }
    constexpr double kSmall = 1e-6;  // relative to the worst value: no span
    if (!find_intercepts(values, leading)) {
        span_.assign(width_, 0.0);
        for (std::size_t i = 0; i < leading * width_; ++i) {
            span_[i % width_] = std::max(span_[i % width_], values[i]);
        }
    }
    for (std::size_t m = 0; m < width_; ++m) {
        if (!(span_[m] > kSmall * worst_[m]) || span_[m] > worst_[m]) span_[m] = worst_[m];
        if (span_[m] == 0.0) span_[m] = 1.0;
    }
    for (std::size_t i = 0; i < count * width_; ++i) values[i] /= span_[i % width_];
}

// Fills `span_`; false if no plane has a positive intercept on every axis.
bool Niching::find_intercepts(const double* values, std::size_t leading) {
    constexpr double kAside = 1e6;  // the weight of the components orthogonal to an axis
    constexpr double kExact = 1e-5;
    constexpr double kSmall = 1e-6;
    const std::size_t stride = width_ + 1;
    plane_.assign(width_ * stride, 1.0);
    for (std::size_t axis = 0; axis < width_; ++axis) {
        const double* extreme = values;
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t i = 0; i < leading; ++i) {
            poller_.step();
            const double* row = values + i * width_;
            double farthest = 0.0;
            for (std::size_t m = 0; m < width_; ++m) {
                farthest = std::max(farthest, m == axis ? row[m] : kAside * row[m]);
            }
            if (farthest >= least) continue;
            least = farthest;
            extreme = row;
        }
        std::copy_n(extreme, width_, &plane_[axis * stride]);
    }
    extremes_ = plane_;
    for (std::size_t m = 0; m < width_; ++m) {
        check_interrupt();
        std::size_t pivot = m;
        for (std::size_t r = m + 1; r < width_; ++r) {
            if (std::abs(plane_[r * stride + m]) > std::abs(plane_[pivot * stride + m])) pivot = r;
        }
        if (plane_[pivot * stride + m] == 0.0) return false;
        std::swap_ranges(&plane_[m * stride], &plane_[m * stride] + stride,
                         &plane_[pivot * stride]);
        for (std::size_t r = m + 1; r < width_; ++r) {
            const double times = plane_[r * stride + m] / plane_[m * stride + m];
            for (std::size_t c = m; c < stride; ++c) {
                plane_[r * stride + c] -= times * plane_[m * stride + c];
            }
        }
    }
    span_.assign(width_, 0.0);
    for (std::size_t m = width_; m-- > 0;) {
        double left = plane_[m * stride + width_];
        for (std::size_t c = m + 1; c < width_; ++c) left -= plane_[m * stride + c] * span_[c];
        span_[m] = left / plane_[m * stride + m];
    }
    for (std::size_t r = 0; r < width_; ++r) {
        double sum = 0.0;
        for (std::size_t m = 0; m < width_; ++m) sum += extremes_[r * stride + m] * span_[m];
        if (!(std::abs(sum - 1.0) <= kExact)) return false;
    }
    for (std::size_t m = 0; m < width_; ++m) {
        span_[m] = 1.0 / span_[m];
        if (!(span_[m] > kSmall * worst_[m])) return false;
    }
    return true;
}

// Assigns each row to its nearest direction; among equally near ones the first.
void Niching::associate(const double* values, std::size_t count, const double* directions,
                        std::size_t niches) {
    niche_.assign(count, 0);
    distance_.assign(count, std::numeric_limits<double>::infinity());
    for (std::size_t i = 0; i < count; ++i) {
        const double* row = values + i * width_;
        for (std::size_t niche = 0; niche < niches; ++niche) {
            poller_.step();
            const double* direction = directions + niche * width_;
            double along = 0.0;
            for (std::size_t m = 0; m < width_; ++m) along += row[m] * direction[m];
            double aside = 0.0;
            for (std::size_t m = 0; m < width_; ++m) {
                const double gap = row[m] - along * direction[m];
                aside += gap * gap;
            }
            if (aside < distance_[i]) {
                distance_[i] = aside;
                niche_[i] = niche;
            }
        }
    }
}

}  // namespace paretopo::cpu
