// Launches of csrc/gpu/ on the CPU, one lane after another. Some lanes run backwards, and shared
// memory starts with garbage, so that a step that wrongly depends on another lane gives wrong
// results.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gpu/launch/column.hpp"
#include "gpu/launch/limits.hpp"
#include "ops.hpp"

namespace paretopo::emulated {

class Team {
  public:
    Team(int lanes, bool backwards) : lanes_(lanes), backwards_(backwards) {}

    int lanes() const { return lanes_; }

    template <typename Number>
    struct Own {
        Number of[gpu::kWarpLanes];
        Number& operator[](int lane) { return of[lane]; }
    };
    template <typename Number>
    Number of_lane(Own<Number>& numbers, int lane) const {
        return numbers[lane];
    }

    template <typename Step>
    void each(Step step) {
        for (int k = 0; k < lanes_; ++k) step(backwards_ ? lanes_ - 1 - k : k);
    }
    template <typename Step>
    void each_unsynced(Step step) {
        each(step);
    }
    template <typename Step>
    bool any(Step step) {
        bool found = false;
        each([&](int lane) { found |= step(lane); });
        return found;
    }
    template <typename Step>
    int count(Step step) {
        int all = 0;
        each([&](int lane) { all += step(lane); });
        return all;
    }
    template <typename Step>
    double sum(Step step) {
        double all = 0.0;
        for (int lane = 0; lane < lanes_; ++lane) all += step(lane);
        return all;
    }
    template <typename Test>
    std::uint64_t ballot(std::int32_t count, Test test) {
        std::uint64_t found = 0;
        for (std::int32_t i = 0; i < count; ++i) found |= std::uint64_t{test(i)} << i;
        return found;
    }
    template <typename Work>
    void one_warp(Work work) {
        work(*this);
    }
    template <typename Integer>
    void atomic_max(Integer* at, Integer value) const {
        *at = std::max(*at, value);
    }
    template <typename Integer>
    void atomic_min(Integer* at, Integer value) const {
        *at = std::min(*at, value);
    }
    template <typename Integer>
    Integer atomic_add(Integer* at, Integer value) const {
        return (*at += value) - value;
    }

  private:
    int lanes_;
    bool backwards_;
};

class Launcher {
  public:
    explicit Launcher(Mapping mapping) : mapping_(mapping) {}

    std::int64_t parts(std::int64_t points) const { return std::min<std::int64_t>(points, 3); }

    template <typename Job>
    void threads(std::int64_t count, const Job& job) const {
        for (std::int64_t g = 0; g < count; ++g) job(g);
    }
    template <typename T, int kCount, typename Job>
    void threads_with_columns(std::int64_t count, const Job& job) const {
        T column[kCount];
        for (std::int64_t g = 0; g < count; ++g) job(g, gpu::Column<T>{column, 1});
    }
    template <typename Job>
    void warps(std::int64_t count, std::int64_t bytes, const Job& job) const {
        constexpr std::uint64_t kGarbage = 0x7ff4dead7ff4dead;  // NaN as a float and as a double
        std::vector<std::uint64_t> memory(static_cast<std::size_t>(bytes) / 8 + 2);
        for (std::int64_t k = 0; k < count; ++k) {
            std::fill(memory.begin(), memory.end(), kGarbage);
            Team warp(gpu::kWarpLanes, mapping_ == Mapping::kWarp && k % 2 == 0);
            job(warp, k, reinterpret_cast<char*>(memory.data()));
        }
    }
    template <typename Job>
    void blocks(std::int64_t parts, std::int64_t groups, const Job& job) const {
        for (std::int64_t g = groups - 1; g >= 0; --g) {
            for (std::int64_t part = parts - 1; part >= 0; --part) {
                Team block(5, mapping_ == Mapping::kGrid);
                job(block, part, parts, g);
            }
        }
    }

  private:
    Mapping mapping_;
};

}  // namespace paretopo::emulated

namespace paretopo {

using Here = Emulated;

inline emulated::Launcher launcher_of(const Emulated& place, const char*) {
    return emulated::Launcher(place.mapping);
}
inline gpu::Limits limits_of(const Emulated& place) { return gpu::limits_for(place.mapping, 4); }

}  // namespace paretopo
