// A subset of large hypervolume of ONE set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/ranking/fronts.hpp"
#include "cpu/runtime/interrupt.hpp"
#include "cpu/runtime/thread_scratch.hpp"
#include "cpu/subsets/lazy_queue.hpp"
#include "cpu/subsets/subsets.hpp"
#include "cpu/volume/dimension_sweep.hpp"
#include "cpu/volume/hypervolume_of_sides.hpp"
#include "cpu/volume/sides.hpp"

namespace paretopo::cpu {

// Scratch of one thread.
class HypervolumeSubset {
  public:
    explicit HypervolumeSubset(std::int32_t objectives)
        : width_(static_cast<std::size_t>(objectives)), volume_(objectives) {}

    // Fills `chosen` with k points of a group, or with all present points if there are fewer.
    // Returns the index within the group of a value that is refused, or kNoneRefused.
    template <typename Scalar>
    std::int64_t choose(const Batch<Scalar>& batch, std::int64_t g, const double* ref,
                        std::int32_t k, SubsetMethod method, std::vector<std::int64_t>& chosen);

  private:
    void find_front();
    void pick(std::size_t k, SubsetMethod method);
    void add(std::size_t k);
    void remove(std::size_t k);
    void pick_best(std::size_t k);

    void sort_by_first();
    double gain(std::uint32_t row);
    double loss(std::uint32_t row);
    void put_last(std::uint32_t row);

    const double* row(std::size_t i) const { return front_.data() + i * width_; }
    bool is_plane() const { return width_ == 2; }
    // The sides of the row at a position, counted from 1: both are 0 before the first and after the
    // last.
    double first(std::size_t place) const { return place == 0 ? 0.0 : row(order_[place - 1])[0]; }
    double second(std::size_t place) const {
        return place > count_ ? 0.0 : row(order_[place - 1])[1];
    }

    std::size_t width_;
    HypervolumeOfSides volume_;
    ThreadScratch<Sides> sides_;
    ThreadScratch<DimensionSweep> sweep_;
    Present<double> given_;
    Ranker ranker_;

    // The points that no other covers, among equal ones the first: all others add nothing to these.
    std::vector<double> front_;         // (count, objectives), sides
    std::vector<std::int32_t> origin_;  // the index of each row in its group
    std::size_t count_ = 0;
    std::vector<std::uint32_t> picked_;  // rows, in the order of choice

    std::vector<std::uint8_t> kept_;
    std::vector<double> values_, point_;
    std::vector<double> members_;                  // rows of the members
    std::vector<std::uint32_t> member_of_, rows_;  // maps between rows and members
    std::vector<std::uint32_t> order_, place_;     // 2 objectives: order by first side, and inverse
    std::vector<std::uint32_t> before_, after_;    // for each position, the nearest members
    std::vector<std::uint32_t> inside_;            // positions of members, ascending
    std::vector<double> best_, next_;              // of each position, as the last of its subset
    std::vector<std::uint32_t> envelope_;  // positions; each is the best predecessor in turn
    LazyQueue<true> gains_;
    LazyQueue<false> losses_;
    Poller poller_;
};

}  // namespace paretopo::cpu
