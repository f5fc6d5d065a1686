#include "cpu/filter_sweep.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "cpu/for_each_group.hpp"
#include "cpu/isa.hpp"
#include "cpu/lanes/interrupt.hpp"

namespace paretopo::cpu {

// False where the pass does not pay. The values may change meanwhile, in the hands of another
// thread of the host program: whatever is found then, it is indices.
template <typename Scalar>
bool FilterSweep::find_promising(const Points<Scalar>& all, const std::uint8_t* mask) {
    const Scalar* values = all.values;
    const std::int32_t points = all.count;
    const std::int32_t objectives = all.objectives;
    const std::uint64_t minimised = all.minimised;
    constexpr std::int32_t kMostSampled = 256;
    constexpr std::int32_t kTried = 256;
    constexpr std::int32_t kFewSampled = 32;
    const std::int32_t wanted =
        std::clamp(points / 16, std::min(kFewSampled, points / 4), kMostSampled);
    std::array<Scalar, kMostSampled * 3> sample;
    std::int32_t sampled = 0;
    for (std::int32_t k = 0; k < wanted; ++k) {
        std::int64_t point = std::int64_t{points} * k / wanted;
        const std::int64_t next = std::int64_t{points} * (k + 1) / wanted;
        while (mask && point < next && mask[point] == 0) ++point;
        if (point == next) continue;
        std::copy_n(values + point * objectives, objectives,
                    sample.begin() + std::ptrdiff_t{sampled++} * objectives);
    }
    if (sampled < kPivots) return false;
    std::array<Scalar, kPivots * 3> pivots;
    const KernelsOf<Scalar>& kernel = kernels().of<Scalar>();
    kernel.pick_pivots(sample.data(), sampled, objectives, minimised, pivots.data());

    const std::int32_t tried = std::min(points, kTried);
    promising_.resize(static_cast<std::size_t>(tried));
    std::int32_t count = kernel.find_promising(values, 0, tried, objectives, minimised,
                                               pivots.data(), promising_.data());
    if (count > tried - tried / 4) return false;
    promising_.resize(static_cast<std::size_t>(points));
    // Part by part, each at its own place, so that threads may share them; then side by side.
    constexpr std::int32_t kPart = 1 << 16;
    const std::int64_t parts = (std::int64_t{points} - tried + kPart - 1) / kPart;
    counts_.assign(static_cast<std::size_t>(parts), 0);
    const double cost = all.is_alone ? 2.0 * kPart : 0.0;  // ns; other groups have threads already
    for_each_group(parts, cost, [&, pivots](std::int64_t part) {
        const std::int64_t first = tried + part * kPart;
        const std::int64_t end = std::min<std::int64_t>(first + kPart, points);
        counts_[static_cast<std::size_t>(part)] = kernel.find_promising(
            values, static_cast<std::int32_t>(first), static_cast<std::int32_t>(end), objectives,
            minimised, pivots.data(), promising_.data() + first);
    });
    auto to = promising_.begin() + count;
    for (std::int64_t part = 0; part < parts; ++part) {
        const auto from = promising_.begin() + (tried + part * kPart);
        to = std::copy_n(from, counts_[static_cast<std::size_t>(part)], to);
    }
    promising_.erase(to, promising_.end());
    if (mask) std::erase_if(promising_, [mask](std::int32_t i) { return mask[i] == 0; });
    return true;
}

template <typename Scalar>
void FilterSweep::find_nondominated(const Batch<Scalar>& batch, std::int64_t g, bool keep_weakly,
                                    std::uint8_t* nondominated) {
    std::fill_n(nondominated, batch.points, std::uint8_t{0});
    const Points<Scalar> all{batch.group(g),  nullptr,     batch.points,     batch.objectives,
                             batch.minimised, keep_weakly, batch.groups == 1};
    const std::uint8_t* mask = batch.group_mask(g);
    // Points that are all equal end this soon, others at once.
    const Scalar* end = all.values + std::int64_t{all.count} * all.objectives;
    if (!mask && std::equal(all.values + all.objectives, end, all.values)) {
        std::fill_n(nondominated, batch.points, static_cast<std::uint8_t>(keep_weakly));
        nondominated[0] = 1;
        return;
    }
    if (find_promising(all, mask)) return sweep(all.of(promising_), nondominated);
    if (!mask) return sweep(all, nondominated);
    promising_.clear();
    for (std::int32_t i = 0; i < batch.points; ++i) {
        if (mask[i] != 0) promising_.push_back(i);
    }
    sweep(all.of(promising_), nondominated);
}

template <typename Scalar>
void FilterSweep::sweep(const Points<Scalar>& set, std::uint8_t* nondominated) {
    if (set.count == 0) return;
    set.fill_keys(order_->keys);
    order_->sort();
    if (set.objectives == 2) {
        bool is_first = true;
        std::uint64_t best = 0;
        enter_in_order(set, nondominated, [&](std::uint64_t y, std::uint64_t) {
            const bool enters = is_first || y < best;
            is_first = false;
            best = enters ? y : best;
            return enters;
        });
    } else {
        staircase_.clear();
        enter_in_order(set, nondominated, [&](std::uint64_t y, std::uint64_t z) {
            if (staircase_.covers(y, z)) return false;
            staircase_.insert(y, z, [](const auto&) {});
            return true;
        });
    }
}

// Best first in the first objective; of equal values those first that could dominate another.
template <typename Scalar, typename Enters>
void FilterSweep::enter_in_order(const Points<Scalar>& set, std::uint8_t* nondominated,
                                 const Enters& enters) {
    const KeyOrder& order = *order_;
    const std::size_t size = order.size();
    Pace pace;
    for (std::size_t first = 0, end = 0; first < size; first = end) {
        pace.step();
        constexpr std::size_t kAhead = 32;  // points, whose values lie anywhere
        if (first + kAhead < size) set.prefetch(order.at(first + kAhead));
        for (++end; end < size && order.repeats(end);) ++end;
        if (end - first == 1) {
            const std::uint32_t k = order.at(first);
            nondominated[set.place(k)] = enters(set.second(k), set.third(k));
            continue;
        }
        column_.clear();
        for (std::size_t i = first; i < end; ++i) {
            const std::uint32_t k = order.at(i);
            column_.push_back({set.second(k), set.third(k), k});
        }
        if (!std::is_sorted(column_.begin(), column_.end())) {
            std::sort(column_.begin(), column_.end());
        }
        const Keyed* entered = nullptr;
        for (const Keyed& item : column_) {
            const bool is_copy = entered && entered->y == item.y && entered->z == item.z;
            const bool is_kept = is_copy ? set.keep_weakly : enters(item.y, item.z);
            if (is_kept) nondominated[set.place(item.k)] = 1;
            if (is_kept && !is_copy) entered = &item;
        }
    }
}

template void FilterSweep::find_nondominated(const Batch<float>&, std::int64_t, bool,
                                             std::uint8_t*);
template void FilterSweep::find_nondominated(const Batch<double>&, std::int64_t, bool,
                                             std::uint8_t*);

}  // namespace paretopo::cpu
