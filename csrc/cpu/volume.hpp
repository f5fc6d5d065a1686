// Exact volumes of one set of sides, of any size and from 1 objective upwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "cpu/isa.hpp"

namespace paretopo::cpu {

// What csrc/cpu/lanes/ implements once per instruction set. Sides are rows of distances from the
// reference, all positive; dominated rows and duplicates are fine.
class VolumeEngine {
  public:
    virtual ~VolumeEngine();
    virtual std::size_t bytes() const = 0;  // of scratch
    virtual double of(const double* sides, std::size_t count, int objectives) = 0;
    // What `point` dominates that no row does.
    virtual double exclusive(const double* point, const double* sides, std::size_t count,
                             int objectives) = 0;
    // own[i] = what row i dominates that no other row does, for the rows `first` to `end` in the
    // order of the last objective.
    virtual void contributions(const double* sides, std::size_t count, int objectives,
                               std::size_t first, std::size_t end, double* own) = 0;
    // kept[i]: 1 unless a row is better than row i in one objective and nowhere worse.
    virtual void nondominated(const double* sides, std::size_t count, int objectives,
                              std::uint8_t* kept) = 0;
    // Rows of as many objectives as the engine was made for, kept from call to call.
    virtual double gain(const double* side) = 0;  // what a row would add to those kept
    virtual void keep(const double* side) = 0;    // after `admit`; rows that it covers leave
    // Members of an archive, any finite numbers, in the order of their arrival.
    virtual bool is_covered(const double* point) = 0;
    // Members that it covers leave. If memory runs out, nothing has changed.
    virtual void admit(const double* point) = 0;
    virtual std::size_t members() = 0;
    virtual const double* member_column(int objective) = 0;
    virtual void forget() = 0;  // rows and members
};

std::unique_ptr<VolumeEngine> make_volume_engine(int objectives);

// Scratch of one thread.
class Volume {
  public:
    explicit Volume(int objectives);
    Volume(const Volume& other);  // the same objectives, scratch of its own
    ~Volume();
    Volume& operator=(const Volume&) = delete;

    // 2 and 3 objectives: sort and sweep, O(n log n). 4: O(n^2). Above: exponential in the
    // objectives at worst.
    double of(const double* sides, std::size_t count);
    double exclusive(const double* point, const double* sides, std::size_t count);
    void contributions(const double* sides, std::size_t count, std::size_t first, std::size_t end,
                       double* own);
    void nondominated(const double* sides, std::size_t count, std::uint8_t* kept);

  private:
    VolumeEngine& engine();

    int objectives_;
    Isa isa_ = Isa::kPortable;
    std::unique_ptr<VolumeEngine> engine_;
};

// A guess, in ns, for the choice of threads.
inline double volume_cost(std::int32_t points, std::int32_t objectives) {
    const double n = points;
    return objectives <= 3 ? 40.0 * n : 20.0 * n * n;
}

}  // namespace paretopo::cpu
