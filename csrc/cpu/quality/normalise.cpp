#include "cpu/quality/normalise.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "cpu/runtime/for_each_group.hpp"
#include "cpu/runtime/interrupt.hpp"
#include "ops.hpp"

namespace paretopo::cpu {
namespace {

template <typename Scalar>
constexpr Scalar kNone = std::numeric_limits<Scalar>::quiet_NaN();

// An estimate, in ns, for the choice of threads.
template <typename Scalar>
double pass_cost(const Batch<Scalar>& batch) {
    return 10.0 + 1.0 * batch.points * batch.objectives;
}

// The best number of each objective among the present points; NaN is skipped.
template <typename Scalar>
void find_best(const Batch<Scalar>& batch, std::int64_t g, Scalar* best) {
    const Scalar* group = batch.group(g);
    const std::uint8_t* mask = batch.group_mask(g);
    const auto width = static_cast<std::size_t>(batch.objectives);
    std::fill_n(best, width, kNone<Scalar>);
    for_each_item(static_cast<std::size_t>(batch.points), [=](std::size_t i) {
        if (mask && mask[i] == 0) return;
        const Scalar* at = group + i * width;
        for (std::int32_t m = 0; m < batch.objectives; ++m) {
            const bool is_worse = batch.is_minimised(m) ? at[m] >= best[m] : at[m] <= best[m];
            if (!is_worse && at[m] == at[m]) best[m] = at[m];
        }
    });
}

// The worst value of each objective among the chosen points; NaN is the worst of all.
template <typename Scalar>
void find_worst(const Batch<Scalar>& batch, std::int64_t g, const std::uint8_t* chosen,
                Scalar* worst) {
    const Scalar* group = batch.group(g);
    const auto width = static_cast<std::size_t>(batch.objectives);
    bool is_first = true;
    std::fill_n(worst, width, kNone<Scalar>);
    for_each_item(static_cast<std::size_t>(batch.points), [&](std::size_t i) {
        if (chosen[i] == 0) return;
        const Scalar* at = group + i * width;
        for (std::int32_t m = 0; m < batch.objectives; ++m) {
            const bool is_better = batch.is_minimised(m) ? at[m] < worst[m] : at[m] > worst[m];
            const bool is_settled = worst[m] != worst[m] || is_better || at[m] == worst[m];
            if (is_first || !is_settled) worst[m] = at[m];
        }
        is_first = false;
    });
}

// One objective of one group.
template <typename Scalar>
class Range {
  public:
    Range(Scalar one, Scalar other) {
        const bool is_known = one == one && other == other;
        least_ = is_known ? std::min(one, other) : kNone<Scalar>;
        const Scalar most = is_known ? std::max(one, other) : kNone<Scalar>;
        span_ = most - least_;
        half_ = most * Scalar(0.5) - least_ * Scalar(0.5);
        fits_ = !std::isinf(span_);
        if (most == least_) span_ = Scalar(1);  // also if both are infinite
        if (most == least_ || half_ == Scalar(0)) half_ = Scalar(0.5);
    }

    Scalar scale(Scalar value) const {
        const Scalar above = value - least_;
        if (fits_ && !std::isinf(above)) return above / span_;
        // Uses halves if the range overflows.
        return (value * Scalar(0.5) - least_ * Scalar(0.5)) / half_;
    }

