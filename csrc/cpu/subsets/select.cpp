#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "cpu/ranking/fronts.hpp"
#include "cpu/runtime/for_each_group.hpp"
#include "cpu/runtime/interrupt.hpp"
#include "cpu/subsets/hypervolume_subset.hpp"
#include "cpu/subsets/lazy_queue.hpp"
#include "cpu/subsets/niching.hpp"
#include "cpu/subsets/subsets.hpp"
#include "cpu/volume/sides.hpp"
#include "formulas/crowding.hpp"
#include "ops.hpp"

namespace paretopo::cpu {
namespace {

// The crowding distances of one front while points are removed: only neighbours change.
class CrowdingRemoval {
  public:
    // values: (count, objectives), larger is better. kept[i]: 1 for the `left` points that remain.
    void remove(const std::vector<double>& values, std::size_t count, std::size_t objectives,
                std::size_t left, std::vector<std::uint8_t>& kept) {
        values_ = &values;
        count_ = count;
        objectives_ = objectives;
        link();
        kept.assign(count, 1);
        measure_all(kept);
        for (std::size_t members = count; members > left; --members) {
            poller_.step();
            const std::size_t least = losses_.take([this](std::uint32_t i) { return measure(i); });
            kept[least] = 0;
            bool is_flatter = false;
            for (std::size_t m = 0; m < objectives_; ++m) is_flatter |= unlink(least, m);
            if (is_flatter && members - 1 > left) measure_all(kept);
        }
    }

  private:
    static constexpr std::uint32_t kEnd = std::numeric_limits<std::uint32_t>::max();

    double value(std::size_t i, std::size_t m) const { return (*values_)[i * objectives_ + m]; }

    // Worst first in each objective; equal values in the order of the points, NaN before all.
    void link() {
        before_.assign(objectives_ * count_, kEnd);
        after_.assign(objectives_ * count_, kEnd);
        first_.resize(objectives_);
        last_.resize(objectives_);
        lowest_.resize(objectives_);
        highest_.resize(objectives_);
        order_.resize(count_);
        for (std::size_t m = 0; m < objectives_; ++m) {
            check_interrupt();
            std::iota(order_.begin(), order_.end(), 0U);
            std::sort(order_.begin(), order_.end(), [this, m](std::uint32_t a, std::uint32_t b) {
                const double one = value(a, m);
                const double other = value(b, m);
                if (std::isnan(one) || std::isnan(other)) {
                    return std::isnan(one) != std::isnan(other) ? std::isnan(one) : a < b;
                }
                return one != other ? one < other : a < b;
            });
            for (std::size_t k = 0; k + 1 < count_; ++k) {
                after_[m * count_ + order_[k]] = order_[k + 1];
                before_[m * count_ + order_[k + 1]] = order_[k];
            }
            first_[m] = order_.front();
            last_[m] = order_.back();
        }
    }

    // Measures all members. Until an objective becomes flat, distances only grow: an end leaves
    // only when all members are ends, and then no span counts.
    void measure_all(const std::vector<std::uint8_t>& kept) {
        for (std::size_t m = 0; m < objectives_; ++m) {
            lowest_[m] = value(first_[m], m);
            highest_[m] = value(last_[m], m);
        }
        distances_.assign(count_, 0.0);
        for (std::size_t i = 0; i < count_; ++i) {
            if (kept[i] != 0) distances_[i] = measure(i);
        }
        losses_.begin(distances_, kept.data());
    }

    // Takes point i out of objective m; did that make the objective flat?
    bool unlink(std::size_t i, std::size_t m) {
        const std::size_t place = m * count_ + i;
        const std::uint32_t before = before_[place];
        const std::uint32_t after = after_[place];
        (before != kEnd ? after_[m * count_ + before] : first_[m]) = after;
        (after != kEnd ? before_[m * count_ + after] : last_[m]) = before;
        return !is_flat(lowest_[m], highest_[m]) &&
               is_flat(value(first_[m], m), value(last_[m], m));
    }

    double measure(std::size_t i) const {
        double distance = 0.0;
        for (std::size_t m = 0; m < objectives_; ++m) {
            if (is_flat(lowest_[m], highest_[m])) continue;
            const std::uint32_t before = before_[m * count_ + i];
            const std::uint32_t after = after_[m * count_ + i];
            if (before == kEnd || after == kEnd) return kAtAnEnd;
            distance += crowding_gap(value(before, m), value(after, m), lowest_[m], highest_[m]);
        }
        return distance;
    }

