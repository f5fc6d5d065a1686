// One group as sides: distances from the reference in the better direction, in double.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops.hpp"

namespace paretopo::cpu {

struct Sides {
    std::vector<double> values;       // (count, objectives), all positive
    std::vector<std::int32_t> index;  // where each row came from
    std::size_t count = 0;
    int exponent = 0;  // volumes of `values` are to be multiplied by 2^exponent

    // Keeps the points that are better than `ref` in every objective. Returns the index within the
    // group of a value that has no place in a volume (NaN, infinity on the better side), or
    // kNoneRefused.
    template <typename Scalar>
    std::int64_t measure(const Batch<Scalar>& batch, std::int64_t g, const double* ref);

  private:
    template <typename Scalar>
    std::int64_t measure_in_halves(const Batch<Scalar>& batch, std::int64_t g, const double* ref);
    void scale(std::int32_t objectives);
    bool has_safe_boxes(std::size_t width) const;
};

}  // namespace paretopo::cpu
