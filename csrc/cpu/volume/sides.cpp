#include "cpu/volume/sides.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "formulas/sides.hpp"

namespace paretopo::cpu {

template <typename Scalar>
std::int64_t Sides::measure(const Batch<Scalar>& batch, std::int64_t g, const double* ref) {
    switch (batch.objectives) {
        case 2:
            return measure_in<2>(batch, g, ref);
        case 3:
            return measure_in<3>(batch, g, ref);
        case 4:
            return measure_in<4>(batch, g, ref);
        case 5:
            return measure_in<5>(batch, g, ref);
        default:
            return measure_in<0>(batch, g, ref);
    }
}

template <int kObjectives, typename Scalar>
std::int64_t Sides::measure_in(const Batch<Scalar>& batch, std::int64_t g, const double* ref) {
    const Scalar* group = batch.group(g);
    const std::uint8_t* mask = batch.group_mask(g);
    const std::int32_t objectives = kObjectives > 0 ? kObjectives : batch.objectives;
    const auto width = static_cast<std::size_t>(objectives);
    values.resize(static_cast<std::size_t>(batch.points) * width);
    index.resize(static_cast<std::size_t>(batch.points));
    if constexpr (kObjectives > 0) {
        if (!mask && measure_all<kObjectives>(batch, g, ref)) return kNoneRefused;
    }
    count = 0;
    std::size_t inside = 0;
    double* row = values.data();
    for (std::int32_t i = 0; i < batch.points; ++i) {
        if (mask && mask[i] == 0) continue;
        bool is_inside = true;
        for (std::int32_t m = 0; m < objectives; ++m) {
            const std::int64_t at = std::int64_t{i} * objectives + m;
            const double sign = batch.is_minimised(m) ? -1.0 : 1.0;  // no branch, unlike oriented
            const double value = sign * static_cast<double>(group[at]);
            const double corner = sign * ref[m];
            if (is_refused(value, corner)) {
                if (!(value <= kLargestSide)) return at;
                return measure_in_halves(batch, g, ref);
            }
            const double side = value - corner;
            is_inside &= side > 0.0;
            row[m] = side;
        }
        index[inside] = i;
        inside += is_inside;
        row += is_inside ? width : 0;
    }
    count = inside;
    scale(batch.objectives);
    return kNoneRefused;
}

// The usual case: every point is inside, and nothing is to be scaled. Stops at the first block of
// points that shows the contrary.
template <int kObjectives, typename Scalar>
bool Sides::measure_all(const Batch<Scalar>& batch, std::int64_t g, const double* ref) {
    constexpr std::size_t kBlock = 256;  // points
    constexpr std::size_t kWidth = kObjectives;
    const Scalar* group = batch.group(g);
    const auto points = static_cast<std::size_t>(batch.points);
    if (points == 0) return false;
    double signs[kWidth];
    double corners[kWidth];
    for (std::size_t m = 0; m < kWidth; ++m) {
        signs[m] = batch.is_minimised(static_cast<int>(m)) ? -1.0 : 1.0;
        corners[m] = signs[m] * ref[m];
    }
    // The bits of positive doubles are in their order. The highest bit of a difference therefore
    // marks a side that is not positive, too large or NaN.
    const auto bits_of_most =
        std::bit_cast<std::uint64_t>(std::ldexp(1.0, safe_power(kObjectives)));
    double* const sides = values.data();
    for (std::size_t first = 0; first < points; first += kBlock) {
        const std::size_t end = std::min(first + kBlock, points);
        std::uint64_t differences = 0;
        for (std::size_t i = first; i < end; ++i) {
            for (std::size_t m = 0; m < kWidth; ++m) {
                const std::size_t at = i * kWidth + m;
                const double side = signs[m] * static_cast<double>(group[at]) - corners[m];
                const auto bits = std::bit_cast<std::uint64_t>(side);
                differences |= bits | (bits - 1) | (bits_of_most - bits);
                sides[at] = side;
            }
        }
        if (std::bit_cast<std::int64_t>(differences) < 0) return false;
    }
    if (!starts_large(kObjectives)) return false;
    std::iota(index.begin(), index.end(), 0);
    count = points;
    exponent = 0;
    return true;
}

// If a distance exceeds the largest double, its half does not.
template <typename Scalar>
std::int64_t Sides::measure_in_halves(const Batch<Scalar>& batch, std::int64_t g,
                                      const double* ref) {
    const auto width = static_cast<std::size_t>(batch.objectives);
    const std::size_t size = static_cast<std::size_t>(batch.points) * width;
    const Scalar* group = batch.group(g);
    std::vector<double> units(width, 1.0);
    for (std::size_t at = 0; at < size; ++at) {
        const double distance = static_cast<double>(group[at]) - ref[at % width];
        if (std::isinf(distance)) units[at % width] = 0.5;
    }
    std::vector<double> halves(size);
    std::vector<double> corner(ref, ref + width);
    for (std::size_t at = 0; at < size; ++at) {
        halves[at] = units[at % width] * static_cast<double>(group[at]);
    }
    for (std::size_t m = 0; m < width; ++m) corner[m] *= units[m];
    const Batch<double> halved{halves.data(), batch.group_mask(g), 1,
                               batch.points,  batch.objectives,    batch.minimised};
    const std::int64_t refused = measure(halved, 0, corner.data());
    for (const double unit : units) exponent += unit < 1.0 ? 1 : 0;
    return refused;
}

// Products of sides must neither overflow nor vanish on the way to a representable result. Scaling
// by powers of two is exact, so that scaling only when needed changes no result.
void Sides::scale(std::int32_t objectives) {
    const auto width = static_cast<std::size_t>(objectives);
    exponent = 0;
    const auto excess_of = [&](std::size_t m) {
        double largest = 0.0;
        for (std::size_t i = 0; i < count; ++i) {
            largest = std::max(largest, values[i * width + m]);
        }
        return excess_power(largest, objectives);
    };
    if (is_plainly_safe(objectives)) return;
    bool is_safe = true;
    for (std::size_t m = 0; m < width; ++m) is_safe = is_safe && excess_of(m) == 0;
    if (is_safe || has_safe_boxes(width)) return;
    for (std::size_t m = 0; m < width; ++m) {
        const int power = excess_of(m);
        if (power == 0) continue;
        exponent += power;
        for (std::size_t i = 0; i < count; ++i) {
            double& side = values[i * width + m];
            side = std::ldexp(side, -power);
        }
    }
}

// The usual case: no side is too large, and none of the first point too small.
bool Sides::is_plainly_safe(std::int32_t objectives) const {
    const double most = std::ldexp(1.0, safe_power(objectives));
    const auto width = static_cast<std::size_t>(objectives);
    // The bits of positive doubles are in their order: a negative difference marks a side that is
    // too large.
    const auto bits_of_most = std::bit_cast<std::int64_t>(most);
    std::int64_t differences = 0;
    for (std::size_t i = 0; i < count * width; ++i) {
        differences |= bits_of_most - std::bit_cast<std::int64_t>(values[i]);
    }
    return differences >= 0 && (count == 0 || starts_large(objectives));
}

// Is no side of the first point too small? Then no objective's largest side is, and only those
// decide on scaling.
bool Sides::starts_large(std::int32_t objectives) const {
    const double least = std::ldexp(1.0, -safe_power(objectives));
    bool is_large = true;
    for (std::int32_t m = 0; m < objectives; ++m) is_large &= values[m] >= least;
    return is_large;
}

// True if every product of sides of one point stays in the range of doubles. Then so do all sums,
// and scaling could only harm: if one point is huge in an objective, others may vanish.
bool Sides::has_safe_boxes(std::size_t width) const {
    const std::int64_t kMax = 1020 - std::bit_width(count);  // a sum over points grows, too
    for (std::size_t i = 0; i < count; ++i) {
        std::int64_t up = 0;
        std::int64_t down = 0;
        for (std::size_t m = 0; m < width; ++m) {
            const int power = std::ilogb(values[i * width + m]);
            (power > 0 ? up : down) += power;
        }
        if (up > kMax || down < -kMax) return false;
    }
    return true;
}

template std::int64_t Sides::measure(const Batch<float>&, std::int64_t, const double*);
template std::int64_t Sides::measure(const Batch<double>&, std::int64_t, const double*);

}  // namespace paretopo::cpu
