// Reference-direction niching: the last step of NSGA-III (Deb and Jain, 2014), for ONE set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/runtime/interrupt.hpp"

namespace paretopo::cpu {

// Splitmix64 (Steele, Lea and Flood, 2014): the same numbers on every machine.
class Draws {
  public:
    explicit Draws(std::uint64_t seed) : state_(seed) {}

    // A random one of 0..count-1; with count 1, draws no number.
    std::size_t below(std::size_t count) {
        if (count == 1) return 0;
        std::uint64_t bits = state_ += 0x9e3779b97f4a7c15U;
        bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9U;
        bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebU;
        bits ^= bits >> 31;
        return static_cast<std::size_t>(((bits >> 32) * count) >> 32);
    }

  private:
    std::uint64_t state_;
};

// Scratch of one thread.
class Niching {
  public:
    explicit Niching(std::int32_t objectives) : width_(static_cast<std::size_t>(objectives)) {}

    // values: (count, objectives), smaller is better, all finite, front by front. The first
    // `leading` points are the first front, the first `kept` points are on whole fronts, and those
    // from there to `end` on the front that is cut. directions: (niches, objectives), of length 1.
    // Fills `chosen` with `wanted` rows of the front that is cut.
    void choose(std::vector<double>& values, std::size_t count, std::size_t leading,
                std::size_t kept, std::size_t end, std::size_t wanted, const double* directions,
                std::size_t niches, std::uint64_t seed, std::vector<std::size_t>& chosen);

  private:
    void normalise(double* values, std::size_t count, std::size_t leading);
    bool find_intercepts(const double* values, std::size_t leading);
    void associate(const double* values, std::size_t count, const double* directions,
                   std::size_t niches);

    std::size_t width_;
    std::vector<double> ideal_, worst_, span_;  // (objectives,)
    std::vector<double> plane_;                 // (objectives, objectives + 1)
    std::vector<double> extremes_;              // (objectives, objectives)
    std::vector<std::size_t> niche_;            // (end,)
    std::vector<double> distance_;              // (end,), squared, from the assigned direction
    std::vector<std::size_t> members_;          // (niches,), how many chosen points each has
    std::vector<std::vector<std::size_t>> candidates_;  // (niches,), rows, ascending
    std::vector<std::size_t> emptiest_;
    Poller poller_;
};

}  // namespace paretopo::cpu
