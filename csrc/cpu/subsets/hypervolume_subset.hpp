// A subset of large hypervolume of ONE set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/ranking/fronts.hpp"
#include "cpu/runtime/interrupt.hpp"
#include "cpu/runtime/warm.hpp"
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

    // Fills `chosen` with k points of a group, or with all that count if they are fewer. Returns
    // the index within the group of a value that is refused, or kNoneRefused.
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
    // Of the row at a place, counted from 1: nothing is before the first and behind the last.
    double first(std::size_t place) const { return place == 0 ? 0.0 : row(order_[place - 1])[0]; }
    double second(std::size_t place) const {
        return place > count_ ? 0.0 : row(order_[place - 1])[1];
    }

    std::size_t width_;
    HypervolumeOfSides volume_;
    Warm<Sides> sides_;
    Warm<DimensionSweep> sweep_;
    Present<double> given_;
    Ranker ranker_;

    // The points that none covers, of equal ones the first: all others add nothing to these.
    std::vector<double> front_;         // (count, objectives), sides
    std::vector<std::int32_t> origin_;  // of each row
    std::size_t count_ = 0;
    std::vector<std::uint32_t> picked_;  // rows, in the order of choice

    std::vector<std::uint8_t> kept_;
    std::vector<double> values_, point_;
    std::vector<double> members_;                  // rows that are in
    std::vector<std::uint32_t> member_of_, rows_;  // where each row is among them, and back
    std::vector<std::uint32_t> order_, place_;     // of 2 objectives: by the first side, and back
    std::vector<std::uint32_t> before_, after_;    // of each place, the nearest that is in
    std::vector<std::uint32_t> inside_;            // places that are in, ascending
    std::vector<double> best_, next_;              // of each place, as the last of its subset
    std::vector<std::uint32_t> envelope_;  // places, of which each is the best to come from in turn
    LazyQueue<true> gains_;
    LazyQueue<false> losses_;
    Pace pace_;
};

}  // namespace paretopo::cpu
