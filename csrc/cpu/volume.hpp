// Exact volumes of one set of sides, of any size and from 1 objective upwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "cpu/staircase.hpp"

namespace paretopo::cpu {

// Scratch of one thread. Sides are rows of distances from the reference, all positive.
class Volume {
  public:
    // The hypervolume of `count` rows; dominated rows and duplicates are fine.
    //
    // 2 objectives: sort and sweep, O(n log n). 3: sweep with a staircase, O(n log n). From 4:
    // sweep over the last objective, each point adding what it alone dominates of the slice (While,
    // Bradstreet and Barone, 2012), exponential in the objectives at worst.
    double of(const double* sides, std::size_t count, int objectives);

    // What `point` dominates that no row does; row `skip` is passed over.
    double exclusive(const double* point, const double* sides, std::size_t count, int objectives,
                     std::size_t skip = kNone);

    static constexpr std::size_t kNone = ~std::size_t{0};

  private:
    struct Level {  // scratch of one number of objectives
        std::vector<double> limited, slice, corner, box;
        std::vector<std::pair<double, std::uint32_t>> order;
    };

    double of_2d(const double* sides, std::size_t count);
    double of_3d(const double* sides, std::size_t count);
    double by_slices(const double* sides, std::size_t count, int objectives);
    void sort_by_last(const double* sides, std::size_t count, int objectives);
    Level& level(int objectives);

    std::vector<Level> levels_;
    Staircase<double> staircase_;
};

// A guess, in ns, for the choice of threads.
inline double volume_cost(std::int32_t points, std::int32_t objectives) {
    const double n = points;
    return objectives <= 3 ? 40.0 * n : 20.0 * n * n;
}

}  // namespace paretopo::cpu
