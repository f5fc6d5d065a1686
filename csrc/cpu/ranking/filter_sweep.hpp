// Which points of ONE large set of 2 or 3 objectives nobody dominates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "batch.hpp"
#include "cpu/ranking/staircase_of_minima.hpp"
#include "cpu/runtime/scratch_array.hpp"
#include "cpu/runtime/warm.hpp"
#include "cpu/sorting/key_order.hpp"
#include "cpu/sorting/objective_order.hpp"

namespace paretopo::cpu {

// Scratch of one thread.
//
// A pass compares all points with a few good ones of a sample, another what is left with the best
// of that, as long as it pays; what nobody of these dominates is sorted by its first objective and
// swept, with the best value so far (2 objectives) or the staircase of the others (3). O(n) where
// few points survive the pass, O(n log n) at worst. Threads share a large set, but for the
// staircase.
class FilterSweep {
  public:
    // nondominated: (batch.points,), of group g.
    template <typename Scalar>
    void find_nondominated(const Batch<Scalar>& batch, std::int64_t g, bool keep_weakly,
                           std::uint8_t* nondominated);

  private:
    // A set where the user has it: the values may change meanwhile, in the hands of another thread
    // of the host program. Each is read once and sorted as what was read.
    template <typename Scalar>
    struct Points {
        const Scalar* values;
        const std::int32_t* places;  // of those that are meant; null: all are
        std::int32_t count;
        std::int32_t objectives;
        std::uint64_t minimised;
        bool keep_weakly;

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
    void sweep_two(const Points<Scalar>& set, std::uint8_t* nondominated);
    template <typename Scalar, typename Read, typename Enters>
    void enter_in_order(const Points<Scalar>& set, std::size_t first, std::size_t stop,
                        std::uint8_t* nondominated, const Read& read, Enters enters);

    struct Keyed {
        std::uint64_t y, z;
        std::uint32_t k;
        bool operator<(const Keyed& other) const {
            if (y != other.y) return y < other.y;
            return z != other.z ? z < other.z : k < other.k;
        }
    };

    Warm<KeyOrder> order_;
    StaircaseOfMinima<std::uint64_t> staircase_;
    std::vector<std::int32_t> promising_, counts_;
    ScratchArray<std::int32_t> kept_;
    ScratchArray<std::uint64_t> seconds_;  // values of many points, in order of the first objective
};

}  // namespace paretopo::cpu
