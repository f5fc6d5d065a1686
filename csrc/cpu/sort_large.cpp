#include "cpu/sort_large.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

#include "cpu/staircase.hpp"

namespace paretopo::cpu {
namespace {

// The points of one front, in blocks of 16, so that one query is compared with a block at a time.
// Objective 0 is left out: the order of arrival takes care of it.
class Front {
  public:
    bool dominates(const std::vector<std::int32_t>& query) const {
        const std::size_t width = query.size();
        for (std::size_t b = 0; b < blocks_.size(); b += width * kLanes) {
            std::array<std::int32_t, kLanes> worse{};
            for (std::size_t m = 0; m < width; ++m) {
                const std::int32_t* lane = &blocks_[b + m * kLanes];
                for (std::size_t k = 0; k < kLanes; ++k) worse[k] |= lane[k] > query[m];
            }
            std::int32_t all_worse = 1;
            for (const std::int32_t each : worse) all_worse &= each;
            if (all_worse == 0) return true;
        }
        return false;
    }

    void add(const std::vector<std::int32_t>& point) {
        const std::size_t width = point.size();
        const std::size_t lane = size_++ % kLanes;
        if (lane == 0) blocks_.resize(blocks_.size() + width * kLanes, kNowhere);
        std::int32_t* block = &blocks_[blocks_.size() - width * kLanes];
        for (std::size_t m = 0; m < width; ++m) block[m * kLanes + lane] = point[m];
    }

  private:
    static constexpr std::size_t kLanes = 16;
    static constexpr std::int32_t kNowhere = std::numeric_limits<std::int32_t>::max();

    std::vector<std::int32_t> blocks_;  // [block][objective][lane]; empty lanes dominate nobody
    std::size_t size_ = 0;
};

// The first front that does not dominate a point. If front f dominates it, so do all before f.
template <typename Dominates>
std::size_t first_front_free(std::size_t fronts, const Dominates& dominates) {
    std::size_t low = 0;
    std::size_t high = fronts;
    while (low < high) {
        const std::size_t middle = low + (high - low) / 2;
        if (dominates(middle)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

constexpr auto kIgnore = [](const auto&) {};

void rank_2d(const SortedCodes& sorted, std::vector<std::int32_t>& ranks) {
    std::vector<std::int32_t> tails;  // best second code of each front so far; ascends
    for (std::size_t d = 0; d < ranks.size(); ++d) {
        const std::int32_t y = sorted.codes[1][d];
        const auto free = std::upper_bound(tails.begin(), tails.end(), y);
        ranks[d] = static_cast<std::int32_t>(free - tails.begin());
        if (free == tails.end()) {
            tails.push_back(y);
        } else {
            *free = y;
        }
    }
}

void rank_3d(const SortedCodes& sorted, std::vector<std::int32_t>& ranks) {
    std::vector<Staircase<std::int32_t>> fronts;
    for (std::size_t d = 0; d < ranks.size(); ++d) {
        const std::int32_t y = sorted.codes[1][d];
        const std::int32_t z = sorted.codes[2][d];
        const std::size_t rank =
            first_front_free(fronts.size(), [&](std::size_t f) { return fronts[f].covers(y, z); });
        if (rank == fronts.size()) fronts.emplace_back();
        fronts[rank].insert(y, z, kIgnore);
        ranks[d] = static_cast<std::int32_t>(rank);
    }
}

// Codes of distinct point d, objective 0 left out.
void take_query(const SortedCodes& sorted, std::size_t d, std::vector<std::int32_t>& query) {
    for (std::size_t m = 0; m < query.size(); ++m) query[m] = sorted.codes[m + 1][d];
}

void rank_many(const SortedCodes& sorted, std::vector<std::int32_t>& ranks) {
    std::vector<Front> fronts;
    std::vector<std::int32_t> query(sorted.codes.size() - 1);
    for (std::size_t d = 0; d < ranks.size(); ++d) {
        take_query(sorted, d, query);
        const std::size_t rank = first_front_free(
            fronts.size(), [&](std::size_t f) { return fronts[f].dominates(query); });
        if (rank == fronts.size()) fronts.emplace_back();
        fronts[rank].add(query);
        ranks[d] = static_cast<std::int32_t>(rank);
    }
}

}  // namespace

void rank_distinct(const SortedCodes& sorted, std::vector<std::int32_t>& ranks) {
    ranks.resize(static_cast<std::size_t>(sorted.distinct));
    switch (sorted.codes.size()) {
        case 1:
            std::copy(sorted.codes[0].begin(), sorted.codes[0].end(), ranks.begin());
            return;
        case 2:
            return rank_2d(sorted, ranks);
        case 3:
            return rank_3d(sorted, ranks);
        default:
            return rank_many(sorted, ranks);
    }
}

void filter_distinct(const SortedCodes& sorted, std::vector<std::uint8_t>& chosen) {
    const auto size = static_cast<std::size_t>(sorted.distinct);
    chosen.assign(size, 0);
    switch (sorted.codes.size()) {
        case 1:
            if (size > 0) chosen[0] = 1;
            return;
        case 2: {
            std::int32_t best = std::numeric_limits<std::int32_t>::max();
            for (std::size_t d = 0; d < size; ++d) {
                chosen[d] = sorted.codes[1][d] < best;
                best = std::min(best, sorted.codes[1][d]);
            }
            return;
        }
        case 3: {
            Staircase<std::int32_t> front;
            for (std::size_t d = 0; d < size; ++d) {
                const std::int32_t y = sorted.codes[1][d];
                const std::int32_t z = sorted.codes[2][d];
                if (front.covers(y, z)) continue;
                front.insert(y, z, kIgnore);
                chosen[d] = 1;
            }
            return;
        }
        default: {
            Front front;
            std::vector<std::int32_t> query(sorted.codes.size() - 1);
            for (std::size_t d = 0; d < size; ++d) {
                take_query(sorted, d, query);
                if (front.dominates(query)) continue;
                front.add(query);
                chosen[d] = 1;
            }
        }
    }
}

}  // namespace paretopo::cpu
