// Sides of points on a GPU: the reference by value, refused values, and scales of single sides.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include "batch.hpp"
#include "formulas/sides.hpp"
#include "gpu/launch/limits.hpp"
#include "portability.hpp"

namespace paretopo::gpu {

inline constexpr int kMaxSides = 16;  // objectives of a volume on a GPU
inline constexpr double kNoVolume = std::numeric_limits<double>::quiet_NaN();

// The reference point, passed by value with the launch.
struct Reference {
    double at[kMaxSides];
};

inline Reference reference_of(const double* ref, std::int32_t objectives) {
    Reference by_value{};
    for (std::int32_t m = 0; m < objectives && m < kMaxSides; ++m) by_value.at[m] = ref[m];
    return by_value;
}

// The side of a value, both value and reference as given.
PARETOPO_HD inline double side_as_given(double value, double ref, bool minimised) {
    return side_of(oriented(value, minimised), oriented(ref, minimised));
}

// True if point i is present and has a value that is refused. corner(m): the reference of the
// group, as given.
template <typename Scalar, typename Corner>
PARETOPO_HD bool is_refused_point(const Batch<Scalar>& batch, std::int64_t g, std::int64_t i,
                                  Corner corner) {
    const std::uint8_t* mask = batch.group_mask(g);
    if (mask && mask[i] == 0) return false;
    const Scalar* point = batch.group(g) + i * batch.objectives;
    for (std::int32_t m = 0; m < batch.objectives; ++m) {
        const bool minimised = batch.is_minimised(m);
        if (is_refused(oriented(point[m], minimised), oriented(corner(m), minimised))) return true;
    }
    return false;
}

// A power of two that scales a side to about 1 if its size would endanger products.
struct Scale {
    double factor;  // multiplies the side
    int power;      // the product is to be multiplied by 2^power

    PARETOPO_HD static Scale of(double side) {
        const int power = excess_power(side, kMaxSides);
        if (power == 0) return {1.0, 0};
        const int near = power > 1000 ? 1000 : (power < -1000 ? -1000 : power);
        return {ldexp(1.0, -near), near};
    }
};

// Throws for sets that exceed a warp's shared memory; the error states the limit.
template <typename Job>
void check_shared_bytes(const Job& job, const char* operation) {
    if (job.batch.objectives <= kMaxSides && job.shared_bytes() <= kSharedBytes) return;
    std::int32_t most = 0;
    if (job.batch.objectives <= kMaxSides) {
        Job smaller = job;
        for (smaller.batch.points = 1; smaller.shared_bytes() <= kSharedBytes;
             ++smaller.batch.points) {
            most = smaller.batch.points;
        }
    }
    throw std::invalid_argument(
        std::string(operation) + " on a GPU takes sets of up to " + std::to_string(most) +
        " points with " + std::to_string(job.batch.objectives) + " objectives (and up to " +
        std::to_string(kMaxSides) + " objectives), got " + std::to_string(job.batch.points) +
        ": move the points to the CPU, where sets of any size are measured");
}

// Sums the pieces of each set, in the order of its points.
struct SumOfPieces {
    const double* pieces;
    double* volumes;
    std::int32_t points;
    PARETOPO_HD void operator()(std::int64_t g) const {
        double sum = 0.0;
        for (std::int32_t i = 0; i < points; ++i) sum += pieces[g * points + i];
        volumes[g] = sum;
    }
};

}  // namespace paretopo::gpu
