// Which points of ONE large set of 2 or 3 objectives nobody dominates.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/objective_order.hpp"
#include "cpu/present.hpp"
#include "cpu/staircase.hpp"
#include "ops.hpp"

namespace paretopo::cpu {

// Scratch of one thread.
//
// A pass compares all points with a few good ones of a sample; what these do not dominate is sorted
// by its first objective and swept, with the best value so far (2 objectives) or the staircase of
// the others (3). O(n) where few points survive the pass, O(n log n) at worst.
class FilterSweep {
  public:
    // chosen: (batch.points,), of group g.
    template <typename Scalar>
    void filter(const Batch<Scalar>& batch, std::int64_t g, bool keep_weakly, std::uint8_t* chosen);

  private:
    template <typename Scalar>
    bool find_promising(const Scalar* values, std::int32_t points, std::int32_t objectives,
                        std::uint64_t minimised);
    template <typename Scalar>
    void sweep(const Present<Scalar>& set, std::int32_t objectives, std::uint64_t minimised,
               bool keep_weakly, std::uint8_t* chosen);

    struct Keyed {
        std::uint64_t y, z;
        std::int32_t point;
        bool operator<(const Keyed& other) const {
            if (y != other.y) return y < other.y;
            return z != other.z ? z < other.z : point < other.point;
        }
    };

    KeyOrder scratch_;
    Staircase<std::uint64_t> staircase_;
    std::vector<std::int32_t> promising_;
    std::vector<Keyed> column_;  // points with the same first value
    Present<float> floats_;
    Present<double> doubles_;
};

}  // namespace paretopo::cpu
