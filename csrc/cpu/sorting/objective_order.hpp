// The points of one large set in the order of one objective, best or worst first. Equal values are
// in the order of the points; NaN is worst, and both zeros are equal.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "cpu/runtime/for_each_group.hpp"
#include "cpu/sorting/key_order.hpp"

namespace paretopo::cpu {

// Maps a value to an unsigned integer; the best value has the lowest key.
template <typename Scalar>
inline auto best_first(Scalar value, bool minimised) {
    using Key = std::conditional_t<sizeof(Scalar) == 4, std::uint32_t, std::uint64_t>;
    constexpr Key kSign = Key{1} << (sizeof(Key) * 8 - 1);
    const Key bits = std::bit_cast<Key>(value + Scalar(0));  // -0 becomes +0
    const Key is_negative = bits >> (sizeof(Key) * 8 - 1);
    const Key ascending = bits ^ (static_cast<Key>(Key{0} - is_negative) | kSign);
    const Key key = ascending ^ (minimised ? Key{0} : static_cast<Key>(~Key{0}));
    return value != value ? static_cast<Key>(~Key{0}) : key;
}

enum class From : bool { kBest, kWorst };

class ObjectiveOrder {
  public:
    // `values`: (points, objectives), as given by the user. The caller owns the memory.
    template <typename Scalar>
    ObjectiveOrder(const Scalar* values, std::int32_t points, std::int32_t objectives,
                   std::int32_t m, From from, bool minimised, KeyOrder& memory)
        : order_(memory) {
        using Key = decltype(best_first(Scalar(0), false));
        const Key flip = from == From::kBest ? Key{0} : static_cast<Key>(~Key{0});
        const auto size = static_cast<std::size_t>(points);
        order_.keys.resize(size);
        std::uint64_t* keys = order_.keys.data();
        for_each_chunk(size, 2.0, [=](std::size_t, std::size_t first, std::size_t end) {
            for (std::size_t i = first; i < end; ++i) {
                const Scalar value = values[static_cast<std::int64_t>(i) * objectives + m];
                keys[i] = static_cast<Key>(best_first(value, minimised) ^ flip);
            }
        });
        order_.sort();
    }

    std::size_t size() const { return order_.size(); }
    std::int32_t point(std::size_t k) const { return static_cast<std::int32_t>(order_.at(k)); }
    bool repeats(std::size_t k) const { return order_.repeats(k); }

  private:
    KeyOrder& order_;
};

// True if no two points share their first value, and the second one improves along the order of the
// first: all are on one front. `points`: (order.size, 2). Stops at the first pair that shows the
// contrary.
template <typename Scalar>
bool improves_along(SortedKeys order, const Scalar* points, bool minimised) {
    constexpr std::size_t kFar = std::size_t{1} << 16;  // fewer points are in the cache
    const Scalar sign = minimised ? Scalar(-1) : Scalar(1);
    const Scalar* const second = points + 1;
    const std::uint64_t* const packed = order.packed;
    const bool is_far = order.size > kFar;
    Scalar best = sign * second[2 * std::size_t{order.at(0)}];
    for (std::size_t k = 1; k < order.size; ++k) {
        if (is_far) __builtin_prefetch(second + 2 * std::size_t{order.ahead(k)});
        const Scalar own = sign * second[2 * std::size_t{order.at(k)}];
        if (!(own > best)) return false;
        // This test is the quick part of the next one, in registers.
        if ((packed[k] ^ packed[k - 1]) >> 32 == 0 && order.repeats(k)) return false;
        best = own;
    }
    return true;
}

}  // namespace paretopo::cpu
