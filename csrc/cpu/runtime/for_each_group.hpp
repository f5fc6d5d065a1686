// Threads over groups. A group is always computed by one thread with its own scratch, so results
// do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>

#include "batch.hpp"
#include "cpu/runtime/call.hpp"
#include "cpu/runtime/floating_point.hpp"

namespace paretopo::cpu {

void set_threads(int threads);
int threads();

// Calls `task` in this thread and concurrently in up to `others` more; returns when every call has
// returned. The task must divide its work among any number of calls and must not throw. Threads
// that join too late are not waited for. Any thread may call this at any time, also from a task.
void run_on_threads(int others, const std::function<void()>& task);

// Calls work(g) for every group. `Work` is copied once per thread: its members are the scratch of
// that thread. `group_cost` (ns, a rough estimate) decides whether threads are worth it.
template <typename Work>
void for_each_group(std::int64_t groups, double group_cost, const Work& work) {
    constexpr double kThreadCost = 50e3;  // ns of work that is worth waking a thread for
    constexpr double kGrainCost = 20e3;   // ns of work taken from the queue at a time

    const double worth = static_cast<double>(groups) * group_cost / kThreadCost;
    const auto wanted = static_cast<std::int64_t>(std::min(worth, static_cast<double>(threads())));
    const std::int64_t workers = std::min(wanted, groups);
    const std::int64_t most =
        std::max<std::int64_t>(1, groups / (4 * std::max(workers, std::int64_t{1})));
    const std::int64_t grain = std::clamp<std::int64_t>(
        static_cast<std::int64_t>(kGrainCost / std::max(group_cost, 1e-3)), 1, most);
    if (workers <= 1) {
        const IeeeArithmetic scope;
        Work mine(work);
        for (std::int64_t first = 0; first < groups; first += grain) {
            if (first > 0) check_interrupt();
            const std::int64_t end = std::min(first + grain, groups);
            for (std::int64_t g = first; g < end; ++g) mine(g);
        }
        return;
    }

    std::atomic<std::int64_t> next{0};
    std::exception_ptr failure;
    std::mutex failure_lock;
    const auto run = [&, call = current_call()] {
        const WorkingFor scope(call);
        try {
            const IeeeArithmetic scope;
            Work mine(work);
            for (;;) {
                const std::int64_t first = next.fetch_add(grain);
                if (first >= groups) return;
                check_interrupt();
                const std::int64_t end = std::min(first + grain, groups);
                for (std::int64_t g = first; g < end; ++g) mine(g);
            }
        } catch (...) {
            const std::lock_guard<std::mutex> hold(failure_lock);
            if (!failure) failure = std::current_exception();
            next.store(groups);
        }
    };

    run_on_threads(static_cast<int>(workers - 1), run);
    if (failure) std::rethrow_exception(failure);
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
