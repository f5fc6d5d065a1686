// One group as sides: distances from the reference in the better direction, in double. Also the
// first refused value of a batch.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "batch.hpp"

namespace paretopo::cpu {

struct Sides {
    std::vector<double> values;       // (count, objectives), all positive
    std::vector<std::int32_t> index;  // the index of each row in its group
    std::size_t count = 0;
    int exponent = 0;  // volumes of `values` are to be multiplied by 2^exponent

    std::size_t bytes() const {
        return values.capacity() * sizeof values[0] + index.capacity() * sizeof index[0];
    }

    // Keeps the points that are better than `ref` in every objective. Returns the index within the
    // group of a value that is refused (NaN, infinity on the better side), or kNoneRefused.
    template <typename Scalar>
    std::int64_t measure(const Batch<Scalar>& batch, std::int64_t g, const double* ref);

  private:
    template <int kObjectives, typename Scalar>  // 0: any number
    std::int64_t measure_in(const Batch<Scalar>& batch, std::int64_t g, const double* ref);
    template <int kObjectives, typename Scalar>
    bool measure_all(const Batch<Scalar>& batch, std::int64_t g, const double* ref);
    template <typename Scalar>
    std::int64_t measure_in_halves(const Batch<Scalar>& batch, std::int64_t g, const double* ref);
    void scale(std::int32_t objectives);
    bool is_plainly_safe(std::int32_t objectives) const;
    bool starts_large(std::int32_t objectives) const;
    bool has_safe_boxes(std::size_t width) const;
};

// The first value of a batch that an operation refuses, independent of the order of the threads.
class FirstRefused {
  public:
    // `within`: index of a refused value in group g, or kNoneRefused. Returns true if there is one.
    template <typename Scalar>
    bool note(const Batch<Scalar>& batch, std::int64_t g, std::int64_t within) {
        if (within == kNoneRefused) return false;
        const std::int64_t index = g * batch.points * batch.objectives + within;
        std::int64_t first = first_.load();
        while (index < first && !first_.compare_exchange_weak(first, index)) {
        }
        return true;
    }

    std::int64_t index() const {
        const std::int64_t first = first_.load();
        return first == kNone ? kNoneRefused : first;
    }

  private:
    static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
    std::atomic<std::int64_t> first_{kNone};
};

}  // namespace paretopo::cpu
