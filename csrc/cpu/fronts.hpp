// Ranks of one set of any size, for the operations that start from ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/present.hpp"
#include "cpu/sort_large.hpp"

namespace paretopo::cpu {

// Scratch of one thread.
class Ranker {
  public:
    // ranks: (set.count,). Returns the number of fronts.
    template <typename Scalar>
    std::int32_t rank(const Present<Scalar>& set, std::int32_t objectives, std::uint64_t minimised,
                      std::int32_t* ranks);

    // chosen: (set.count,), 1 for a point nobody dominates; of equal points only the first, unless
    // keep_weakly.
    template <typename Scalar>
    void filter(const Present<Scalar>& set, std::int32_t objectives, std::uint64_t minimised,
                bool keep_weakly, std::uint8_t* chosen);

  private:
    // survivors_: the points that may be non-dominated; all of them where thinning does not pay.
    template <typename Scalar>
    void thin_out(const Present<Scalar>& set, std::int32_t objectives, std::uint64_t minimised);

    SortedCodes sorted_;
    PlanarRanker planar_;
    std::vector<std::int32_t> distinct_ranks_;
    std::vector<std::uint8_t> distinct_chosen_;
    std::vector<std::int32_t> survivors_;
};

// A guess, in ns, for the choice of threads.
inline double ranking_cost(std::int32_t points, std::int32_t objectives) {
    const double n = points;
    return points <= 64 ? 0.1 * n * (n + objectives) : 60.0 * n * objectives;
}

}  // namespace paretopo::cpu
