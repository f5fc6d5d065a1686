// One set of any size and its ranks, for the operations that begin with ranking.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "batch.hpp"
#include "cpu/lanes/ranking.hpp"
#include "cpu/ranking/large_fronts.hpp"
#include "cpu/runtime/compacted.hpp"

namespace paretopo::cpu {

// The present points of one group, copied into our own memory, so that the algorithms do not see
// changes that another thread of the host program makes to its array.
template <typename Scalar>
struct Present {
    std::vector<Scalar> values;       // (count, objectives)
    std::vector<std::int32_t> index;  // the index of each in its group
    std::int32_t count = 0;

    void take(const Batch<Scalar>& batch, std::int64_t g) {
        const Scalar* group = batch.group(g);
        const std::uint8_t* mask = batch.group_mask(g);
        const auto objectives = static_cast<std::size_t>(batch.objectives);
        const auto points = static_cast<std::size_t>(batch.points);
        values.resize(points * objectives);
        index.resize(points);
        count = batch.points;
        if (!mask) {
            std::copy_n(group, points * objectives, values.data());
            std::iota(index.begin(), index.end(), 0);
            return;
        }
        count = 0;
        for (std::int32_t i = 0; i < batch.points; ++i) {
            if (mask[i] == 0) continue;
            std::copy_n(group + i * static_cast<std::int64_t>(objectives), objectives,
                        values.data() + static_cast<std::size_t>(count) * objectives);
            index[static_cast<std::size_t>(count++)] = i;
        }
    }

    // Copies points of another set, given their indices there.
    void take(const Present& from, const std::vector<std::int32_t>& places,
              std::int32_t objectives) {
        const auto width = static_cast<std::size_t>(objectives);
        values.resize(places.size() * width);
        index = places;
        count = static_cast<std::int32_t>(places.size());
        for (std::size_t k = 0; k < places.size(); ++k) {
            std::copy_n(from.values.data() + static_cast<std::size_t>(places[k]) * width, width,
                        values.data() + k * width);
        }
    }
};

// Scratch of one thread.
class Ranker {
  public:
    // values: (count, objectives), ranks: (count,). Returns the number of fronts. Another thread of
    // the host program may change the values during the call; the ranks are below that number in
    // any case.
    template <typename Scalar>
    std::int32_t rank(const Scalar* values, std::int32_t count, std::int32_t objectives,
                      std::uint64_t minimised, std::int32_t* ranks);

    // nondominated: (set.count,), 1 for a point that no other dominates; of equal points only the
    // first, unless keep_duplicates.
    template <typename Scalar>
    void find_nondominated(const Present<Scalar>& set, std::int32_t objectives,
                           std::uint64_t minimised, bool keep_duplicates,
                           std::uint8_t* nondominated);

  private:
    // survivors_: the points that may be non-dominated; all of them if thinning does not pay off.
    template <typename Scalar>
    void thin_out(const Present<Scalar>& set, std::int32_t objectives, std::uint64_t minimised);

    SortedCodes sorted_;
    PlanarRanker planar_;
    SpatialRanker spatial_;
    std::vector<std::int32_t> distinct_ranks_;
    std::vector<std::uint8_t> distinct_nondominated_;
    std::vector<std::int32_t> survivors_;
};

// True if the lanes take this many groups of a batch, up to `most_flat` points with 2 or 3
// objectives. Few groups would leave most lanes empty, and groups too large to compact would waste
// time on their padding.
template <typename Scalar>
bool are_for_lanes(const Batch<Scalar>& batch, std::int64_t groups, std::int32_t most_flat) {
    return groups >= kMinGroupsInLanes && fits_lanes(batch.points, batch.objectives, most_flat) &&
           (!batch.mask || batch.points <= kMaxCompacted);
}

// As is_nondominated, but only a point that is better in every objective drops another one. For
// tensors that torch traces and on a GPU, Python composes it from other calls.
template <typename Scalar>
void filter_strictly(Batch<Scalar> batch, bool keep_duplicates, std::uint8_t* kept);

// An estimate, in ns, for the choice of threads.
inline double ranking_cost(std::int32_t points, std::int32_t objectives) {
    const double n = points;
    return points <= 64 ? 0.1 * n * (n + objectives) : 60.0 * n * objectives;
}

}  // namespace paretopo::cpu