    const std::vector<double>* values_ = nullptr;
    std::size_t count_ = 0;
    std::size_t objectives_ = 0;
    std::vector<std::uint32_t> order_, before_, after_;  // (objectives, count), neighbours
    std::vector<std::uint32_t> first_, last_;            // the members at the ends of objectives
    std::vector<double> lowest_, highest_, distances_;   // as measure_all found them
    LazyQueue<false> losses_;
    Poller poller_;
};

template <typename Scalar>
class GroupSelection {
  public:
    GroupSelection(Batch<Scalar> batch, Cutting cutting, std::int32_t k, const std::int32_t* ranks,
                   std::int64_t* survivors, FirstRefused* refused)
        : batch_(batch),
          cutting_(cutting),
          width_(static_cast<std::size_t>(batch.objectives)),
          k_(static_cast<std::size_t>(k)),
          ranks_(ranks),
          survivors_(survivors),
          refused_(refused),
          subset_(batch.objectives),
          niching_(batch.objectives) {}

    void operator()(std::int64_t g) {
        set_.take(batch_, g);
        if (refused_->note(batch_, g, find_refused())) return;
        by_front(g);
        const auto count = static_cast<std::size_t>(set_.count);
        std::size_t whole = 0;  // points of the fronts that fit
        std::size_t end = 0;    // and of the next front
        leading_ = 0;
        while (end < count && end < k_) {
            whole = end;
            const std::int32_t front = rank_of(places_[end]);
            while (end < count && rank_of(places_[end]) == front) ++end;
            if (whole == 0) leading_ = end;
        }
        chosen_.assign(places_.begin(),
                       places_.begin() + static_cast<std::ptrdiff_t>(end <= k_ ? end : whole));
        if (end > k_ && whole < k_) cut(g, whole, end);
        std::sort(chosen_.begin(), chosen_.end());
        std::int64_t* out = survivors_ + g * static_cast<std::int64_t>(k_);
        for (const std::size_t place : chosen_) *out++ = set_.index[place];
        std::fill_n(out, k_ - chosen_.size(), kNoPoint);
    }

  private:
    // The index within the group of the first value that the cut refuses.
    std::int64_t find_refused() const {
        const bool all_finite = cutting_.cut == Cut::kReferenceDirections;
        if (!all_finite && cutting_.cut != Cut::kHypervolume) return kNoneRefused;
        for (std::size_t at = 0; at < static_cast<std::size_t>(set_.count) * width_; ++at) {
            const auto m = static_cast<std::int32_t>(at % width_);
            const double value =
                oriented(static_cast<double>(set_.values[at]), batch_.is_minimised(m));
            if (value <= kLargestSide && (value >= -kLargestSide || !all_finite)) continue;
            return std::int64_t{set_.index[at / width_]} * batch_.objectives + m;
        }
        return kNoneRefused;
    }

    std::int32_t rank_of(std::size_t place) const { return own_ranks_[place]; }

    // places_: the points of the set, front by front.
    void by_front(std::int64_t g) {
        const auto count = static_cast<std::size_t>(set_.count);
        own_ranks_.resize(count);
        starts_.assign(static_cast<std::size_t>(batch_.points) + 1, 0);
        for (std::size_t place = 0; place < count; ++place) {
            // kUnranked can only appear here if another thread has changed the mask during the
            // call.
            own_ranks_[place] = std::max(ranks_[g * batch_.points + set_.index[place]], 0);
            ++starts_[static_cast<std::size_t>(own_ranks_[place]) + 1];
        }
        std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
        places_.resize(count);
        for (std::size_t place = 0; place < count; ++place) {
            places_[starts_[static_cast<std::size_t>(own_ranks_[place])]++] = place;
        }
    }

    // Appends k - whole of the points whole..end to `chosen_`.
    void cut(std::int64_t g, std::size_t whole, std::size_t end) {
        const std::size_t count = end - whole;
        const std::size_t wanted = k_ - whole;
        const std::size_t* front = places_.data() + whole;
        switch (cutting_.cut) {
            case Cut::kCrowding:
                measure_front(front, count);
                crowds_.assign(count, 0.0);
                zeros_.assign(count, 0);
                crowding_distance(front_batch(count), zeros_.data(), crowds_.data());
                rows_.resize(count);
                std::iota(rows_.begin(), rows_.end(), std::size_t{0});
                std::partial_sort(
                    rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(wanted), rows_.end(),
                    [this](std::size_t a, std::size_t b) {
                        return crowds_[a] != crowds_[b] ? crowds_[a] > crowds_[b] : a < b;
                    });
                rows_.resize(wanted);
                break;
            case Cut::kCrowdingRemoval:
                orient(front, count, 1.0);
                crowding_.remove(values_, count, width_, wanted, kept_);
                rows_.clear();
                for (std::size_t i = 0; i < count; ++i) {
                    if (kept_[i] != 0) rows_.push_back(i);
                }
                break;
            case Cut::kHypervolume: {
                measure_front(front, count);
                const double* ref = cutting_.ref.of(g, batch_.objectives);
                subset_.choose(front_batch(count), 0, ref, static_cast<std::int32_t>(wanted),
                               SubsetMethod::kGreedyRemoval, kept_rows_);
                rows_.assign(kept_rows_.begin(), kept_rows_.end());
                break;
            }
            case Cut::kReferenceDirections:
                orient(places_.data(), places_.size(), -1.0);
                niching_.choose(values_, places_.size(), leading_, whole, end, wanted,
                                cutting_.directions, static_cast<std::size_t>(cutting_.count),
                                cutting_.seed, rows_);
                for (std::size_t& row : rows_) row -= whole;
                break;
        }
        for (const std::size_t row : rows_) chosen_.push_back(front[row]);
    }

