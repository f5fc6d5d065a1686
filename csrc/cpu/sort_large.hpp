// Ranks and filter of ONE set too large for bitmasks.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/dense_codes.hpp"

namespace paretopo::cpu {

// Ranks of the distinct points of `sorted`, from 0.
//
// 1 objective: the code is the rank. 2: patience sorting (Jensen, 2003), O(n log n). 3: one
// staircase a front, binary search over fronts, O(n log^2 n) on all but adversarial input. From 4:
// efficient non-dominated sort with binary search (Zhang et al., 2015), 16 comparisons a step,
// O(objectives n^2) at worst.
void rank_distinct(const SortedCodes& sorted, std::vector<std::int32_t>& ranks);

// Which distinct points of `sorted` nobody dominates (1) or somebody does (0).
void filter_distinct(const SortedCodes& sorted, std::vector<std::uint8_t>& chosen);

}  // namespace paretopo::cpu