  private:
    Scalar least_, span_, half_;
    bool fits_;
};

// Strictly worse than `nadir` if `part` is positive, and finite if such a number is.
template <typename Scalar>
Scalar move_away(Scalar nadir, Scalar best, double part, bool is_minimised) {
    if (part == 0.0) return nadir;
    constexpr Scalar kInfinity = std::numeric_limits<Scalar>::infinity();
    const Scalar sign = is_minimised ? Scalar(-1) : Scalar(1);
    const auto share = static_cast<Scalar>(part);
    Scalar span = std::abs(best - nadir);
    if (span == Scalar(0)) span = std::abs(nadir);  // if all points share one value
    if (span == Scalar(0)) span = Scalar(1);
    const Scalar beyond = std::isinf(span) ? std::abs(share * best - share * nadir) : share * span;
    const Scalar nearest = sign * std::nextafter(nadir, -sign * kInfinity);
    const Scalar corner = std::min(sign * nadir - beyond, nearest);
    const bool overflows = std::isinf(corner) && !std::isinf(nearest);
    return sign * (overflows ? std::numeric_limits<Scalar>::lowest() : corner);
}

template <typename Scalar>
std::vector<std::uint8_t> find_fronts(const Batch<Scalar>& batch) {
    std::vector<std::uint8_t> chosen(static_cast<std::size_t>(batch.groups) *
                                     static_cast<std::size_t>(batch.points));
    is_nondominated(batch, true, chosen.data());
    return chosen;
}

}  // namespace

template <typename Scalar>
void ideal_point(Batch<Scalar> batch, Scalar* corners) {
    for_each_group(batch.groups, pass_cost(batch),
                   [=](std::int64_t g) { find_best(batch, g, corners + g * batch.objectives); });
}

template <typename Scalar>
void nadir_point(Batch<Scalar> batch, Scalar* corners) {
    const std::vector<std::uint8_t> chosen = find_fronts(batch);
    for_each_group(batch.groups, pass_cost(batch), [=, from = chosen.data()](std::int64_t g) {
        find_worst(batch, g, from + g * batch.points, corners + g * batch.objectives);
    });
}

template <typename Scalar>
void reference_point(Batch<Scalar> batch, double part, Scalar* corners) {
    const auto width = static_cast<std::size_t>(batch.objectives);
    const std::vector<std::uint8_t> chosen = find_fronts(batch);
    const auto work = [=, from = chosen.data(),
                       best = std::vector<Scalar>(width)](std::int64_t g) mutable {
        Scalar* corner = corners + g * batch.objectives;
        find_best(batch, g, best.data());
        find_worst(batch, g, from + g * batch.points, corner);
        for (std::size_t m = 0; m < width; ++m) {
            corner[m] =
                move_away(corner[m], best[m], part, batch.is_minimised(static_cast<int>(m)));
        }
    };
    for_each_group(batch.groups, 2.0 * pass_cost(batch), work);
}

template <typename Scalar>
void normalise(Batch<Scalar> batch, const double* ideal, const double* nadir, Scalar* scaled) {
    std::vector<std::uint8_t> chosen;
    if (!nadir) chosen = find_fronts(batch);
    const auto width = static_cast<std::size_t>(batch.objectives);
    const auto work = [=, from = chosen.data(), best = std::vector<Scalar>(width),
                       worst = std::vector<Scalar>(width),
                       ranges = std::vector<Range<Scalar>>()](std::int64_t g) mutable {
        if (!ideal) find_best(batch, g, best.data());
        if (!nadir) find_worst(batch, g, from + g * batch.points, worst.data());
        ranges.clear();
        for (std::size_t m = 0; m < width; ++m) {
            ranges.emplace_back(ideal ? static_cast<Scalar>(ideal[m]) : best[m],
                                nadir ? static_cast<Scalar>(nadir[m]) : worst[m]);
        }
        const Scalar* at = batch.group(g);
        Scalar* to = scaled + (at - batch.values);
        for_each_item(static_cast<std::size_t>(batch.points), [&](std::size_t i) {
            for (std::size_t m = 0; m < width; ++m) {
                to[i * width + m] = ranges[m].scale(at[i * width + m]);
            }
        });
    };
    for_each_group(batch.groups, 4.0 * pass_cost(batch), work);
}

template void ideal_point(Batch<float>, float*);
template void ideal_point(Batch<double>, double*);
template void nadir_point(Batch<float>, float*);
template void nadir_point(Batch<double>, double*);
template void reference_point(Batch<float>, double, float*);
template void reference_point(Batch<double>, double, double*);
template void normalise(Batch<float>, const double*, const double*, float*);
template void normalise(Batch<double>, const double*, const double*, double*);

}  // namespace paretopo::cpu
