#include "cpu/subsets/hypervolume_subset.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "cpu/runtime/for_each_group.hpp"
#include "cpu/runtime/memory_limit.hpp"

namespace paretopo::cpu {

template <typename Scalar>
std::int64_t HypervolumeSubset::choose(const Batch<Scalar>& batch, std::int64_t g,
                                       const double* ref, std::int32_t k, SubsetMethod method,
                                       std::vector<std::int64_t>& chosen) {
    const std::int64_t refused = sides_->measure(batch, g, ref);
    if (refused != kNoneRefused) return refused;
    find_front();
    const auto wanted = static_cast<std::size_t>(k);
    pick(std::min(wanted, count_), method);
    chosen.clear();
    for (const std::uint32_t row : picked_) chosen.push_back(origin_[row]);
    // Appends the other points, which add nothing, in their order; `origin_` is ascending.
    const std::uint8_t* mask = batch.group_mask(g);
    std::size_t next = 0;
    for (std::int32_t i = 0; i < batch.points && chosen.size() < wanted; ++i) {
        if (next < count_ && origin_[next] == i) {
            ++next;
        } else if (!mask || mask[i] != 0) {
            chosen.push_back(i);
        }
    }
    if (method != SubsetMethod::kGreedy) std::sort(chosen.begin(), chosen.end());
    return kNoneRefused;
}

void HypervolumeSubset::find_front() {
    const std::size_t count = sides_->count;
    given_.count = static_cast<std::int32_t>(count);
    given_.values.assign(sides_->values.begin(),
                         sides_->values.begin() + static_cast<std::ptrdiff_t>(count * width_));
    kept_.resize(count);
    ranker_.find_nondominated(given_, static_cast<std::int32_t>(width_), 0, false, kept_.data());
    front_.clear();
    origin_.clear();
    for (std::size_t i = 0; i < count; ++i) {
        if (kept_[i] == 0) continue;
        const double* from = given_.values.data() + i * width_;
        front_.insert(front_.end(), from, from + width_);
        origin_.push_back(sides_->index[i]);
    }
    count_ = origin_.size();
}

void HypervolumeSubset::pick(std::size_t k, SubsetMethod method) {
    picked_.clear();
    if (k == 0) return;
    if (k == count_ && method != SubsetMethod::kGreedy) {
        picked_.resize(k);
        std::iota(picked_.begin(), picked_.end(), 0U);
        return;
    }
    if (is_plane()) sort_by_first();
    switch (method) {
        case SubsetMethod::kGreedy:
            return add(k);
        case SubsetMethod::kGreedyRemoval:
            return remove(k);
        case SubsetMethod::kExact:
            return pick_best(k);
    }
}

// On a front of 2 objectives one side grows while the other shrinks.
void HypervolumeSubset::sort_by_first() {
    order_.resize(count_);
    place_.resize(count_);
    std::iota(order_.begin(), order_.end(), 0U);
    std::sort(order_.begin(), order_.end(),
              [this](std::uint32_t a, std::uint32_t b) { return row(a)[0] < row(b)[0]; });
    for (std::size_t k = 0; k < count_; ++k) place_[order_[k]] = static_cast<std::uint32_t>(k + 1);
}

// Repeatedly adds the point with the largest gain; gains only shrink.
void HypervolumeSubset::add(std::size_t k) {
    values_.resize(count_);
    for (std::size_t i = 0; i < count_; ++i) {
        values_[i] = std::accumulate(row(i), row(i) + width_, 1.0, std::multiplies<>());
    }
    gains_.begin(values_);
    inside_.clear();
    members_.clear();
    while (picked_.size() < k) {
        const std::uint32_t best =
            gains_.take([this](std::uint32_t candidate) { return gain(candidate); });
        picked_.push_back(best);
        if (is_plane()) {
            inside_.insert(std::upper_bound(inside_.begin(), inside_.end(), place_[best]),
                           place_[best]);
        } else {
            members_.insert(members_.end(), row(best), row(best) + width_);
        }
    }
}

double HypervolumeSubset::gain(std::uint32_t candidate) {
    poller_.step();
    if (!is_plane()) return volume_.exclusive(row(candidate), members_.data(), picked_.size());
    const std::uint32_t place = place_[candidate];
    const auto next = std::upper_bound(inside_.begin(), inside_.end(), place);
    const std::size_t before = next == inside_.begin() ? 0 : *(next - 1);
    const std::size_t after = next == inside_.end() ? count_ + 1 : *next;
    return (first(place) - first(before)) * (second(place) - second(after));
}

// Repeatedly removes the point with the smallest contribution; contributions only grow.
void HypervolumeSubset::remove(std::size_t k) {
    values_.resize(count_);
    kept_.assign(count_, 1);
    if (is_plane()) {
        before_.resize(count_ + 2);
        after_.resize(count_ + 2);
        for (std::size_t p = 0; p < count_ + 2; ++p) {
            before_[p] = static_cast<std::uint32_t>(p - 1);
            after_[p] = static_cast<std::uint32_t>(p + 1);
        }
        for (std::size_t i = 0; i < count_; ++i) values_[i] = loss(static_cast<std::uint32_t>(i));
    } else {
        members_ = front_;
        rows_.resize(count_);
        std::iota(rows_.begin(), rows_.end(), 0U);
        member_of_ = rows_;
        if (width_ == 3) {
            sweep_->contributions_3d(front_.data(), count_, nullptr, values_.data());
        } else {
            volume_.contributions(front_.data(), count_, 0, count_, values_.data());
        }
    }
    losses_.begin(values_);
    for (std::size_t left = count_; left > k; --left) {
        const std::uint32_t least =
            losses_.take([this](std::uint32_t member) { return loss(member); });
        kept_[least] = 0;
        if (is_plane()) {
            const std::uint32_t place = place_[least];
            after_[before_[place]] = after_[place];
            before_[after_[place]] = before_[place];
        } else {
            put_last(least);
            rows_.pop_back();
            members_.resize(members_.size() - width_);
        }
    }
    for (std::size_t i = 0; i < count_; ++i) {
        if (kept_[i] != 0) picked_.push_back(static_cast<std::uint32_t>(i));
    }
}

double HypervolumeSubset::loss(std::uint32_t member) {
    poller_.step();
    if (is_plane()) {
        const std::uint32_t place = place_[member];
        return (first(place) - first(before_[place])) * (second(place) - second(after_[place]));
    }
    put_last(member);
    return volume_.exclusive(row(member), members_.data(), rows_.size() - 1);
}

// All other members are then in the rows before it.
void HypervolumeSubset::put_last(std::uint32_t member) {
    const std::uint32_t place = member_of_[member];
    const std::uint32_t last = rows_.back();
    std::swap_ranges(members_.begin() + static_cast<std::ptrdiff_t>(place * width_),
                     members_.begin() + static_cast<std::ptrdiff_t>((place + 1) * width_),
                     members_.end() - static_cast<std::ptrdiff_t>(width_));
    std::swap(rows_[place], rows_.back());
    std::swap(member_of_[member], member_of_[last]);
}

// Finds the best subset of each size that ends at each position from those with one point less. The
// values are lines in the second side, and the upper envelope is visited in one direction, so that
// each size takes O(count) (Bringmann, Friedrich and Klitzke, 2014).
void HypervolumeSubset::pick_best(std::size_t k) {
    const std::size_t span = count_ - k + 1;  // positions where a subset of one size may end
    if ((k - 1) * span > static_cast<std::size_t>(most_bytes()) / sizeof(std::uint32_t)) {
        throw TooManyChoices{};
    }
    // Left uninitialised: zeroing would double the run time and could not be interrupted.
    const auto choices = std::make_unique_for_overwrite<std::uint32_t[]>((k - 1) * span);
    best_.resize(count_ + 1);
    next_.resize(count_ + 1);
    for (std::size_t p = 1; p <= span; ++p) best_[p] = first(p) * second(p);
    const auto volume = [this](std::size_t last, std::size_t place) {
        return best_[last] + (first(place) - first(last)) * second(place);
    };
    // The second side below which the later of two positions is the better predecessor. A quotient,
    // because a product of three sides may leave the range of doubles.
    const auto crossing = [this](std::size_t a, std::size_t b) {
        return (best_[b] - best_[a]) / (first(b) - first(a));
    };
    const auto is_idle = [&](std::size_t a, std::size_t b, std::size_t c) {
        return crossing(a, c) >= crossing(a, b);
    };
    for (std::size_t size = 2; size <= k; ++size) {
        std::uint32_t* choice = choices.get() + (size - 2) * span;
        envelope_.clear();
        std::size_t at = 0;
        for (std::size_t place = size; place < size + span; ++place) {
            poller_.step();
            const std::size_t newest = place - 1;
            while (envelope_.size() >= at + 2 &&
                   is_idle(envelope_[envelope_.size() - 2], envelope_.back(), newest)) {
                envelope_.pop_back();
            }
            envelope_.push_back(static_cast<std::uint32_t>(newest));
            while (at + 1 < envelope_.size() &&
                   volume(envelope_[at + 1], place) > volume(envelope_[at], place)) {
                ++at;
            }
            next_[place] = volume(envelope_[at], place);
            choice[place - size] = envelope_[at];
        }
        best_.swap(next_);
    }
    const auto from = best_.begin() + static_cast<std::ptrdiff_t>(k);
    auto place = static_cast<std::size_t>(
        std::max_element(from, from + static_cast<std::ptrdiff_t>(span)) - best_.begin());
    for (std::size_t size = k;; --size) {
        picked_.push_back(order_[place - 1]);
        if (size == 1) return;
        place = choices[(size - 2) * span + place - size];
    }
}

template <typename Scalar>
std::int64_t hypervolume_subset(Batch<Scalar> batch, References ref, std::int32_t k,
                                SubsetMethod method, std::int64_t* chosen) {
    if (method == SubsetMethod::kExact && batch.objectives > 2) {
        throw std::invalid_argument("exact subsets take 1 or 2 objectives");
    }
    FirstRefused refused;
    const auto work = [=, &refused, subset = HypervolumeSubset(batch.objectives),
                       own = std::vector<std::int64_t>()](std::int64_t g) mutable {
        const double* corner = ref.of(g, batch.objectives);
        if (refused.note(batch, g, subset.choose(batch, g, corner, k, method, own))) return;
        std::int64_t* out = chosen + g * k;
        std::fill(std::copy(own.begin(), own.end(), out), out + k, kNoPoint);
    };
    for_each_group(batch.groups, 4.0 * volume_cost(batch.points, batch.objectives), work);
    return refused.index();
}

#define PARETOPO_INSTANTIATE(Scalar)                                                           \
    template std::int64_t HypervolumeSubset::choose(const Batch<Scalar>&, std::int64_t,        \
                                                    const double*, std::int32_t, SubsetMethod, \
                                                    std::vector<std::int64_t>&);               \
    template std::int64_t hypervolume_subset(Batch<Scalar>, References, std::int32_t,          \
                                             SubsetMethod, std::int64_t*);
PARETOPO_INSTANTIATE(float)
PARETOPO_INSTANTIATE(double)
#undef PARETOPO_INSTANTIATE

}  // namespace paretopo::cpu
