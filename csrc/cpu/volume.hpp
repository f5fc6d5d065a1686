// Exact volumes of one set of sides, of any size and from 1 objective upwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace paretopo::cpu {

// What csrc/cpu/lanes/ implements once per instruction set. Sides are rows of distances from the
// reference, all positive; dominated rows and duplicates are fine.
class VolumeEngine {
  public:
    virtual ~VolumeEngine();
    virtual double of(const double* sides, std::size_t count, int objectives) = 0;
    // What `point` dominates that no row does.
    virtual double exclusive(const double* point, const double* sides, std::size_t count,
                             int objectives) = 0;
    // own[i] = what row i dominates that no other row does, for the rows `first` to `end` in the
    // order of the last objective.
    virtual void contributions(const double* sides, std::size_t count, int objectives,
                               std::size_t first, std::size_t end, double* own) = 0;
};

// Scratch of one thread.
class Volume {
  public:
    explicit Volume(int objectives);
    Volume(const Volume& other);
    Volume& operator=(const Volume&) = delete;

    // 2 and 3 objectives: sort and sweep, O(n log n). 4: O(n^2). Above: exponential in the
    // objectives at worst.
    double of(const double* sides, std::size_t count);
    double exclusive(const double* point, const double* sides, std::size_t count);
    void contributions(const double* sides, std::size_t count, std::size_t first, std::size_t end,
                       double* own);

  private:
    int objectives_;
    std::unique_ptr<VolumeEngine> engine_;
};

// A guess, in ns, for the choice of threads.
inline double volume_cost(std::int32_t points, std::int32_t objectives) {
    const double n = points;
    return objectives <= 3 ? 40.0 * n : 20.0 * n * n;
}

}  // namespace paretopo::cpu
