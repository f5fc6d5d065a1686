// Launches of csrc/gpu/ on the CPU with lanes as fibers, under ThreadSanitizer. They detect races
// that launcher.hpp cannot, because it runs one lane after another. Lanes synchronise only at a
// team's barriers; votes and sums of a warp order no memory, as on a device.
//
// A barrier can be left out to show that it is needed, see the end. scripts/check_waits.py leaves
// out one barrier after another.
#pragma once

#include <cxxabi.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <typeinfo>
#include <vector>

#include "emulated/fibers.hpp"
#include "gpu/launch/column.hpp"
#include "gpu/launch/limits.hpp"
#include "ops.hpp"

namespace paretopo::emulated {

// The barriers of the program, one for each type of step, and flags for those that are left out.
struct Waits {
    static std::vector<std::string>& names() {
        static std::vector<std::string> names;
        return names;
    }
    static int register_wait(const char* mangled) {
        if (names().size() == kMax) std::abort();
        names().push_back(abi::__cxa_demangle(mangled, nullptr, nullptr, nullptr));
        return static_cast<int>(names().size()) - 1;
    }
    PARETOPO_UNSEEN static bool is_left_out(int wait) { return left_out[wait]; }
    PARETOPO_UNSEEN static void leave_out(int wait) { left_out[wait] = true; }

    static constexpr int kMax = 1024;
    static inline bool left_out[kMax];
};
template <typename Step>
inline const int wait_after = Waits::register_wait(typeid(Step).name());

// The common part of warps and blocks.
class Team {
  public:
    Team(Barrier& barrier, int lanes, int lane) : barrier_(barrier), lanes_(lanes), lane_(lane) {}

    int lanes() const { return lanes_; }

    template <typename Step>
    void each(Step step) {
        step(lane_);
        if (!Waits::is_left_out(wait_after<Step>)) Fibers::arrive(barrier_, true);
    }
    template <typename Step>
    void each_unsynced(Step step) {
        step(lane_);
    }
    template <typename Integer>
    void atomic_max(Integer* at, Integer value) const {
        replace(at, value, [](Integer there, Integer own) { return there < own; });
    }
    template <typename Integer>
    void atomic_min(Integer* at, Integer value) const {
        replace(at, value, [](Integer there, Integer own) { return there > own; });
    }
    template <typename Integer>
    Integer atomic_add(Integer* at, Integer value) const {
        return __atomic_fetch_add(at, value, __ATOMIC_RELAXED);
    }

  protected:
    // Calls add(value) with the published value of each lane, in their order.
    template <typename Add>
    void exchange(std::uint64_t own, Add add) {
        barrier_.publish(lane_, own);
        Fibers::arrive(barrier_, false);
        for (int lane = 0; lane < lanes_; ++lane) add(barrier_.published(lane));
    }
    Barrier& barrier_;
    int lanes_;
    int lane_;

  private:
    template <typename Integer, typename Test>
    static void replace(Integer* at, Integer value, Test is_to_be_replaced) {
        Integer there = __atomic_load_n(at, __ATOMIC_RELAXED);
        while (is_to_be_replaced(there, value) &&
               !__atomic_compare_exchange_n(at, &there, value, true, __ATOMIC_RELAXED,
                                            __ATOMIC_RELAXED)) {
        }
    }
};

class Warp : public Team {
  public:
    using Team::Team;

    template <typename Number>
    struct Own {
        Number own;
        Number& operator[](int) { return own; }
    };
    template <typename Number>
    Number of_lane(Own<Number>& numbers, int lane) {
        Number found{};
        int k = 0;
        exchange(static_cast<std::uint64_t>(numbers.own), [&](std::uint64_t value) {
            if (k++ == lane) found = static_cast<Number>(value);
        });
        return found;
    }

    template <typename Step>
    bool any(Step step) {
        return count(step) != 0;
    }
    template <typename Step>
    int count(Step step) {
        std::uint64_t all = 0;
        exchange(static_cast<std::uint64_t>(step(lane_)),
                 [&](std::uint64_t value) { all += value; });
        return static_cast<int>(all);
    }
    template <typename Step>
    double sum(Step step) {
        const double own = step(lane_);
        double all = 0.0;
        exchange(std::bit_cast<std::uint64_t>(own),
                 [&](std::uint64_t value) { all += std::bit_cast<double>(value); });
        return all;
    }
    template <typename Test>
    std::uint64_t ballot(std::int32_t count, Test test) {
        std::uint64_t own = 0;
        for (std::int32_t i = lane_; i < count; i += lanes_) own |= std::uint64_t{test(i)} << i;
        std::uint64_t all = 0;
        exchange(own, [&](std::uint64_t value) { all |= value; });
        return all;
    }
};

inline constexpr int kBlockLanes = 8;
inline constexpr int kBlockWarpLanes = 4;

class Block : public Team {
  public:
    // numbers: one for each lane.
    Block(Barrier& barrier, int lanes, int lane, Barrier& warp_barrier, double* numbers)
        : Team(barrier, lanes, lane), warp_barrier_(warp_barrier), numbers_(numbers) {}

