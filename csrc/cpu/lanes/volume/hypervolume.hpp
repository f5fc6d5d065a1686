// Exact volumes of sides in columns.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/lanes/simd/columns.hpp"
#include "cpu/lanes/volume.hpp"
#include "cpu/lanes/volume/flat_staircase.hpp"
#include "cpu/lanes/volume/ranks.hpp"
#include "cpu/runtime/interrupt.hpp"

namespace paretopo::cpu::PARETOPO_LANES {

// The rows within the part of a point's box that rows as high as the point leave free, from the top
// down to the first row that covers all of it: the floor. After `count` hits, the columns hold
// kEight copies of the lower corner (left, below, floor).
struct Hits {
    const double *x, *y, *z;
    std::size_t count;
    double top_x, top_y, top_z;  // the point
    double left, below, floor;
    double reach;      // the largest x of a hit
    bool is_distinct;  // equal x occur only among hits as wide as the point
};

// Rows of 4 objectives in descending order of the last: their sides, and the ranks of these.
// value[m]: the distances from the reference by rank; the sides are these less the `corner`.
struct RankedSet {
    double* sides;
    Rank* ranks;
    std::size_t count;
    bool fits_bytes;   // ranks of one byte suffice
    bool is_distinct;  // equal first sides occur only among the largest
    const double* value[4];
    double corner[4];
    Rank lowest[4];  // of the corner
};

class Hypervolume final : public HypervolumeKernel {
  public:
    explicit Hypervolume(int objectives);
    ~Hypervolume() override;

    std::size_t bytes() const override;
    double of(const double* sides, std::size_t count, int objectives) override;
    double exclusive(const double* point, const double* sides, std::size_t count,
                     int objectives) override;
    void contributions(const double* sides, std::size_t count, int objectives, std::size_t first,
                       std::size_t end, double* own) override;
    void nondominated(const double* sides, std::size_t count, int objectives,
                      std::uint8_t* kept) override;

    // The same for columns in descending order of their last objective. `high`, initially 0, counts
    // the rows that reach the last objective of the point.
    double exclusive_of(int objectives, const double* point, const Columns& rows,
                        std::size_t& high);
    // The same, and whether cancellation left most digits right.
    struct Exclusive {
        double volume;
        bool is_exact;
    };
    Exclusive try_exclusive_of(int objectives, const double* point, const Columns& rows,
                               std::size_t& high);
    // The same without cancellation, for points where exclusive_of may suffer from it.
    double exact_exclusive_of(int objectives, const double* point, const Columns& rows,
                              std::size_t& high);

  private:
    static constexpr std::size_t kPollInterval = 64;  // rows between two polls
    static constexpr std::size_t kMaxDense = 64;      // hits; for more, O(hits^2) columns cost more

    // Scratch for one number of objectives. The recursion only goes to fewer objectives, so that no
    // level is entered twice.
    struct Level {
        Buffer<double> prefix, limited, block, gains, vectors, corners;
        Buffer<std::uint32_t> order;
    };

    // `rows` are in descending order of their last objective.
    double sorted(int objectives, const Columns& rows);
    double volume_2d(const Columns& rows);
    double volume_3d(const Columns& rows, double* gains);
    // The rows before `next`: those that are not covered, without the last objective, and their
    // volume.
    struct Slices {
        Columns prefix;
        std::size_t next;
        double volume = 0.0;
    };
    double by_slices(int objectives, const Columns& rows);
    Slices first_slice(int objectives, const Columns& rows);
    bool add_slices_of_3(const Columns& rows, Slices& slices);
    double exclusive_3d(const double* point, const Columns& rows, std::size_t& high);
    // False if a row covers the point. Writes at most room_for_hits(rows.count) numbers to each of
    // hit_x, hit_x + stride and hit_x + 2 * stride.
    bool find_hits(const double* point, const Columns& rows, double* hit_x, std::size_t stride,
                   std::size_t& high, Hits& hits);
    static constexpr std::size_t room_for_hits(std::size_t rows) {
        return (rows + 3 * kEight) / kEight * kEight;
    }
    static void close_hits(const Hits& hits, double* hit_x, double* hit_y, double* hit_z) {
        for (std::size_t i = hits.count; i < hits.count + kEight; i += kLanes) {
            store(hit_x + i, all(hits.left));
            store(hit_y + i, all(hits.below));
            store(hit_z + i, all(hits.floor));
        }
    }
    double free_volume(const Hits& hits);
    double by_staircase(const Hits& hits);
    double exclusive_by_slices(int objectives, const double* point, const Columns& rows);
    template <int kObjectives>
    double exclusive_limited(int objectives, const double* point, const Columns& rows,
                             std::size_t& high);

    // hypervolume_ranked.cpp
    RankedSet ranked(const Columns& rows, int objectives);
    template <typename Item>
    bool ranked_slices_of_3(const RankedSet& set, double& volume);
    bool ranked_slices_of_3(const RankedSet& set, double& volume);
    double ranked_slices_of_4(const RankedSet& set, const double* last);
    double limited_volume(const RankedSet& set);

    Columns first_block(int objectives, const Columns& rows, std::size_t tied, double& volume);
    Columns sorted_columns(const double* sides, std::size_t count, int objectives);

    Level& level(int objectives) { return levels_[objectives]; }

    int most_objectives_;
    Poller poller_;
    double latest_box_ = 0.0;  // the box of the last difference in exclusive_limited
    bool is_exact_ = false;    // no sweep may subtract
    Level* levels_;
    Buffer<double> steps_, all_, keys_;
    Buffer<std::uint32_t> order_, buckets_;
    Buffer<std::uint64_t> words_;
    Buffer<double> values_, ranked_sides_, limited_sides_;
    Buffer<Rank> ranks_, prefix_of_3_, prefix_of_4_, limited_ranks_;
};

// Sorts bits of positive doubles, the lowest first: the index of the k-th is the lower half of
// packed[k]. Equal bits stay in the order of their indices. count: 1 to kMaxInWords.
void sort_bits(const std::uint64_t* keys, std::size_t count, std::uint64_t* packed);

// order[k]: index of the k-th largest key; equal keys in the order of their indices.
void descending(const double* keys, std::size_t count, std::uint32_t* order,
                Buffer<std::uint32_t>& buckets);

}  // namespace paretopo::cpu::PARETOPO_LANES
