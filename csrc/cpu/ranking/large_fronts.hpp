// Ranks and filter of ONE set too large for bitmasks.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/runtime/thread_scratch.hpp"
#include "cpu/sorting/cells.hpp"
#include "cpu/sorting/dense_codes.hpp"

namespace paretopo::cpu {

// Ranks of the distinct points of `sorted`, from 0.
//
// 1 objective: the code is the rank. 2: see PlanarRanker. 3: one staircase a front, binary search
// over fronts, O(n log^2 n) on all but adversarial input. From 4: efficient non-dominated sort with
// binary search (Zhang et al., 2015), 16 comparisons a step, O(objectives n^2) at worst. Up to a
// few thousand points: all pairs, 32 at a time.
void rank_distinct(const SortedCodes& sorted, std::vector<std::int32_t>& ranks);

// Marks the distinct points of `sorted` that no other dominates with 1, and the others with 0.
void find_distinct_nondominated(const SortedCodes& sorted, std::vector<std::uint8_t>& nondominated);

// Ranks of one set with 2 objectives: patience sorting (Jensen, 2003), O(n log n). Only the first
// objective is sorted; the second is compared as it comes.
class PlanarRanker {
  public:
    // `values`: (points, 2), as given by the user. Returns the number of fronts.
    template <typename Scalar>
    std::int32_t rank(const Scalar* values, std::int32_t points, std::uint64_t minimised,
                      std::int32_t* ranks);

  private:
    struct KeyedPoint {
        std::uint64_t key;
        std::int32_t point;
        bool operator<(const KeyedPoint& other) const { return key < other.key; }
    };

    void sort_column();
    std::int32_t place(std::uint64_t y);
    void place_run(const std::uint64_t* keys, std::size_t size, std::int32_t* ranks);
    void rank_cells(const Cells<2>& cells, std::int32_t points, std::int32_t* ranks);

    ThreadScratch<KeyOrder> scratch_;
    ThreadScratch<Cells<2>> cells_;
    KeyOrder column_order_;
    std::vector<KeyedPoint> column_, sorted_column_;  // points with the same first value
    std::vector<std::int32_t> cell_ranks_;
    std::vector<std::uint64_t> tails_;  // best second key of each front so far; ascends
};

}  // namespace paretopo::cpu
