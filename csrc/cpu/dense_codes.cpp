#include "cpu/dense_codes.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace paretopo::cpu {
namespace {

constexpr int kDigitBits = 11;
constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;
constexpr std::int32_t kRadixFrom = 256;  // points; below it a comparison sort is faster

template <typename Keyed>
bool is_before(const Keyed& a, const Keyed& b) {
    return a.key != b.key ? a.key < b.key : a.point < b.point;
}

// Stable. Least-significant-digit radix sort on the upper 32 bits of the keys, skipping digits that
// all keys share; the few keys that agree in all of these are then sorted among themselves.
template <typename Keyed>
void sort_by_key(std::vector<Keyed>& keyed, std::vector<Keyed>& spare, int key_bits) {
    const std::size_t size = keyed.size();
    spare.resize(size);
    std::array<std::size_t, kDigits> start;
    for (int shift = key_bits - 32; shift < key_bits; shift += kDigitBits) {
        start.fill(0);
        for (const Keyed& item : keyed) ++start[item.key >> shift & (kDigits - 1)];
        if (start[keyed[0].key >> shift & (kDigits - 1)] == size) continue;
        std::size_t sum = 0;
        for (std::size_t& count : start) sum += std::exchange(count, sum);
        for (const Keyed& item : keyed) {
            spare[start[item.key >> shift & (kDigits - 1)]++] = item;
        }
        keyed.swap(spare);
    }
    if (key_bits == 32) return;
    const auto upper = [](const Keyed& item) { return item.key >> 32; };
    for (std::size_t first = 0, end = 0; first < size; first = end) {
        bool is_sorted = true;
        for (++end; end < size && upper(keyed[end]) == upper(keyed[first]); ++end) {
            is_sorted = is_sorted && keyed[end - 1].key <= keyed[end].key;
        }
        if (is_sorted) continue;
        std::sort(keyed.begin() + static_cast<std::ptrdiff_t>(first),
                  keyed.begin() + static_cast<std::ptrdiff_t>(end), is_before<Keyed>);
    }
}

}  // namespace

template <typename Scalar>
std::uint64_t best_first(Scalar value, bool minimised) {
    using Bits = std::conditional_t<sizeof(Scalar) == 4, std::uint32_t, std::uint64_t>;
    constexpr Bits kSign = Bits{1} << (sizeof(Bits) * 8 - 1);
    if (value != value) return static_cast<Bits>(~Bits{0});
    Bits bits = std::bit_cast<Bits>(value);
    if (bits == kSign) bits = 0;
    const Bits ascending = (bits & kSign) ? static_cast<Bits>(~bits) : (bits | kSign);
    return minimised ? ascending : static_cast<Bits>(~ascending);
}

template <typename Scalar>
void sort_objective(const Scalar* values, std::int32_t points, std::int32_t objectives,
                    std::int32_t m, bool minimised, std::vector<KeyedPoint>& keyed,
                    std::vector<KeyedPoint>& spare) {
    keyed.resize(static_cast<std::size_t>(points));
    for (std::int32_t i = 0; i < points; ++i) {
        const std::int64_t at = std::int64_t{i} * objectives + m;
        keyed[static_cast<std::size_t>(i)] = {best_first(values[at], minimised), i};
    }
    if (points < kRadixFrom) {
        std::sort(keyed.begin(), keyed.end(), is_before<KeyedPoint>);
    } else {
        sort_by_key(keyed, spare, sizeof(Scalar) * 8);
    }
}

template <typename Scalar>
void SortedCodes::sort(const Scalar* values, std::int32_t points, std::int32_t objectives,
                       std::uint64_t minimised) {
    const auto size = static_cast<std::size_t>(points);
    const auto width = static_cast<std::size_t>(objectives);
    codes.resize(width);
    unsorted_.resize(width);
    order_.resize(size);
    distinct_of.resize(size);
    first_of.resize(size);
    distinct = 0;
    if (points == 0) return;

    for (std::size_t m = width; m-- > 0;) {  // objective 0 last: its order is the one to start from
        const bool flip = m < 64 && (minimised >> m & 1) != 0;
        sort_objective(values, points, objectives, static_cast<std::int32_t>(m), flip, keyed_,
                       spare_);
        unsorted_[m].resize(size);
        std::int32_t code = 0;
        for (std::size_t k = 0; k < size; ++k) {
            if (k > 0 && keyed_[k].key != keyed_[k - 1].key) ++code;
            unsorted_[m][static_cast<std::size_t>(keyed_[k].point)] = code;
        }
    }

    std::transform(keyed_.begin(), keyed_.end(), order_.begin(),
                   [](const KeyedPoint& item) { return item.point; });
    const auto compare_from = [&](std::size_t m, std::int32_t a, std::int32_t b) {
        for (; m < width; ++m) {
            const std::int32_t ca = unsorted_[m][static_cast<std::size_t>(a)];
            const std::int32_t cb = unsorted_[m][static_cast<std::size_t>(b)];
            if (ca != cb) return ca < cb ? -1 : 1;
        }
        return 0;
    };
    const std::vector<std::int32_t>& best = unsorted_[0];
    for (std::size_t first = 0, end = 0; first < size; first = end) {
        const std::int32_t code = best[static_cast<std::size_t>(order_[first])];
        while (end < size && best[static_cast<std::size_t>(order_[end])] == code) ++end;
        if (end - first == 1) continue;
        const auto begin = order_.begin() + static_cast<std::ptrdiff_t>(first);
        const auto stop = order_.begin() + static_cast<std::ptrdiff_t>(end);
        const auto goes_before = [&](std::int32_t a, std::int32_t b) {
            const int sign = compare_from(1, a, b);
            return sign != 0 ? sign < 0 : a < b;
        };
        if (!std::is_sorted(begin, stop, goes_before)) std::sort(begin, stop, goes_before);
    }

    for (std::size_t k = 0; k < size; ++k) {
        if (k == 0 || compare_from(0, order_[k - 1], order_[k]) != 0) {
            first_of[static_cast<std::size_t>(distinct++)] = order_[k];
        }
        distinct_of[static_cast<std::size_t>(order_[k])] = distinct - 1;
    }
    for (std::size_t m = 0; m < width; ++m) {
        codes[m].resize(static_cast<std::size_t>(distinct));
        for (std::size_t d = 0; d < codes[m].size(); ++d) {
            codes[m][d] = unsorted_[m][static_cast<std::size_t>(first_of[d])];
        }
    }
}

template std::uint64_t best_first(float, bool);
template std::uint64_t best_first(double, bool);
template void sort_objective(const float*, std::int32_t, std::int32_t, std::int32_t, bool,
                             std::vector<KeyedPoint>&, std::vector<KeyedPoint>&);
template void sort_objective(const double*, std::int32_t, std::int32_t, std::int32_t, bool,
                             std::vector<KeyedPoint>&, std::vector<KeyedPoint>&);
template void SortedCodes::sort(const float*, std::int32_t, std::int32_t, std::uint64_t);
template void SortedCodes::sort(const double*, std::int32_t, std::int32_t, std::uint64_t);

}  // namespace paretopo::cpu
