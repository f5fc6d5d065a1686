// Non-dominated sorting of ONE group. Definition: Deb et al., 2002, "A fast and elitist
// multiobjective genetic algorithm: NSGA-II", section III-A.
#pragma once

#include <cstdint>

#include "ops.hpp"
#include "portability.hpp"

namespace paretopo {

// NaN is below every number, so that a broken reward can never win a group.
template <typename Scalar>
PARETOPO_HD bool is_worse(Scalar a, Scalar b, bool minimised) {
    return (minimised ? a > b : a < b) || (a != a && b == b);
}

enum class Order : int { kIncomparable = 0, kFirst = 1, kSecond = 2, kEqual = 3 };

// Which of two points dominates: at least as good in every objective, better in one.
template <typename Scalar>
PARETOPO_HD Order compare(const Scalar* a, const Scalar* b, int objectives,
                          std::uint64_t minimised) {
    bool first = true;
    bool second = true;
    for (int m = 0; m < objectives; ++m) {
        const bool flip = m < 64 && (minimised >> m & 1) != 0;
        first = first && !is_worse(a[m], b[m], flip);
        second = second && !is_worse(b[m], a[m], flip);
        if (!first && !second) return Order::kIncomparable;
    }
    if (first && second) return Order::kEqual;
    return first ? Order::kFirst : Order::kSecond;
}

// ---- Up to 64 points: one bit a point ----

inline constexpr int kBitmaskPoints = 64;

// The set of points that dominate point i, of those in `present`.
template <typename Scalar>
PARETOPO_HD std::uint64_t dominators_of(const Scalar* group, int i, std::uint64_t present,
                                        int points, int objectives, std::uint64_t minimised) {
    std::uint64_t dominators = 0;
    for (int j = 0; j < points; ++j) {
        if (j == i || (present >> j & 1) == 0) continue;
        const Order order = compare(group + std::int64_t{j} * objectives,
                                    group + std::int64_t{i} * objectives, objectives, minimised);
        if (order == Order::kFirst) dominators |= std::uint64_t{1} << j;
    }
    return dominators;
}

// The points of `left` that no other point of `left` dominates.
PARETOPO_HD inline std::uint64_t next_front(const std::uint64_t* dominators, std::uint64_t left,
                                            int points) {
    std::uint64_t front = 0;
    for (int i = 0; i < points; ++i) {
        const bool is_left = (left >> i & 1) != 0;
        if (is_left && (dominators[i] & left) == 0) front |= std::uint64_t{1} << i;
    }
    return front;
}

PARETOPO_HD inline std::uint64_t present_bits(const std::uint8_t* mask, int points) {
    std::uint64_t present = 0;
    for (int i = 0; i < points; ++i) {
        if (!mask || mask[i] != 0) present |= std::uint64_t{1} << i;
    }
    return present;
}

// ---- Any number of points ----

// Does point i belong to `front`, given that all earlier fronts are ranked?
//
// Points already moved into `front` still count as rivals: whatever they dominate belongs to a
// later front. So the answer does not depend on the order of the calls, and the points of one
// front can be decided in parallel.
template <typename Scalar>
PARETOPO_HD bool belongs_to_front(const Scalar* group, const std::int32_t* ranks,
                                  const std::uint8_t* mask, int i, int points, int objectives,
                                  std::uint64_t minimised, std::int32_t front) {
    for (int j = 0; j < points; ++j) {
        if (mask && mask[j] == 0) continue;
        const bool is_rival = ranks[j] == kUnranked || ranks[j] == front;
        if (is_rival &&
            compare(group + std::int64_t{j} * objectives, group + std::int64_t{i} * objectives,
                    objectives, minimised) == Order::kFirst) {
            return false;
        }
    }
    return true;
}

struct Pass {
    bool found;      // this lane put a point into the front
    bool some_left;  // this lane keeps an unranked point
};

// One lane's share of one front: points lane, lane + lanes, ... A set is ranked when no lane has a
// point left; dominance is a strict partial order, so every pass of all lanes ranks a point.
template <typename Scalar>
PARETOPO_HD Pass rank_pass(const Batch<Scalar>& batch, std::int64_t g, std::int32_t* ranks,
                           std::int32_t front, int lane, int lanes) {
    const Scalar* group = batch.group(g);
    const std::uint8_t* mask = batch.group_mask(g);
    Pass pass{false, false};
    for (std::int32_t i = lane; i < batch.points; i += lanes) {
        if (ranks[i] != kUnranked || (mask && mask[i] == 0)) continue;
        if (belongs_to_front(group, ranks, mask, i, batch.points, batch.objectives, batch.minimised,
                             front)) {
            ranks[i] = front;
            pass.found = true;
        } else {
            pass.some_left = true;
        }
    }
    return pass;
}

}  // namespace paretopo
