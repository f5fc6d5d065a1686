// Replaces the values of one large set by dense integer codes, objective by objective: 0 is the
// best value, and equal values share a code. Codes keep the exact order, and absorb NaN, -0.0 and
// the sense of each objective. Sorting integers is also faster than sorting floats.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/runtime/thread_scratch.hpp"
#include "cpu/sorting/cells.hpp"
#include "cpu/sorting/objective_order.hpp"

namespace paretopo::cpu {

// The distinct points of a set in lexicographic order of their codes. A point can be dominated
// only by points before it, because the points are distinct.
struct SortedCodes {
    std::int32_t distinct = 0;
    std::vector<std::vector<std::int32_t>> codes;  // [objective][distinct point]
    std::vector<std::int32_t> distinct_of;         // point of the set -> distinct point
    std::vector<std::int32_t> first_of;            // distinct point -> first such point of the set

    // `values`: (points, objectives), as given by the user.
    template <typename Scalar>
    void sort(const Scalar* values, std::int32_t points, std::int32_t objectives,
              std::uint64_t minimised);

    // The same for 3 objectives. False if they have too many different values for cells.
    template <typename Scalar>
    bool sort_cells(const Scalar* values, std::int32_t points, std::uint64_t minimised);

  private:
    void sort_ties();  // for points that share their first code

    ThreadScratch<KeyOrder> scratch_;
    ThreadScratch<Cells<3>> cells_;
    std::vector<std::vector<std::int32_t>> unsorted_;  // [objective][point]
    std::vector<std::int32_t> different_;  // number of distinct values of each objective
    std::vector<std::int32_t> order_;
};

}  // namespace paretopo::cpu
