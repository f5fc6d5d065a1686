// One small group in the registers of one thread: up to kPoints float points of kObjectives. Every
// loop has constant bounds, so that no array is ever indexed at run time.
#pragma once

#include <cmath>
#include <cstdint>

#include "batch.hpp"
#include "formulas/advantage.hpp"
#include "formulas/dominance.hpp"
#include "gpu/launch/column.hpp"
#include "gpu/launch/limits.hpp"
#include "portability.hpp"

namespace paretopo::gpu {

struct alignas(16) FourFloats {
    float at[4];
};

PARETOPO_HD inline bool is_aligned(const void* address) {
    return reinterpret_cast<std::uintptr_t>(address) % alignof(FourFloats) == 0;
}

// Loads the values of a group, four at a time if possible; zeros after the last.
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

// Bit i is set if point i is present.
template <int kPoints>
PARETOPO_HD std::uint32_t present_points(const std::uint8_t* mask, int points) {
    std::uint32_t present = (std::uint32_t{1} << points) - 1;
    if (!mask) return present;
    PARETOPO_UNROLL
    for (int i = 0; i < kPoints; ++i) {
        if (i < points && mask[i] == 0) present &= ~(std::uint32_t{1} << i);
    }
    return present;
}

// Peels front after front from the present points; returns the number of fronts. A point waits
// while one of its dominators is left, and its rank is the number of rounds it waited.
template <int kPoints>
PARETOPO_HD std::int32_t peel(const std::uint32_t (&dominators)[kPoints], std::uint32_t present,
                              std::int32_t (&ranks)[kPoints]) {
    PARETOPO_UNROLL
    for (int i = 0; i < kPoints; ++i) ranks[i] = 0;
    std::int32_t fronts = 0;
    for (std::uint32_t left = present; left != 0; ++fronts) {
        std::uint32_t behind = 0;
        PARETOPO_UNROLL
        for (int i = 0; i < kPoints; ++i) {
            const bool is_behind = (dominators[i] & left) != 0;
            if (is_behind) behind |= std::uint32_t{1} << i;
            ranks[i] += is_behind;
        }
        left = behind & present;
    }
    PARETOPO_UNROLL
    for (int i = 0; i < kPoints; ++i) {
        if ((present >> i & 1) == 0) ranks[i] = kUnranked;
    }
    return fronts;
}

// ---- The same for eight points, one byte each in two words: the first four, and the last four
// ----

inline constexpr std::uint32_t kOneInEach = 0x01010101;
inline constexpr std::uint32_t kHighestOfEach = 0x80808080;

// Bit k of `four` becomes the lowest bit of byte k.
PARETOPO_HD inline std::uint32_t spread(std::uint32_t four) {
    return four * 0x00204081 & kOneInEach;
}

// Sets the highest bit of each byte that is not 0.
PARETOPO_HD inline std::uint32_t find_nonzero(std::uint32_t bytes) {
    constexpr std::uint32_t kRest = ~kHighestOfEach;
    return (bytes | ((bytes & kRest) + kRest)) & kHighestOfEach;
}

PARETOPO_HD inline std::int32_t peel_bytes(const std::uint32_t (&dominators)[8],
                                           std::uint32_t present, std::int32_t (&ranks)[8]) {
    std::uint32_t rows[2];
    std::uint32_t packed[2];  // ranks so far
    PARETOPO_UNROLL
    for (int h = 0; h < 2; ++h) {
        const std::uint32_t* four = dominators + 4 * h;
        const std::uint32_t here = spread(present >> 4 * h & 15) * 0xff;
        rows[h] = (four[0] | four[1] << 8 | four[2] << 16 | four[3] << 24) & here;
        packed[h] = ~here;  // kUnranked for absent points
    }
    std::int32_t fronts = 0;
    for (std::uint32_t left = present; left != 0; ++fronts) {
        const std::uint32_t others = left * kOneInEach;
        const std::uint32_t first = find_nonzero(rows[0] & others) >> 7;
        const std::uint32_t last = find_nonzero(rows[1] & others) >> 7;
        packed[0] += first;
        packed[1] += last;
        // Byte k of the sum holds the bits of points k and 4 + k; the product gathers them in the
        // top byte.
        left = (first + (last << 4)) * 0x01020408 >> 24;
    }
    PARETOPO_UNROLL
    for (int i = 0; i < 8; ++i) {
        ranks[i] = static_cast<std::int8_t>(packed[i / 4] >> 8 * (i % 4));
    }
    return fronts;
}

// Two points: the highest bit is set if the first, or the second, is better in some objective.
struct Better {
    std::uint32_t first = 0;
    std::uint32_t second = 0;
};

// dominators[i]: bit j is set if point j dominates point i. If all bits of ties are set, it is also
// set if j comes before i and equals it. Bits are shifted in from the last point to the first.
template <int kPoints, typename Compare>
PARETOPO_HD void find_dominators(std::uint32_t ties, Compare compare,
                                 std::uint32_t (&dominators)[kPoints]) {
    PARETOPO_UNROLL
    for (int i = 0; i < kPoints; ++i) dominators[i] = 0;
    PARETOPO_UNROLL
    for (int i = kPoints - 1; i >= 0; --i) {
        PARETOPO_UNROLL
        for (int j = kPoints - 1; j > i; --j) {
            const Better better = compare(i, j);
            const std::uint32_t either = better.first | better.second;
            dominators[i] = shift_in(dominators[i], either ^ better.first);
            dominators[j] = shift_in(dominators[j], (either ^ better.second) | (ties & ~either));
        }
        dominators[i] <<= 1;  // no point dominates itself
    }
}

template <int kPoints, int kObjectives>
class GroupInRegisters {
  public:
    PARETOPO_HD GroupInRegisters(const Batch<float>& batch, std::int64_t g)
        : present_(present_points<kPoints>(batch.group_mask(g), batch.points)) {
        load_values(batch.group(g), batch.points * kObjectives, values_);
        PARETOPO_UNROLL
        for (int k = 0; k < kPoints * kObjectives; ++k) size_ += fabsf(values_[k]);
    }