    void measure_front(const std::size_t* front, std::size_t count) {
        front_.resize(count * width_);
        for (std::size_t i = 0; i < count; ++i) {
            std::copy_n(&set_.values[front[i] * width_], width_, &front_[i * width_]);
        }
    }

    Batch<Scalar> front_batch(std::size_t count) const {
        return {front_.data(),     nullptr,         1, static_cast<std::int32_t>(count),
                batch_.objectives, batch_.minimised};
    }

    // values_: those of some points, times `sign` if larger is better.
    void orient(const std::size_t* places, std::size_t count, double sign) {
        values_.resize(count * width_);
        for (std::size_t i = 0; i < count; ++i) {
            for (std::size_t m = 0; m < width_; ++m) {
                const bool is_minimised = batch_.is_minimised(static_cast<std::int32_t>(m));
                const auto value = static_cast<double>(set_.values[places[i] * width_ + m]);
                values_[i * width_ + m] = sign * oriented(value, is_minimised);
            }
        }
    }

    Batch<Scalar> batch_;
    Cutting cutting_;
    std::size_t width_, k_;
    const std::int32_t* ranks_;
    std::int64_t* survivors_;
    FirstRefused* refused_;
    Present<Scalar> set_;
    std::vector<std::int32_t> own_ranks_;       // of each place
    std::vector<std::size_t> starts_, places_;  // of each front; and of the points, front by front
    std::size_t leading_ = 0;                   // points of the first front
    std::vector<std::size_t> chosen_;           // places
    std::vector<Scalar> front_;                 // the front that is cut
    std::vector<double> values_;
    std::vector<std::size_t> rows_;  // rows of that front
    std::vector<double> crowds_;
    std::vector<std::int32_t> zeros_;
    std::vector<std::uint8_t> kept_;
    std::vector<std::int64_t> kept_rows_;
    CrowdingRemoval crowding_;
    HypervolumeSubset subset_;
    Niching niching_;
};

std::vector<double> unit_directions(const Cutting& cutting, std::size_t width) {
    std::vector<double> units(cutting.directions,
                              cutting.directions + static_cast<std::size_t>(cutting.count) * width);
    for (auto row = units.begin(); row != units.end(); row += static_cast<std::ptrdiff_t>(width)) {
        double squares = 0.0;
        for (std::size_t m = 0; m < width; ++m) squares += row[m] * row[m];
        for (std::size_t m = 0; m < width; ++m) row[m] /= std::sqrt(squares);
    }
    return units;
}

}  // namespace

template <typename Scalar>
std::int64_t select(Batch<Scalar> batch, Cutting cutting, std::int32_t k, std::int64_t* survivors) {
    if (batch.groups == 0) return kNoneRefused;
    std::vector<std::int32_t> ranks(static_cast<std::size_t>(batch.groups) *
                                    static_cast<std::size_t>(batch.points));
    pareto_rank(batch, ranks.data());
    std::vector<double> units;
    if (cutting.cut == Cut::kReferenceDirections) {
        units = unit_directions(cutting, static_cast<std::size_t>(batch.objectives));
        cutting.directions = units.data();
    }
    FirstRefused refused;
    double cost = (2.0 + batch.objectives) * ranking_cost(batch.points, batch.objectives);
    if (cutting.cut == Cut::kHypervolume) cost += volume_cost(batch.points, batch.objectives);
    if (cutting.cut == Cut::kReferenceDirections) {
        cost += static_cast<double>(cutting.count) * batch.points * batch.objectives;
    }
    for_each_group(batch.groups, cost,
                   GroupSelection<Scalar>(batch, cutting, k, ranks.data(), survivors, &refused));
    return refused.index();
}

template std::int64_t select(Batch<float>, Cutting, std::int32_t, std::int64_t*);
template std::int64_t select(Batch<double>, Cutting, std::int32_t, std::int64_t*);

}  // namespace paretopo::cpu