    template <typename Step>
    double sum(Step step) {
        numbers_[lane_] = step(lane_);
        Fibers::arrive(barrier_, true);
        double all = 0.0;
        for (int lane = 0; lane < lanes_; ++lane) all += numbers_[lane];
        return all;
    }
    template <typename Work>
    void one_warp(Work work) {
        if (lane_ < kBlockWarpLanes) {
            Warp warp(warp_barrier_, kBlockWarpLanes, lane_);
            work(warp);
        }
        if (!Waits::is_left_out(wait_after<Work>)) Fibers::arrive(barrier_, true);
    }

  private:
    Barrier& warp_barrier_;
    double* numbers_;
};

// Few warps and blocks at once, so that each runs several jobs in turn, as on a device.
class Launcher {
  public:
    std::int64_t parts(std::int64_t points) const { return std::min<std::int64_t>(points, 3); }

    template <typename Job>
    void threads(std::int64_t count, const Job& job) const {
        const auto at_once = static_cast<int>(std::min<std::int64_t>(count, 64));
        Fibers::run(at_once, [&](int k) {
            for (std::int64_t g = k; g < count; g += at_once) job(g);
        });
    }
    template <typename T, int kCount, typename Job>
    void threads_with_columns(std::int64_t count, const Job& job) const {
        const auto at_once = static_cast<int>(std::min<std::int64_t>(count, 64));
        std::vector<T> columns(static_cast<std::size_t>(kCount) * at_once);
        Fibers::run(at_once, [&](int k) {
            const gpu::Column<T> own{columns.data() + k, at_once};
            for (std::int64_t g = k; g < count; g += at_once) job(g, own);
        });
    }
    template <typename Job>
    void warps(std::int64_t count, std::int64_t bytes, const Job& job) const {
        constexpr std::uint64_t kGarbage = 0x7ff4dead7ff4dead;  // NaN as a float and as a double
        const auto at_once = static_cast<int>(std::min<std::int64_t>(count, 4));
        const auto words = static_cast<std::size_t>(bytes) / 8 + 2;
        std::vector<std::uint64_t> memory(words * at_once, kGarbage);
        std::vector<Barrier> barriers(at_once, Barrier(gpu::kWarpLanes));
        Fibers::run(at_once * gpu::kWarpLanes, [&](int k) {
            const int own = k / gpu::kWarpLanes;
            Warp warp(barriers[own], gpu::kWarpLanes, k % gpu::kWarpLanes);
            for (std::int64_t j = own; j < count; j += at_once) {
                job(warp, j, reinterpret_cast<char*>(memory.data() + words * own));
            }
        });
    }
    template <typename Job>
    void blocks(std::int64_t parts, std::int64_t groups, const Job& job) const {
        const auto rows = static_cast<int>(std::min<std::int64_t>(groups, 2));
        const int blocks = rows * static_cast<int>(parts);
        std::vector<Barrier> barriers(blocks, Barrier(kBlockLanes));
        std::vector<Barrier> warp_barriers(blocks, Barrier(kBlockWarpLanes));
        std::vector<double> numbers(static_cast<std::size_t>(blocks) * kBlockLanes);
        Fibers::run(blocks * kBlockLanes, [&](int k) {
            const int own = k / kBlockLanes;
            Block block(barriers[own], kBlockLanes, k % kBlockLanes, warp_barriers[own],
                        numbers.data() + own * kBlockLanes);
            for (std::int64_t g = own / parts; g < groups; g += rows) {
                job(block, own % parts, parts, g);
            }
        });
    }
};

}  // namespace paretopo::emulated

namespace paretopo {

using Here = Emulated;

inline emulated::Launcher launcher_of(const Emulated&, const char*) { return {}; }
inline gpu::Limits limits_of(const Emulated& place) {
    return gpu::limits_for(place.mapping, emulated::kBlockWarpLanes);
}

}  // namespace paretopo

#define PARETOPO_FOR_TESTS extern "C" __attribute__((visibility("default"), used)) inline

// The type of the step before barrier k; null after the last.
PARETOPO_FOR_TESTS const char* paretopo_wait(int k) {
    const auto& names = paretopo::emulated::Waits::names();
    return k < static_cast<int>(names.size()) ? names[static_cast<std::size_t>(k)].c_str()
                                              : nullptr;
}
// Disables barrier k.
PARETOPO_FOR_TESTS void paretopo_leave_out_wait(int k) { paretopo::emulated::Waits::leave_out(k); }
