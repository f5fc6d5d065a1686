// Ranks and filter of ONE set too large for bitmasks.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/ranking/staircase_of_minima.hpp"
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

// The fronts of a set with 3 objectives, whose points enter in the order of the first: a staircase
// each. Equal points must enter once.
template <typename Number>
class StaircaseFronts {
  public:
    // The rank of a point, given its other objectives; smaller is better.
    std::int32_t enter(Number y, Number z) {
        // The first front that does not dominate the point. If front f dominates it, so do all
        // before f.
        using Staircase = StaircaseOfMinima<Number>;
        std::size_t rank = 0;
        typename Staircase::Place place;
        for (std::size_t end = fronts_.size(); rank < end;) {
            const std::size_t middle = rank + (end - rank) / 2;
            const typename Staircase::Place found = fronts_[middle].find(y, z);
            if (found.is_covered) {
                rank = middle + 1;
            } else {
                end = middle;
                place = found;
            }
        }
        if (rank == fronts_.size()) fronts_.emplace_back();
        fronts_[rank].insert(place.chunk, place.right, y, z);
        return static_cast<std::int32_t>(rank);
    }

    std::int32_t count() const { return static_cast<std::int32_t>(fronts_.size()); }
    void clear() { fronts_.clear(); }

  private:
    std::vector<StaircaseOfMinima<Number>> fronts_;
};

// Ranks of one large set with 3 objectives. Only the first objective is sorted; the others are
// compared as they come.
class SpatialRanker {
  public:
    // `values`: (points, 3), as given by the user. Returns the number of fronts.
    template <typename Scalar>
    std::int32_t rank(const Scalar* values, std::int32_t points, std::uint64_t minimised,
                      std::int32_t* ranks);

  private:
    struct KeyedPoint {
        std::uint64_t y, z;
        std::int32_t point;
        bool operator<(const KeyedPoint& other) const {
            return y != other.y ? y < other.y : z < other.z;
        }
        bool equals(const KeyedPoint& other) const { return y == other.y && z == other.z; }
    };

    ThreadScratch<KeyOrder> order_;
    std::vector<KeyedPoint> column_;  // points with the same first value
    StaircaseFronts<std::uint64_t> fronts_;
};

}  // namespace paretopo::cpu
