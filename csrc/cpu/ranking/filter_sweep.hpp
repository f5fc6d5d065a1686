// The non-dominated points of ONE large set of 2 or 3 objectives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "batch.hpp"
#include "cpu/ranking/staircase_of_minima.hpp"
#include "cpu/runtime/scratch_array.hpp"
#include "cpu/runtime/thread_scratch.hpp"
#include "cpu/sorting/cells.hpp"
#include "cpu/sorting/key_order.hpp"
#include "cpu/sorting/objective_order.hpp"

namespace paretopo::cpu {

// Which points a filter keeps.
struct Filter {
    bool keep_duplicates;  // all of several equal points; otherwise the first
    bool is_strict;        // unless another one is better in every objective
};

// True if no point of a small sample dominates another one. `values`: (points, objectives), with up
// to 3 objectives.
template <typename Scalar>
bool looks_like_a_front(const Scalar* values, std::int32_t points, std::int32_t objectives,
                        std::uint64_t minimised);

// The largest set, by number of objectives, in which comparing all pairs is faster than sorting.
template <typename Scalar>
std::int32_t most_filtered_in_rows(std::int32_t objectives);

// Scratch of one thread.
//
// A pass compares all points with a few good ones from a sample. Further passes compare the
// remaining points with their best, as long as that pays off. A few survivors are compared in
// pairs; many are sorted by the first objective and swept, with the best value so far (2
// objectives) or a staircase (3). O(n) if few points survive the passes, O(n log n) at worst.
// Threads share the work on a large set, except for the staircase.
class FilterSweep {
  public:
    // nondominated: (batch.points,), for group g.
    template <typename Scalar>
    void find_nondominated(const Batch<Scalar>& batch, std::int64_t g, Filter filter,
                           std::uint8_t* nondominated);

  private:
    // A set in the user's memory: another thread of the host program may change the values during
    // the call. Each value is read once, and that copy is sorted.
    template <typename Scalar>
    struct Points {
        const Scalar* values;
        const std::int32_t* places;  // indices of the chosen points; null: all
        std::int32_t count;
        std::int32_t objectives;
        std::uint64_t minimised;
        Filter filter;

        Points of(const std::vector<std::int32_t>& some) const {
            Points points = *this;
            points.places = some.data();
            points.count = static_cast<std::int32_t>(some.size());
            return points;
        }
        std::size_t place(std::uint32_t k) const {
            return static_cast<std::size_t>(places ? places[k] : static_cast<std::int32_t>(k));
        }
        const Scalar* point(std::uint32_t k) const {
            return values + place(k) * static_cast<std::size_t>(objectives);
        }
        void prefetch(std::uint32_t k) const { __builtin_prefetch(point(k)); }
        void fill_keys(ScratchArray<std::uint64_t>& keys) const;
        std::uint64_t second(std::uint32_t k) const {
            return best_first(point(k)[1], (minimised & 2) != 0);
        }
        std::uint64_t third(std::uint32_t k) const {
            return objectives == 2 ? 0 : best_first(point(k)[2], (minimised & 4) != 0);
        }
    };

    template <typename Scalar>
    bool find_promising(const Points<Scalar>& all, const std::uint8_t* mask);
    template <typename Scalar>
    void thin_out(const Points<Scalar>& all);
    template <typename Scalar>
    void sweep(const Points<Scalar>& set, std::uint8_t* nondominated);
    template <typename Scalar>
    bool compare_pairs(const Points<Scalar>& set, std::uint8_t* nondominated);
    template <int kObjectives, typename Scalar>
    bool sweep_cells(Cells<kObjectives>& cells, const Points<Scalar>& set,
                     std::uint8_t* nondominated);
    template <typename Scalar>
    void sweep_two(const Points<Scalar>& set, std::uint8_t* nondominated);
    template <typename Scalar, typename Read, typename Seen>
    void enter_in_order(const Points<Scalar>& set, std::size_t first, std::size_t stop,
                        std::uint8_t* nondominated, const Read& read, Seen& seen);
    template <bool is_strict, typename Scalar, typename Read, typename Seen>
    void enter(const Points<Scalar>& set, std::size_t first, std::size_t stop,
               std::uint8_t* nondominated, const Read& read, Seen& seen);

    struct Keyed {
        std::uint64_t y, z;
        std::uint32_t k;
        bool operator<(const Keyed& other) const {
            if (y != other.y) return y < other.y;
            return z != other.z ? z < other.z : k < other.k;
        }
    };

    ThreadScratch<KeyOrder> order_;
    ThreadScratch<Cells<2>> cells_of_two_;
    ThreadScratch<Cells<3>> cells_of_three_;
    StaircaseOfMinima<std::uint64_t> staircase_;
    std::vector<std::int32_t> promising_, counts_;
    ScratchArray<std::int32_t> kept_;
    std::vector<std::uint8_t> kept_cells_;
    ScratchArray<std::uint64_t> seconds_;  // values of many points, in order of the first objective
};

}  // namespace paretopo::cpu
