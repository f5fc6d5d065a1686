// The sweep over slices for 4 and 5 objectives, with ranks instead of coordinates wherever it only
// compares. It adds the same numbers in the same order as Hypervolume::by_slices.
#include <cstring>

#include "cpu/lanes/kernels.hpp"
#include "cpu/lanes/volume.hpp"
#include "cpu/lanes/volume/hypervolume.hpp"
#include "cpu/lanes/volume/inclusion_exclusion.hpp"
#include "cpu/lanes/volume/ranks.hpp"

namespace paretopo::cpu::PARETOPO_LANES {
namespace {

constexpr std::size_t kWord = 64;        // rows with a bit each
constexpr std::size_t kInsertions = 32;  // until gaps are closed

constexpr std::size_t kSortedByCounting = 64;

// Do descending values still differ after a corner is subtracted from all? Rounding then moves none
// of them by more than the distance to the next double.
bool are_apart(const double* value, std::size_t count) {
    constexpr std::int64_t kSteps = 4;
    std::int64_t is_near = 0;  // negative if so
    for (std::size_t k = 1; k < count; ++k) {
        std::int64_t higher = 0;
        std::int64_t lower = 0;
        std::memcpy(&higher, value + k - 1, sizeof higher);
        std::memcpy(&lower, value + k, sizeof lower);
        is_near |= higher - lower - kSteps;
    }
    return is_near >= 0;
}

// order[k]: the k-th of up to kSortedByCounting ranks, four to a row; equal ranks in their order.
template <typename Item>
void order_by_rank(const Rank* ranks, std::size_t count, std::uint32_t* order) {
    using V = RankVector<Item>;
    alignas(64) Item keys[kSortedByCounting + V::kLanes];
    for (std::size_t i = 0; i < count; ++i) keys[i] = V::code(ranks[4 * i]);
    V::store(keys + count, V::all(V::kNone));
    for (std::size_t i = 0; i < count; ++i) {
        const auto own = V::all(keys[i]);
        std::uint64_t smaller = 0;
        std::uint64_t larger = 0;
        for (std::size_t j = 0; j < count; j += V::kLanes) {
            const auto key = V::load(keys + j);
            const auto bits = V::bits(V::above(own, key), V::above(key, own));
            smaller |= bits.a << j;
            larger |= bits.b << j;
        }
        const std::uint64_t earlier = (std::uint64_t{1} << i) - 1;
        order[__builtin_popcountll(smaller | (~larger & earlier))] = static_cast<std::uint32_t>(i);
    }
}

}  // namespace

// Ranks the first `objectives` of four columns; the rows are sorted by the objective after them.
RankedSet Hypervolume::ranked(const Columns& rows, int objectives) {
    const std::size_t room = rows.count + kPadding;
    RankedSet set = {};
    set.count = rows.count;
    // Slices of 4 objectives limit so few rows that shorter ranks save nothing.
    set.fits_bytes = objectives == 3 && rows.count <= kMaxInBytes;
    set.sides = ranked_sides_.of(4 * room);
    set.ranks = ranks_.of(4 * room);
    double* values = values_.of(4 * room);
    std::uint64_t* keys = words_.of(2 * room);
    std::uint64_t* packed = keys + room;
    for (std::size_t i = 0; i < rows.count; ++i) {
        const FourSides sides = {rows[0][i], rows[1][i], rows[2][i], rows[3][i]};
        std::memcpy(set.sides + 4 * i, &sides, sizeof sides);
    }
    for (int m = 0; m < objectives; ++m) {
        std::memcpy(keys, rows[m], rows.count * sizeof(double));
        for (std::size_t i = 0; i < rows.count; ++i) keys[i] = ~keys[i];
        sort_bits(keys, rows.count, packed);
        double* value = values + static_cast<std::size_t>(m) * room;
        Rank* ranks = set.ranks + m;
        std::size_t rank = 0;
        std::uint64_t before = keys[static_cast<std::uint32_t>(packed[0])];
        for (std::size_t k = 0; k < rows.count; ++k) {
            const auto i = static_cast<std::uint32_t>(packed[k]);
            const std::uint64_t key = keys[i];
            rank += key != before ? 1 : 0;
            before = key;
            const std::uint64_t bits = ~key;
            std::memcpy(value + rank, &bits, sizeof bits);
            ranks[4 * i] = static_cast<Rank>(rank);
        }
        if (m == 0) set.is_distinct = rank + 1 == rows.count && are_apart(value, rows.count);
        value[rows.count] = 0.0;
        set.value[m] = value;
        set.lowest[m] = static_cast<Rank>(rows.count);
    }
    return set;
}

// The volume of rows of 4 objectives; false if that of a point vanishes, so that it must not enter
// the slice.
template <typename Item>
bool Hypervolume::ranked_slices_of_3(const RankedSet& set, double& volume) {
    using V = RankVector<Item>;
    using Ranks = typename V::Ranks;
    using Mask = typename V::Mask;
    poller_.step();
    const double* sides = set.sides;
    std::size_t i = 1;
    while (i < set.count && sides[4 * i + 3] == sides[3]) ++i;

    RankedRows<Item, 3> prefix(prefix_of_3_, set.count);
    if (i > 1) {
        Level& mine = level(4);
        Columns block = columns_in(mine.block, 3, i);
        std::uint32_t* order = mine.order.of(i + kPadding);
        double* gains = mine.gains.of(i);
        if (i <= kSortedByCounting) {
            order_by_rank<Item>(set.ranks + 2, i, order);
        } else {
            for (std::size_t k = 0; k < i; ++k) gains[k] = sides[4 * k + 2];
            descending(gains, i, order, buckets_);
        }
        for (std::size_t k = 0; k < i; ++k) {
            const double* from = sides + 4 * order[k];
            for (int m = 0; m < 3; ++m) block[m][k] = from[m];
        }
        block.count = i;
        block.close(3);
        volume = volume_3d(block, gains);
        for (std::size_t k = 0; k < i; ++k) {
            if (gains[k] > 0.0) prefix.append(order[k], set.ranks + 4 * order[k]);
        }
    } else {
        prefix.append(0, set.ranks);
        volume = sides[0] * sides[1] * sides[2];
    }
    volume *= sides[3];
    // So many points at once that their hits fit the cache.
    constexpr std::size_t kRoom = 2048;
    const std::size_t most = room_for_hits(set.count);
    const std::size_t points = most * kPollInterval <= kRoom ? kPollInterval
                               : most <= kRoom               ? kRoom / most
                                                             : 1;
    Hits found[kPollInterval];
    std::uint32_t at[kPollInterval];
    const std::size_t room = points * most;
    double* const memory = steps_.of(3 * room);
    while (i < set.count) {
        std::size_t count = 0;
        double* hit_x = memory;
        for (const std::size_t end = set.count - i < points ? set.count : i + points; i < end;
             ++i) {
            const Rank* ranks = set.ranks + 4 * i;
            const Ranks own[4] = {V::all(static_cast<Item>(i)), V::all(V::code(ranks[0])),
                                  V::all(V::code(ranks[1])), V::all(V::code(ranks[2]))};

            // How far do rows as high as the point cut its rectangle? Which row covers it first?
            Ranks most_x = V::all(V::code(set.lowest[0]));
            Ranks most_y = V::all(V::code(set.lowest[1]));
            Ranks place = V::numbers();
            Ranks cover = V::all(V::kNone);
            for (std::size_t k = 0; k < prefix.count; k += V::kLanes) {
                const Ranks x = V::load(prefix.column[1] + k);
                const Ranks y = V::load(prefix.column[2] + k);
                const Mask is_low = V::above(V::load(prefix.column[3] + k), own[3]);
                const Mask narrow = V::above(x, own[1]);
                const Mask flat = V::above(y, own[2]);
                cover = V::lowered_without(cover, narrow | flat, place);
                place += V::all(Item{V::kLanes});
                most_y = V::lowered_without(most_y, is_low | narrow, y);
                most_x = V::lowered_without(most_x, is_low | flat, x);
            }
            const Rank left = V::smallest(most_x);
            const Rank below = V::smallest(most_y);
            const Rank cover_at = V::smallest(cover);
            double floor = 0.0;
            std::size_t stop = prefix.count;
            if (cover_at != V::rank(V::kNone)) {
                stop = static_cast<std::size_t>(cover_at);
                if (prefix.column[3][stop] <= own[3][0]) continue;
                floor = sides[4 * prefix.number(stop) + 2];
            }

            // Rows within that rectangle, from the top down to the one that covers all of it.
            double* hit_y = hit_x + room;
            double* hit_z = hit_y + room;
            const Ranks left_codes = V::all(V::code(left));
            const Ranks below_codes = V::all(V::code(below));
            FourSides top;
            std::memcpy(&top, sides + 4 * i, sizeof top);
            FourSides reach = {};
            std::size_t hits = 0;
            const Ranks stops = V::all(V::code(static_cast<Rank>(stop)));
            place = V::numbers();
            for (std::size_t first = 0; first < stop; first += kWord) {
                const std::size_t end = stop - first < kWord ? stop : first + kWord;
                std::uint64_t inside = 0;
                for (std::size_t k = first; k < end; k += V::kLanes) {
                    const Mask is_inside = V::above(stops, place) &
                                           V::above(left_codes, V::load(prefix.column[1] + k)) &
                                           V::above(below_codes, V::load(prefix.column[2] + k));
                    place += V::all(Item{V::kLanes});
                    inside |= V::bits(is_inside) << (k - first);
                }
                for (; inside != 0; inside &= inside - 1) {
                    const std::size_t k =
                        prefix.number(first + static_cast<std::size_t>(__builtin_ctzll(inside)));
                    FourSides hit;
                    std::memcpy(&hit, sides + 4 * k, sizeof hit);
                    limit(hit, top);
                    raise(reach, hit);
                    hit_x[hits] = hit[0];
                    hit_y[hits] = hit[1];
                    hit_z[hits] = hit[2];
                    ++hits;
                }
            }
            const double left_x = set.value[0][left] - set.corner[0];
            found[count] = {hit_x,
                            hit_y,
                            hit_z,
                            hits,
                            top[0],
                            top[1],
                            top[2],
                            left_x,
                            set.value[1][below] - set.corner[1],
                            floor,
                            hits > 0 ? reach[0] : left_x,
                            set.is_distinct};
            close_hits(found[count], hit_x, hit_y, hit_z);
            at[count] = static_cast<std::uint32_t>(i);
            ++count;
            hit_x += (hits + 2 * kEight) / kEight * kEight;
            prefix.insert(own);
            if (i % kInsertions == 0) prefix.compact();
        }
        for (std::size_t k = 0; k < count; ++k) {
            const double gain = free_volume(found[k]);
            if (!(gain > 0.0)) return false;
            volume += gain * sides[4 * at[k] + 3];
        }
        if (i < set.count && i % kPollInterval < points) check_interrupt();
    }
    return true;
}

bool Hypervolume::ranked_slices_of_3(const RankedSet& set, double& volume) {
    return set.fits_bytes ? ranked_slices_of_3<ByteRank>(set, volume)
                          : ranked_slices_of_3<Rank>(set, volume);
}

// The volume of limited rows.
double Hypervolume::limited_volume(const RankedSet& set) {
    double volume = 0.0;
    if (set.count > kFewRows && ranked_slices_of_3(set, volume)) return volume;
    Columns rows = columns_in(level(4).limited, 4, set.count);
    for (std::size_t i = 0; i < set.count; ++i) {
        for (int m = 0; m < 4; ++m) rows[m][i] = set.sides[4 * i + static_cast<std::size_t>(m)];
    }
    rows.count = set.count;
    rows.close(4);
    return sorted(4, rows);
}

// `last`: the fifth objective, in descending order; the best row is the only one with its value.
double Hypervolume::ranked_slices_of_4(const RankedSet& set, const double* last) {
    using V = RankVector<Rank>;
    using Ranks = V::Ranks;
    RankedRows<Rank, 4> prefix(prefix_of_4_, set.count);
    prefix.append(0, set.ranks);
    double volume = set.sides[0] * set.sides[1] * set.sides[2] * set.sides[3] * last[0];
    RankedSet limited = set;
    limited.sides = limited_sides_.of(4 * set.count);
    limited.ranks = limited_ranks_.of(4 * set.count);
    for (std::size_t i = 1; i < set.count; ++i) {
        if (i % kPollInterval == 0) check_interrupt();
        Ranks own[5];
        Ranks corners[4];
        own[0] = V::all(static_cast<Rank>(i));
        for (int m = 0; m < 4; ++m) {
            own[m + 1] = V::all(set.ranks[4 * i + static_cast<std::size_t>(m)]);
            corners[m] = V::all(set.lowest[m]);
        }

        // A row that is below the point in only one objective cuts the box there.
        V::Mask uncovered = ~V::Mask{};
        for (std::size_t k = 0; k < prefix.count; k += V::kLanes) {
            V::Mask is_short[4];
            V::Mask once = {};
            V::Mask twice = {};
            Ranks here[4];
            for (int m = 0; m < 4; ++m) {
                here[m] = V::load(prefix.column[m + 1] + k);
                is_short[m] = V::above(here[m], own[m + 1]);
                twice = twice | (once & is_short[m]);
                once = once | is_short[m];
            }
            uncovered = uncovered & once;
            for (int m = 0; m < 4; ++m) {
                corners[m] = V::lowered_without(corners[m], ~is_short[m] | twice, here[m]);
            }
        }
        if (!V::every(uncovered)) continue;
        FourSides corner;
        for (int m = 0; m < 4; ++m) {
            limited.lowest[m] = V::smallest(corners[m]);
            corners[m] = V::all(limited.lowest[m]);
            limited.corner[m] = set.value[m][limited.lowest[m]];
            corner[m] = limited.corner[m];
        }
        FourSides own_sides;
        FourRanks own_ranks;
        std::memcpy(&own_sides, set.sides + 4 * i, sizeof own_sides);
        std::memcpy(&own_ranks, set.ranks + 4 * i, sizeof own_ranks);
        const FourSides box = own_sides - corner;

        limited.count = 0;
        for (std::size_t first = 0; first < prefix.count; first += V::kLanes) {
            V::Mask is_inside = V::above(corners[0], V::load(prefix.column[1] + first));
            for (int m = 1; m < 4; ++m) {
                is_inside = is_inside & V::above(corners[m], V::load(prefix.column[m + 1] + first));
            }
            for (std::uint64_t inside = V::bits(is_inside); inside != 0; inside &= inside - 1) {
                const std::size_t k =
                    prefix.number(first + static_cast<std::size_t>(__builtin_ctzll(inside)));
                FourSides sides;
                FourRanks ranks;
                std::memcpy(&sides, set.sides + 4 * k, sizeof sides);
                std::memcpy(&ranks, set.ranks + 4 * k, sizeof ranks);
                limit(sides, own_sides);
                sides -= corner;
                ranks = ranks > own_ranks ? ranks : own_ranks;
                std::memcpy(limited.sides + 4 * limited.count, &sides, sizeof sides);
                std::memcpy(limited.ranks + 4 * limited.count, &ranks, sizeof ranks);
                ++limited.count;
            }
        }
        double gain = box[0] * box[1] * box[2] * box[3];
        if (limited.count > 0) gain -= limited_volume(limited);
        if (!(gain > 0.0)) continue;
        volume += gain * last[i];
        prefix.insert(own);
        if (i % kInsertions == 0) prefix.compact();
    }
    return volume;
}

}  // namespace paretopo::cpu::PARETOPO_LANES
