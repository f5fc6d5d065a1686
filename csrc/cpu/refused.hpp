// The first value of a batch that an operation refuses, whichever thread meets it.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

#include "ops.hpp"

namespace paretopo::cpu {

class FirstRefused {
  public:
    // `within`: index of a refused value in group g, or kNoneRefused. Says whether there is one.
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
        return first == kNobody ? kNoneRefused : first;
    }

  private:
    static constexpr std::int64_t kNobody = std::numeric_limits<std::int64_t>::max();
    std::atomic<std::int64_t> first_{kNobody};
};

}  // namespace paretopo::cpu
