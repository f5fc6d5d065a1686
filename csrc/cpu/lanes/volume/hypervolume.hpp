// Exact volumes of sides in columns.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/lanes/kernels.hpp"
#include "cpu/lanes/simd/columns.hpp"
#include "cpu/lanes/volume/flat_staircase.hpp"
#include "cpu/runtime/interrupt.hpp"

namespace paretopo::cpu::PARETOPO_LANES {

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
    struct Corner {
        double x, y, z;
    };

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
    double by_slices(int objectives, const Columns& rows);
    double exclusive_3d(const double* point, const Columns& rows, std::size_t& high);
    double by_staircase(const double* x, const double* y, const double* z, std::size_t hits,
                        const Corner& point, Corner corner);
    double exclusive_by_slices(int objectives, const double* point, const Columns& rows);
    template <int kObjectives>
    double exclusive_limited(int objectives, const double* point, const Columns& rows,
                             std::size_t& high);

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
};

// order[k]: index of the k-th largest key; equal keys in the order of their indices.
void descending(const double* keys, std::size_t count, std::uint32_t* order,
                Buffer<std::uint32_t>& buckets);

}  // namespace paretopo::cpu::PARETOPO_LANES
