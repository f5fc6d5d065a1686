#include "cpu/ranking/filter_sweep.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "cpu/lanes/isa.hpp"
#include "cpu/lanes/ranking.hpp"
#include "cpu/runtime/for_each_group.hpp"
#include "cpu/runtime/interrupt.hpp"
#include "cpu/tuning/instruction_sets.hpp"

namespace paretopo::cpu {

template <typename Scalar>
bool looks_like_a_front(const Scalar* values, std::int32_t points, std::int32_t objectives,
                        std::uint64_t minimised) {
    constexpr std::int32_t kSampled = 16;
    if (points < kSampled) return false;
    std::array<std::array<std::uint64_t, 3>, kSampled> keys{};
    for (std::size_t k = 0; k < kSampled; ++k) {
        const Scalar* point =
            values + points * static_cast<std::int64_t>(k) / kSampled * objectives;
        for (std::int32_t m = 0; m < objectives; ++m) {
            keys[k][static_cast<std::size_t>(m)] = best_first(point[m], (minimised >> m & 1) != 0);
        }
    }
    bool is_any_dominated = false;
    for (std::size_t k = 1; k < kSampled; ++k) {
        for (std::size_t j = 0; j < k; ++j) {
            bool is_at_least = true, is_at_most = true;
            for (std::size_t m = 0; m < 3; ++m) {
                is_at_least &= keys[k][m] >= keys[j][m];
                is_at_most &= keys[k][m] <= keys[j][m];
            }
            is_any_dominated |= is_at_least | is_at_most;
        }
    }
    return !is_any_dominated;
}

template <typename Scalar>
std::int32_t most_filtered_in_rows(std::int32_t objectives) {
    const std::int32_t most = kernels().tuning.most_in_rows<Scalar>();
    return objectives <= 2   ? kMaxFlatInRows
           : objectives == 3 ? std::max(kMaxFlatInRows, most / 2)
                             : most;
}

template <typename Scalar>
void FilterSweep::Points<Scalar>::fill_keys(ScratchArray<std::uint64_t>& keys) const {
    keys.resize(static_cast<std::size_t>(count));
    for_each_chunk(keys.size(), 2.0, [&](std::size_t, std::size_t first, std::size_t end) {
        std::uint64_t* to = keys.data();
        const Points set = *this;  // a copy, which writing the keys cannot change
        const bool flip = (set.minimised & 1) != 0;
        const auto step = static_cast<std::size_t>(set.objectives);
        if (!set.places) {
            for (std::size_t k = first; k < end; ++k) {
                to[k] = best_first(set.values[k * step], flip);
            }
            return;
        }
        for (std::size_t k = first; k < end; ++k) {
            to[k] = best_first(set.point(static_cast<std::uint32_t>(k))[0], flip);
        }
    });
}

namespace {

// Room for the values of 8 pivots of 2 objectives, or 4 of 3.
template <typename Scalar>
using Pivots = std::array<Scalar, std::size_t{16}>;

// Moves each pivot to the next worse float in all objectives but the first, which the kernel
// compares strictly: it then beats only points that are worse in every objective.
template <typename Scalar>
void worsen(Pivots<Scalar>& pivots, std::int32_t objectives, std::uint64_t minimised) {
    constexpr Scalar kInfinity = std::numeric_limits<Scalar>::infinity();
    for (std::int32_t p = 0; p < pivots_of(objectives); ++p) {
        for (std::int32_t m = 1; m < objectives; ++m) {
            Scalar& value = pivots[static_cast<std::size_t>(p * objectives + m)];
            const Scalar worst = (minimised >> m & 1) != 0 ? kInfinity : -kInfinity;
            // NaN beats nothing.
            value = value == worst ? std::numeric_limits<Scalar>::quiet_NaN()
                                   : std::nextafter(value, worst);
        }
    }
}

// With 2 or 3 objectives, faster than std::copy_n, which calls a function. Returns the end.
template <typename Scalar>
Scalar* copy_point(const Scalar* point, std::int32_t objectives, Scalar* to) {
    to[0] = point[0];
    to[1] = point[1];
    if (objectives == 3) to[2] = point[2];
    return to + objectives;
}

// Picks a few points of a sample that dominate many others. False: there are too few points.
template <typename Scalar>
bool pick_pivots(const Scalar* values, std::int32_t points, const std::uint8_t* mask,
                 std::int32_t objectives, std::uint64_t minimised, bool is_strict,
                 Pivots<Scalar>& pivots) {
    // The best points of a larger sample dominate more, but a sample costs time, too.
    const std::int32_t some =
        objectives == 2 ? std::clamp(points / 64, 128, 4096) : std::clamp(points / 16, 256, 4096);
    const std::int32_t step = std::max(points / some, 4);
    ScratchArray<Scalar> sample;  // too large for the stack
    sample.resize(static_cast<std::size_t>(points / step) * static_cast<std::size_t>(objectives));
    Scalar* to = sample.data();
    for (std::int32_t next = step; next <= points; next += step) {
        std::int32_t point = next - step;
        while (mask && point < next && mask[point] == 0) ++point;
        if (point == next) continue;
        to = copy_point(values + std::int64_t{point} * objectives, objectives, to);
    }
    const auto sampled = static_cast<std::int32_t>((to - sample.data()) / objectives);
    if (sampled < kLeastSampled) return false;
    kernels().pivots.of<Scalar>().pick(sample.data(), sampled, objectives, minimised,
                                       pivots.data());
    if (is_strict) worsen(pivots, objectives, minimised);
    return true;
}

// The best second value of the points seen.
struct Best {
    std::uint64_t most;  // a point with a larger value is covered
    bool covers(std::uint64_t y, std::uint64_t /*z*/) const { return y > most; }
    bool enter(std::uint64_t y, std::uint64_t z) {
        if (covers(y, z)) return false;
        most = y - 1;  // no value has the key 0
        return true;
    }
};

}  // namespace

// False if the pass does not pay off. Another thread of the host program may change the values
// during the call; the results are valid indices in any case.
template <typename Scalar>
bool FilterSweep::find_promising(const Points<Scalar>& all, const std::uint8_t* mask) {
    const Scalar* values = all.values;
    const std::int32_t points = all.count;
    const std::int32_t objectives = all.objectives;
    const std::uint64_t minimised = all.minimised;
    constexpr std::int32_t kTried = 256;
    const PivotKernels<Scalar>& kernel = kernels().pivots.of<Scalar>();
    Pivots<Scalar> pivots;
    const bool is_strict = all.filter.is_strict;
    // Pivots would probably drop few points of a front.
    if (!mask && looks_like_a_front(values, points, objectives, minimised)) return false;
    if (!pick_pivots(values, points, mask, objectives, minimised, is_strict, pivots)) return false;

    const std::int32_t tried = std::min(points, kTried);
    promising_.resize(static_cast<std::size_t>(tried));
    std::int32_t count = kernel.find_promising(values, 0, tried, objectives, minimised,
                                               pivots.data(), promising_.data());
    if (count > tried - tried / 4) return false;
    promising_.resize(static_cast<std::size_t>(points));
    // Chunk by chunk, each into its own place, so that threads can share them; then made
    // contiguous.
    const auto rest = static_cast<std::size_t>(points - tried);
    counts_.assign(chunks_of(rest), 0);
    for_each_chunk(rest, 2.0, [&, pivots](std::size_t c, std::size_t first, std::size_t end) {
        counts_[c] =
            kernel.find_promising(values, tried + static_cast<std::int32_t>(first),
                                  tried + static_cast<std::int32_t>(end), objectives, minimised,
                                  pivots.data(), promising_.data() + tried + first);
    });
    auto to = promising_.begin() + count;
    for (std::size_t c = 0; c < counts_.size(); ++c) {
        const auto from = promising_.begin() + tried + static_cast<std::ptrdiff_t>(c * kChunk);
        to = std::copy_n(from, counts_[c], to);
    }
    promising_.erase(to, promising_.end());
    if (mask) std::erase_if(promising_, [mask](std::int32_t i) { return mask[i] == 0; });
    return true;
}

// Repeats the pass among the remaining points as long as it pays off, since each of them costs a
// sort.
template <typename Scalar>
void FilterSweep::thin_out(const Points<Scalar>& all) {
    const std::int32_t few = most_filtered_in_rows<Scalar>(all.objectives);
    ScratchArray<Scalar> values;
    for (std::int32_t before = 0;;) {
        const Points<Scalar> left = all.of(promising_);
        if (left.count <= few || (before > 0 && left.count > before - before / 4)) return;
        before = left.count;
        values.resize(static_cast<std::size_t>(left.count * std::int64_t{left.objectives}));
        Scalar* to = values.data();
        for (std::int32_t k = 0; k < left.count; ++k) {
            constexpr std::int32_t kAhead = 16;
            left.prefetch(static_cast<std::uint32_t>(std::min(k + kAhead, left.count - 1)));
            to = copy_point(left.point(static_cast<std::uint32_t>(k)), left.objectives, to);
        }
        Pivots<Scalar> pivots;
        pick_pivots(values.data(), left.count, nullptr, left.objectives, left.minimised,
                    left.filter.is_strict, pivots);
        kept_.resize(promising_.size());
        const std::int32_t kept = kernels().pivots.of<Scalar>().find_promising(
            values.data(), 0, left.count, left.objectives, left.minimised, pivots.data(),
            kept_.data());
        for (std::int32_t k = 0; k < kept; ++k) {
            const auto place = static_cast<std::size_t>(k);
            promising_[place] = promising_[static_cast<std::size_t>(kept_[place])];
        }
        promising_.resize(static_cast<std::size_t>(kept));
    }
}

template <typename Scalar>
void FilterSweep::find_nondominated(const Batch<Scalar>& batch, std::int64_t g, Filter filter,
                                    std::uint8_t* nondominated) {
    std::fill_n(nondominated, batch.points, std::uint8_t{0});
    const Points<Scalar> all{batch.group(g),   nullptr,         batch.points,
                             batch.objectives, batch.minimised, filter};
    const std::uint8_t* mask = batch.group_mask(g);
    // This scan stops at once unless all points are equal.
    const Scalar* end = all.values + std::int64_t{all.count} * all.objectives;
    if (!mask && std::equal(all.values + all.objectives, end, all.values)) {
        std::fill_n(nondominated, batch.points, static_cast<std::uint8_t>(filter.keep_duplicates));
        nondominated[0] = 1;
        return;
    }
    const bool has_dropped = find_promising(all, mask);
    if (!has_dropped && mask) {
        promising_.clear();
        for (std::int32_t i = 0; i < batch.points; ++i) {
            if (mask[i] != 0) promising_.push_back(i);
        }
    }
    const Points<Scalar> set = has_dropped || mask ? all.of(promising_) : all;
    if (compare_pairs(set, nondominated)) return;
    if (set.objectives == 2 ? sweep_cells<2>(*cells_of_two_, set, nondominated)
                            : sweep_cells<3>(*cells_of_three_, set, nondominated)) {
        return;
    }
    if (!has_dropped) return sweep(set, nondominated);
    thin_out(all);
    const Points<Scalar> left = all.of(promising_);
    if (!compare_pairs(left, nondominated)) sweep(left, nondominated);
}

template <typename Scalar>
void FilterSweep::sweep(const Points<Scalar>& set, std::uint8_t* nondominated) {
    set.fill_keys(order_->keys);
    order_->sort();
    if (set.objectives == 2) return sweep_two(set, nondominated);
    staircase_.clear();
    const auto read = [set, order = order_->sorted()](std::size_t i) {
        set.prefetch(order.ahead(i));
        const std::uint32_t k = order.at(i);
        return Keyed{set.second(k), set.third(k), k};
    };
    enter_in_order(set, 0, order_->size(), nondominated, read, staircase_);
}

// False if there are too many points.
template <typename Scalar>
bool FilterSweep::compare_pairs(const Points<Scalar>& set, std::uint8_t* nondominated) {
    if (set.count == 0) return true;
    if (set.filter.is_strict || set.count > most_filtered_in_rows<Scalar>(set.objectives)) {
        return false;
    }
    Scalar values[3 * kMaxInRows];
    std::uint8_t kept[kMaxInRows];
    Scalar* to = values;
    for (std::uint32_t k = 0; k < static_cast<std::uint32_t>(set.count); ++k) {
        to = copy_point(set.point(k), set.objectives, to);
    }
    kernels().sets.of<Scalar>().find_nondominated(values, set.count, set.objectives, set.minimised,
                                                  set.filter.keep_duplicates, kept);
    for (std::uint32_t k = 0; k < static_cast<std::uint32_t>(set.count); ++k) {
        nondominated[set.place(k)] = kept[k];
    }
    return true;
}

// False if the values do not fit cells. The cells are in the order of the sweep, without repeats.
template <int kObjectives, typename Scalar>
bool FilterSweep::sweep_cells(Cells<kObjectives>& cells, const Points<Scalar>& set,
                              std::uint8_t* nondominated) {
    const auto read = [&](std::size_t at) {
        const auto k = static_cast<std::uint32_t>(at);
        typename Cells<kObjectives>::Keys keys;
        keys[0] = best_first(set.point(k)[0], (set.minimised & 1) != 0);
        keys[1] = set.second(k);
        if constexpr (kObjectives == 3) keys[2] = set.third(k);
        return keys;
    };
    if (!cells.fill(static_cast<std::size_t>(set.count), read)) return false;
    kept_cells_.assign(cells.size(), 0);
    staircase_.clear();
    const std::size_t column_size = cells.size() / cells.extent(0);
    const std::size_t row_size = column_size / cells.extent(1);
    Poller poller;
    for (std::size_t first = 0; first < cells.size(); first += column_size) {
        const auto for_each_here = [&](const auto& visit) {
            for (std::size_t at = 0; at < column_size; ++at) {
                poller.step();
                // Numbers from 1, as a strict dominator is better by at least 1.
                if (cells.holds_points(first + at)) {
                    visit(first + at, at / row_size + 1, at % row_size + 1);
                }
            }
        };
        if (set.filter.is_strict) {
            for_each_here([&](std::size_t cell, std::size_t y, std::size_t z) {
                kept_cells_[cell] = !staircase_.covers(y - 1, kObjectives == 2 ? z : z - 1);
            });
        }
        for_each_here([&](std::size_t cell, std::size_t y, std::size_t z) {
            const bool enters = staircase_.enter(y, z);
            if (!set.filter.is_strict) kept_cells_[cell] = enters;
        });
    }
    for (std::uint32_t k = 0; k < static_cast<std::uint32_t>(set.count); ++k) {
        std::uint8_t& is_kept = kept_cells_[cells.of(k)];
        nondominated[set.place(k)] = is_kept;
        if (!set.filter.keep_duplicates) is_kept = 0;
    }
    return true;
}

// A point is non-dominated if its second objective beats those of all points that are better in the
// first: at most the points that the chunks keep. By strict dominance it need only be as good.
template <typename Scalar>
void FilterSweep::sweep_two(const Points<Scalar>& set, std::uint8_t* nondominated) {
    constexpr std::uint64_t kAny = ~std::uint64_t{0};
    const SortedKeys order = order_->sorted();
    const std::size_t size = order.size;
    const auto sweep_from = [&](std::size_t first, std::size_t end, std::uint64_t most,
                                const auto& read) {
        Best best{most};
        enter_in_order(set, first, end, nondominated, read, best);
    };
    if (size <= kChunk || threads() == 1) {
        if (!set.places && improves_along(order, set.values, (set.minimised & 2) != 0)) {
            std::fill_n(nondominated, size, std::uint8_t{1});
            return;
        }
        return sweep_from(0, size, kAny, [set, order](std::size_t i) {
            set.prefetch(order.ahead(i));
            const std::uint32_t k = order.at(i);
            return Keyed{set.second(k), 0, k};
        });
    }
    // Fetches the second values in order, so that threads can start from the best of the chunks
    // before.
    constexpr double kFetchCost = 5.0;  // ns, for values at random addresses
    seconds_.resize(size);
    std::vector<std::uint64_t> most_before(chunks_of(size) + 1, kAny);
    for_each_chunk(size, kFetchCost, [&](std::size_t c, std::size_t first, std::size_t end) {
        std::uint64_t best = kAny;
        for (std::size_t i = first; i < end; ++i) {
            set.prefetch(order.ahead(i));
            seconds_[i] = set.second(order.at(i));
            best = std::min(best, seconds_[i]);
        }
        most_before[c + 1] = best - 1;
    });
    for (std::size_t c = 1; c < most_before.size(); ++c) {
        most_before[c] = std::min(most_before[c], most_before[c - 1]);
    }
    for_each_chunk(size, kFetchCost, [&](std::size_t c, std::size_t first, std::size_t end) {
        const std::uint64_t* seconds = seconds_.data();
        std::uint64_t most = most_before[c];
        for (; first < end && order.repeats(first); ++first) {
            most = std::min(most, seconds[first] - 1);
        }
        if (first == end) return;  // inside a column that belongs to an earlier chunk
        sweep_from(first, end, most, [=](std::size_t i) {
            __builtin_prefetch(nondominated + set.place(order.ahead(i)), 1);
            return Keyed{seconds[i], 0, order.at(i)};
        });
    });
}

// Visits points in descending order of the first objective, from `first` until a column ends at or
// after `stop`. Among equal values, points that could dominate others come first. A strict
// dominator lies in an earlier column, and is better by at least one key in the other objectives.
template <typename Scalar, typename Read, typename Seen>
void FilterSweep::enter_in_order(const Points<Scalar>& set, std::size_t first, std::size_t stop,
                                 std::uint8_t* nondominated, const Read& read, Seen& seen) {
    // A test of is_strict for each point costs 3 %.
    if (set.filter.is_strict) return enter<true>(set, first, stop, nondominated, read, seen);
    return enter<false>(set, first, stop, nondominated, read, seen);
}

template <bool is_strict, typename Scalar, typename Read, typename Seen>
void FilterSweep::enter(const Points<Scalar>& set, std::size_t first, std::size_t stop,
                        std::uint8_t* nondominated, const Read& read, Seen& seen) {
    const SortedKeys order = order_->sorted();
    const auto enters = [&seen](const Keyed& item) { return seen.enter(item.y, item.z); };
    const auto stays = [&](const Keyed& item) {
        return is_strict ? !seen.covers(item.y - 1, item.z - 1) : enters(item);
    };
    std::vector<Keyed> column;  // points with the same first value
    Poller poller;
    for (std::size_t end = first; first < stop; first = end) {
        poller.step();
        for (++end; end < order.size && order.repeats(end);) ++end;
        if (end - first == 1) {
            const Keyed item = read(first);
            nondominated[set.place(item.k)] = stays(item);
            if (is_strict) enters(item);
            continue;
        }
        column.clear();
        for (std::size_t i = first; i < end; ++i) column.push_back(read(i));
        if (!std::is_sorted(column.begin(), column.end())) {
            std::sort(column.begin(), column.end());
        }
        const Keyed* kept = nullptr;
        for (const Keyed& item : column) {
            const bool is_copy = kept && kept->y == item.y && kept->z == item.z;
            const bool is_kept = is_copy ? set.filter.keep_duplicates : stays(item);
            if (is_kept) nondominated[set.place(item.k)] = 1;
            if (is_kept && !is_copy) kept = &item;
        }
        if (!is_strict) continue;
        for (const Keyed& item : column) enters(item);
    }
}

template bool looks_like_a_front(const float*, std::int32_t, std::int32_t, std::uint64_t);
template bool looks_like_a_front(const double*, std::int32_t, std::int32_t, std::uint64_t);
template std::int32_t most_filtered_in_rows<float>(std::int32_t);
template std::int32_t most_filtered_in_rows<double>(std::int32_t);
template void FilterSweep::find_nondominated(const Batch<float>&, std::int64_t, Filter,
                                             std::uint8_t*);
template void FilterSweep::find_nondominated(const Batch<double>&, std::int64_t, Filter,
                                             std::uint8_t*);

}  // namespace paretopo::cpu
