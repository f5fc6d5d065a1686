#include "cpu/filter_sweep.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>

#include "cpu/isa.hpp"
#include "cpu/lanes/on_lanes.hpp"
#include "cpu/lanes/promising.hpp"

namespace paretopo::cpu {

// False where the pass does not pay. The values may change meanwhile, in the hands of another
// thread of the host program: whatever is found then, it is indices.
template <typename Scalar>
bool FilterSweep::find_promising(const Scalar* values, std::int32_t points, std::int32_t objectives,
                                 std::uint64_t minimised) {
    constexpr std::int32_t kMostSampled = 256;
    constexpr std::int32_t kTried = 1024;
    const std::int32_t sampled = std::min(kMostSampled, points / 4);
    std::array<Scalar, kMostSampled * 3> sample;
    for (std::int32_t k = 0; k < sampled; ++k) {
        const std::int64_t point = std::int64_t{points} * k / sampled;
        std::copy_n(values + point * objectives, objectives,
                    sample.begin() + std::ptrdiff_t{k} * objectives);
    }
    std::array<Scalar, kPivots * 3> pivots;
    PARETOPO_ON_LANES(pick_pivots, sample.data(), sampled, objectives, minimised, pivots.data());

    const std::int32_t tried = std::min(points, kTried);
    promising_.resize(static_cast<std::size_t>(points));
    std::int32_t count = PARETOPO_ON_LANES(promising, values, 0, tried, objectives, minimised,
                                           pivots.data(), promising_.data());
    if (count > tried - tried / 4) return false;
    count += PARETOPO_ON_LANES(promising, values, tried, points, objectives, minimised,
                               pivots.data(), promising_.data() + count);
    promising_.resize(static_cast<std::size_t>(count));
    return true;
}

template <typename Scalar>
void FilterSweep::filter(const Batch<Scalar>& batch, std::int64_t g, bool keep_weakly,
                         std::uint8_t* chosen) {
    std::fill_n(chosen, batch.points, std::uint8_t{0});
    auto& set = [this]() -> Present<Scalar>& {
        if constexpr (std::is_same_v<Scalar, float>) {
            return floats_;
        } else {
            return doubles_;
        }
    }();
    if (!batch.mask &&
        find_promising(batch.group(g), batch.points, batch.objectives, batch.minimised)) {
        set.take(batch.group(g), promising_, batch.objectives);
    } else {
        set.take(batch, g);
        if (batch.mask && set.count > 0 &&
            find_promising(set.values.data(), set.count, batch.objectives, batch.minimised)) {
            set.keep(promising_, batch.objectives);
        }
    }
    sweep(set, batch.objectives, batch.minimised, keep_weakly, chosen);
}

template <typename Scalar>
void FilterSweep::sweep(const Present<Scalar>& set, std::int32_t objectives,
                        std::uint64_t minimised, bool keep_weakly, std::uint8_t* chosen) {
    if (set.count == 0) return;
    const ObjectiveOrder order(set.values.data(), set.count, objectives, 0, From::kBest,
                               (minimised & 1) != 0, scratch_);
    const auto key = [&](std::int32_t point, std::int32_t m) -> std::uint64_t {
        return best_first(
            set.values[static_cast<std::size_t>(std::int64_t{point} * objectives + m)],
            (minimised >> m & 1) != 0);
    };
    const auto choose = [&](std::int32_t point) {
        chosen[set.index[static_cast<std::size_t>(point)]] = 1;
    };
    std::uint64_t best = ~std::uint64_t{0};
    bool is_first = true;
    staircase_.clear();
    const auto enters = [&](std::uint64_t y, std::uint64_t z) {
        if (objectives == 2) {
            if (!is_first && y >= best) return false;
            is_first = false;
            best = y;
            return true;
        }
        if (staircase_.covers(y, z)) return false;
        staircase_.insert(y, z, [](const auto&) {});
        return true;
    };
    const std::int32_t last = objectives - 1;
    const std::size_t size = order.size();
    for (std::size_t first = 0, end = 0; first < size; first = end) {
        for (++end; end < size && order.repeats(end);) ++end;
        if (end - first == 1) {
            const std::int32_t point = order.point(first);
            if (enters(key(point, 1), key(point, last))) choose(point);
            continue;
        }
        column_.clear();
        for (std::size_t k = first; k < end; ++k) {
            const std::int32_t point = order.point(k);
            column_.push_back({key(point, 1), key(point, last), point});
        }
        if (!std::is_sorted(column_.begin(), column_.end())) {
            std::sort(column_.begin(), column_.end());
        }
        const Keyed* entered = nullptr;
        for (const Keyed& item : column_) {
            if (entered && entered->y == item.y && entered->z == item.z) {
                if (keep_weakly) choose(item.point);
                continue;
            }
            if (!enters(item.y, item.z)) continue;
            choose(item.point);
            entered = &item;
        }
    }
}

template void FilterSweep::filter(const Batch<float>&, std::int64_t, bool, std::uint8_t*);
template void FilterSweep::filter(const Batch<double>&, std::int64_t, bool, std::uint8_t*);

}  // namespace paretopo::cpu
