// One small group in the registers of one thread: up to kPoints float points of kObjectives. Every
// loop has constant bounds, so that no array is ever indexed at run time.
#pragma once

#include <cstdint>

#include "formulas/advantage.hpp"
#include "formulas/dominance.hpp"
#include "gpu/launch/limits.hpp"
#include "ops.hpp"
#include "portability.hpp"

namespace paretopo::gpu {

struct alignas(16) FourFloats {
    float at[4];
};

PARETOPO_HD inline bool is_aligned(const void* address) {
    return reinterpret_cast<std::uintptr_t>(address) % alignof(FourFloats) == 0;
}

// The values of a group, four at a time where that is possible; zeros behind the last.
template <int kValues, typename Scalar>
PARETOPO_HD void load_values(const Scalar* group, int count, Scalar (&values)[kValues]) {
    if constexpr (sizeof(Scalar) == sizeof(float)) {
        if (count == kValues && is_aligned(group)) {
            PARETOPO_UNROLL
            for (int k = 0; k < kValues; k += 4) {
                const FourFloats four = *reinterpret_cast<const FourFloats*>(group + k);
                PARETOPO_UNROLL
                for (int lane = 0; lane < 4; ++lane) values[k + lane] = four.at[lane];
            }
            return;
        }
    }
    PARETOPO_UNROLL
    for (int k = 0; k < kValues; ++k) values[k] = k < count ? group[k] : Scalar(0);
}

// Bit i is set where point i counts.
template <int kPoints>
PARETOPO_HD std::uint32_t present_points(const std::uint8_t* mask, int points) {
    std::uint32_t present = 0;
    PARETOPO_UNROLL
    for (int i = 0; i < kPoints; ++i) {
        if (i < points && (!mask || mask[i] != 0)) present |= std::uint32_t{1} << i;
    }
    return present;
}

template <int kPoints, int kObjectives>
class GroupInRegisters {
  public:
    PARETOPO_HD GroupInRegisters(const Batch<float>& batch, std::int64_t g)
        : present_(present_points<kPoints>(batch.group_mask(g), batch.points)) {
        load_values(batch.group(g), batch.points * kObjectives, values_);
    }

    PARETOPO_HD std::uint32_t present() const { return present_; }

    // Weighted sums of the rewards; before find_dominators, which needs their registers.
    PARETOPO_HD void weigh(const float* weights, float largest, float (&sums)[kPoints]) const {
        PARETOPO_UNROLL
        for (int i = 0; i < kPoints; ++i) {
            sums[i] = weighted_sum<OneLane<float>, kObjectives>(values_ + i * kObjectives, weights,
                                                                largest, kObjectives);
        }
    }

    // dominators[i]: bit j if point j dominates point i; repeats: bit i if an earlier point that
    // counts equals point i.
    PARETOPO_HD std::uint32_t find_dominators(std::uint64_t minimised,
                                              std::uint32_t (&dominators)[kPoints]) const {
        std::int32_t keys[kPoints * kObjectives];
        PARETOPO_UNROLL
        for (int i = 0; i < kPoints; ++i) {
            PARETOPO_UNROLL
            for (int m = 0; m < kObjectives; ++m) {
                keys[i * kObjectives + m] =
                    key_of(values_[i * kObjectives + m], (minimised >> m & 1) != 0);
            }
            dominators[i] = 0;
        }
        std::uint32_t repeats = 0;
        PARETOPO_UNROLL
        for (int i = 1; i < kPoints; ++i) {
            PARETOPO_UNROLL
            for (int j = 0; j < i; ++j) {
                const auto found = compare<OneLane<float>, kObjectives>(
                    keys + i * kObjectives, keys + j * kObjectives, kObjectives);
                if (found.a_dominates()) dominators[j] |= std::uint32_t{1} << i;
                if (found.b_dominates()) dominators[i] |= std::uint32_t{1} << j;
                if (found.are_equal() && (present_ >> j & 1) != 0) {
                    repeats |= std::uint32_t{1} << i;
                }
            }
        }
        return repeats;
    }

    // Peels front after front; returns how many there are.
    PARETOPO_HD std::int32_t rank(const std::uint32_t (&dominators)[kPoints],
                                  std::int32_t (&ranks)[kPoints]) const {
        PARETOPO_UNROLL
        for (int i = 0; i < kPoints; ++i) ranks[i] = kUnranked;
        std::uint32_t left = present_;
        std::int32_t front = 0;
        for (; left != 0; ++front) {
            std::uint32_t behind = 0;
            PARETOPO_UNROLL
            for (int i = 0; i < kPoints; ++i) {
                const std::uint32_t bit = std::uint32_t{1} << i;
                const bool is_behind = (dominators[i] & left) != 0;
                if ((left & bit) != 0 && !is_behind) ranks[i] = front;
                if (is_behind) behind |= bit;
            }
            left &= behind;
        }
        return front;
    }

  private:
    float values_[kPoints * kObjectives];
    std::uint32_t present_;
};

// Sums become advantages before centring, in place.
template <int kPoints>
PARETOPO_HD void rank_advantages_in_registers(std::int32_t fronts,
                                              const std::int32_t (&ranks)[kPoints], float beta,
                                              float (&sums)[kPoints]) {
    float lowest[kPoints];
    float highest[kPoints];
    PARETOPO_UNROLL
    for (int i = 0; i < kPoints; ++i) lowest[i] = highest[i] = sums[i];
    PARETOPO_UNROLL
    for (int i = 1; i < kPoints; ++i) {
        PARETOPO_UNROLL
        for (int j = 0; j < i; ++j) {
            if (ranks[i] != ranks[j]) continue;
            lowest[i] = sums[j] < lowest[i] ? sums[j] : lowest[i];
            lowest[j] = sums[i] < lowest[j] ? sums[i] : lowest[j];
            highest[i] = sums[j] > highest[i] ? sums[j] : highest[i];
            highest[j] = sums[i] > highest[j] ? sums[i] : highest[j];
        }
    }
    PARETOPO_UNROLL
    for (int i = 0; i < kPoints; ++i) {
        sums[i] =
            rank_advantage<OneLane<float>>(fronts, ranks[i], beta, sums[i], lowest[i], highest[i]);
    }
}

// The first `points` of an array in registers; four at a time where that is possible.
template <int kPoints, typename T>
PARETOPO_HD void store(const T (&own)[kPoints], std::int32_t points, T* out) {
    if constexpr (sizeof(T) == sizeof(float)) {
        struct alignas(16) Four {
            T at[4];
        };
        if (points == kPoints && is_aligned(out)) {
            PARETOPO_UNROLL
            for (int k = 0; k < kPoints; k += 4) {
                *reinterpret_cast<Four*>(out + k) = {{own[k], own[k + 1], own[k + 2], own[k + 3]}};
            }
            return;
        }
    }
    PARETOPO_UNROLL
    for (int i = 0; i < kPoints; ++i) {
        if (i < points) out[i] = own[i];
    }
}

// Calls op with the size of a group, 8 or 16 points, and the number of objectives as constants.
template <typename Op>
void with_registers(std::int32_t points, std::int32_t objectives, Op op) {
    with_objectives(objectives, [&](auto constant) {
        constexpr int kObjectives = decltype(constant)::value;
        if constexpr (kObjectives > 0) {
            if (points <= 8) return op(Constant<8>(), constant);
            op(Constant<16>(), constant);
        }
    });
}

}  // namespace paretopo::gpu
