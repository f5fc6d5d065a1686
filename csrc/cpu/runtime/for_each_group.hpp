// Threads over groups. A group is always computed by one thread with its own scratch, so results
// do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "batch.hpp"

namespace paretopo::cpu {

void set_threads(int threads);
int threads();

// The groups of a call, in pieces that its threads take.
class SharedGroups {
  public:
    struct Piece {
        std::int64_t first, end;
    };

    SharedGroups(std::int64_t groups, std::int64_t piece, bool one_thread)
        : groups_(groups), piece_(piece), one_thread_(one_thread) {}
    Piece take();           // empty if no group is left; throws if the call is interrupted
    void leave_the_rest();  // no thread takes another piece

  private:
    std::int64_t groups_, piece_;
    bool one_thread_;
    std::atomic<std::int64_t> next_{0};
};

// Calls `work` in this thread, and concurrently in others if the groups are worth it. `group_cost`
// is a rough estimate in ns.
void share_groups(std::int64_t groups, double group_cost,
                  const std::function<void(SharedGroups&)>& work);

// Calls work(g) for every group. `Work` is copied once per thread: its members are the scratch of
// that thread. The loop stands in one place, since compilers inline `work` into each.
template <typename Work>
void for_each_group(std::int64_t groups, double group_cost, const Work& work) {
    share_groups(groups, group_cost, [&work](SharedGroups& shared) {
        Work mine(work);
        for (auto piece = shared.take(); piece.first < piece.end; piece = shared.take()) {
            for (std::int64_t g = piece.first; g < piece.end; ++g) mine(g);
        }
    });
}

// The items of ONE large set, in chunks that threads share.
constexpr std::size_t kChunk = std::size_t{1} << 16;
constexpr std::size_t chunks_of(std::size_t size) { return (size + kChunk - 1) / kChunk; }

// Calls work(chunk, first item, end) for every chunk. `item_cost`: as `group_cost`, of an item.
template <typename Work>
void for_each_chunk(std::size_t size, double item_cost, const Work& work) {
    for_each_group(static_cast<std::int64_t>(chunks_of(size)), item_cost * kChunk,
                   [&](std::int64_t chunk) {
                       const auto c = static_cast<std::size_t>(chunk);
                       work(c, c * kChunk, std::min((c + 1) * kChunk, size));
                   });
}

// Calls work(first group, end) for parts of a batch that the lanes take.
template <typename Scalar, typename Work>
void for_each_part(const Batch<Scalar>& batch, const Work& work) {
    constexpr std::int64_t kPart = 128;  // groups; a multiple of every number of lanes
    const double n = batch.points;
    for_each_group((batch.groups + kPart - 1) / kPart, kPart * (4.0 + 0.1 * n * n),
                   [&](std::int64_t part) {
                       const std::int64_t first = part * kPart;
                       work(first, std::min(first + kPart, batch.groups));
                   });
}

}  // namespace paretopo::cpu
