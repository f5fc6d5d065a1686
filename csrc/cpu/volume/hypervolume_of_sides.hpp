// Exact volumes of one set of sides, of any size and from 1 objective upwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "cpu/lanes/isa.hpp"
#include "cpu/lanes/volume.hpp"

namespace paretopo::cpu {

// Scratch of one thread: the kernel of the instruction set in use at construction.
class HypervolumeOfSides {
  public:
    explicit HypervolumeOfSides(int objectives);
    HypervolumeOfSides(const HypervolumeOfSides& other);  // the same objectives, its own scratch
    ~HypervolumeOfSides();
    HypervolumeOfSides& operator=(const HypervolumeOfSides&) = delete;

    // 2 and 3 objectives: sort and sweep, O(n log n). 4: O(n^2). Above: exponential in the
    // objectives at worst.
    double of(const double* sides, std::size_t count);
    double exclusive(const double* point, const double* sides, std::size_t count);
    void contributions(const double* sides, std::size_t count, std::size_t first, std::size_t end,
                       double* own);
    void nondominated(const double* sides, std::size_t count, std::uint8_t* kept);

  private:
    HypervolumeKernel& kernel();

    int objectives_;
    Isa isa_ = Isa::kPortable;
    std::unique_ptr<HypervolumeKernel> kernel_;
};

// An estimate, in ns, for the choice of threads.
inline double volume_cost(std::int32_t points, std::int32_t objectives) {
    const double n = points;
    return objectives <= 3 ? 40.0 * n : 20.0 * n * n;
}

}  // namespace paretopo::cpu
