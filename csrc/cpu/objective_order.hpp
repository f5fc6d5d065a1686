// The points of one large set, best first in one objective. Equal values are in the order of the
// points; NaN comes last, and both zeros are equal.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace paretopo::cpu {

// An unsigned integer for each value: the best value has the lowest key.
template <typename Scalar>
inline auto best_first(Scalar value, bool minimised) {
    using Key = std::conditional_t<sizeof(Scalar) == 4, std::uint32_t, std::uint64_t>;
    constexpr Key kSign = Key{1} << (sizeof(Key) * 8 - 1);
    if (value != value) return static_cast<Key>(~Key{0});
    const Key bits = std::bit_cast<Key>(value + Scalar(0));  // -0 becomes +0
    const Key ascending = (bits & kSign) ? static_cast<Key>(~bits) : (bits | kSign);
    return minimised ? ascending : static_cast<Key>(~ascending);
}

// Kept from set to set, so that memory is.
struct OrderScratch {
    std::vector<std::uint64_t> packed, spare;
};

template <typename Scalar>
class ObjectiveOrder {
  public:
    // `values`: (points, objectives), as given by the user; they stay as long as the order.
    ObjectiveOrder(const Scalar* values, std::int32_t points, std::int32_t objectives,
                   std::int32_t m, bool minimised, OrderScratch& scratch);

    std::size_t size() const { return packed_.size(); }
    std::int32_t point(std::size_t k) const { return point_of(packed_[k]); }
    // Has the k-th point the same value as the one before it?
    bool repeats(std::size_t k) const {
        return k > 0 && packed_[k] >> 32 == packed_[k - 1] >> 32 &&
               (sizeof(Scalar) == 4 || key(point(k)) == key(point(k - 1)));
    }

  private:
    static std::int32_t point_of(std::uint64_t packed) {
        return static_cast<std::int32_t>(static_cast<std::uint32_t>(packed));
    }
    auto key(std::int32_t point) const {
        return best_first(values_[std::int64_t{point} * objectives_], minimised_);
    }
    void order_within_equal_upper_halves();

    const Scalar* values_;  // of objective m of the first point
    std::int64_t objectives_;
    bool minimised_;
    std::vector<std::uint64_t>& packed_;  // upper half of the key, then the point
};

}  // namespace paretopo::cpu