    PARETOPO_HD std::uint32_t present() const { return present_; }

    // Weighted sums of the rewards. Call before find_dominators, which reuses their registers.
    PARETOPO_HD void weigh(const float* weights, float largest, float (&sums)[kPoints]) const {
        if (size_ <= largest) {
            weigh_as<false>(weights, largest, sums);
        } else {
            weigh_as<true>(weights, largest, sums);
        }
    }

    // Compares numbers by the signs of their differences: a GPU subtracts floats twice as fast as
    // it compares them. This needs finite numbers and a single zero. A group with a NaN, an
    // infinity or a sum that overflows is compared by keys instead.
    PARETOPO_HD void find_dominators(std::uint64_t minimised, std::uint32_t ties,
                                     std::uint32_t (&dominators)[kPoints]) const {
        float values[kPoints * kObjectives];  // more is better
        PARETOPO_UNROLL
        for (int m = 0; m < kObjectives; ++m) {
            const float sign = (minimised >> m & 1) != 0 ? -1.0F : 1.0F;
            PARETOPO_UNROLL
            for (int i = 0; i < kPoints; ++i) {
                const int k = i * kObjectives + m;
                values[k] = values_[k] * sign + 0.0F;  // -0 becomes 0
            }
        }
        if (size_ - size_ == 0.0F) {
            const auto by_differences = [&](int i, int j) {
                Better better;
                PARETOPO_UNROLL
                for (int m = 0; m < kObjectives; ++m) {
                    const float first = values[i * kObjectives + m];
                    const float second = values[j * kObjectives + m];
                    better.first |= bits_of(second - first);
                    better.second |= bits_of(first - second);
                }
                return better;
            };
            return gpu::find_dominators(ties, by_differences, dominators);
        }
        Key<float> keys[kPoints * kObjectives];
        PARETOPO_UNROLL
        for (int k = 0; k < kPoints * kObjectives; ++k) keys[k] = key_of(values[k], false);
        const auto by_keys = [&](int i, int j) {
            const auto found = compare<OneLane<float>, kObjectives>(
                keys + i * kObjectives, keys + j * kObjectives, kObjectives);
            return Better{std::uint32_t{!found.b_reaches_a} << 31,
                          std::uint32_t{!found.a_reaches_b} << 31};
        };
        gpu::find_dominators(ties, by_keys, dominators);
    }

    // Peels front after front; returns the number of fronts.
    PARETOPO_HD std::int32_t rank(const std::uint32_t (&dominators)[kPoints],
                                  std::int32_t (&ranks)[kPoints]) const {
        if constexpr (kPoints == 8) {
            return peel_bytes(dominators, present_, ranks);
        } else {
            return peel(dominators, present_, ranks);
        }
    }

  private:
    template <bool kSaturates>
    PARETOPO_HD void weigh_as(const float* weights, float largest, float (&sums)[kPoints]) const {
        PARETOPO_UNROLL
        for (int i = 0; i < kPoints; ++i) {
            sums[i] = weighted_sum<OneLane<float>, kObjectives, kSaturates>(
                values_ + i * kObjectives, weights, largest, kObjectives);
        }
    }

    float values_[kPoints * kObjectives];
    float size_ = 0.0F;  // the sum of the absolute values
    std::uint32_t present_;
};

// The lowest and the highest sum of a front.
struct alignas(8) Span {
    float lowest;
    float highest;
};

// Turns sums into advantages before centring, in place. Absent points share the last span, which is
// of no front: with an absent point there are fewer fronts than points.
template <int kPoints>
PARETOPO_HD void rank_advantages_in_registers(std::int32_t fronts,
                                              const std::int32_t (&ranks)[kPoints], float beta,
                                              const Column<Span>& spans, float (&sums)[kPoints]) {
    const auto span_of = [&](int i) -> Span& { return spans[ranks[i] & (kPoints - 1)]; };
    PARETOPO_UNROLL
    for (int i = 0; i < kPoints; ++i) span_of(i) = {sums[i], sums[i]};
    PARETOPO_UNROLL
    for (int i = 0; i < kPoints; ++i) {
        const Span others = span_of(i);
        span_of(i) = {fminf(others.lowest, sums[i]), fmaxf(others.highest, sums[i])};
    }
    PARETOPO_UNROLL
    for (int i = 0; i < kPoints; ++i) {
        const Span span = span_of(i);
        sums[i] = rank_advantage<OneLane<float>>(fronts, ranks[i], beta, sums[i], span.lowest,
                                                 span.highest);
    }
}

// Stores the first `points` of an array in registers, four at a time if possible.
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
