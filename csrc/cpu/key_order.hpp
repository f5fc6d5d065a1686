// Sorts the indices of integer keys by those bits that tell the keys apart: few by networks, many
// dealt out into parts that are few, or by radix.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace paretopo::cpu {

// Memory is kept from set to set.
class KeyOrder {
  public:
    std::vector<std::uint64_t> keys;  // the caller's; they stay as they are

    // Lowest key first; equal keys in the order of their indices. O(n), with log^2 of the size of a
    // part for its network, but for many keys that agree in all bits that are sorted by, at worst
    // O(n log n).
    void sort();

    std::size_t size() const { return packed_.size(); }
    std::size_t bytes() const {
        return (keys.capacity() + packed_.capacity() + spare_.capacity()) * sizeof keys[0];
    }
    std::uint32_t at(std::size_t k) const { return static_cast<std::uint32_t>(packed_[k]); }
    // Has the k-th index the same key as the one before it?
    bool repeats(std::size_t k) const {
        return k > 0 && packed_[k] >> 32 == packed_[k - 1] >> 32 &&
               (is_exact_ || keys[at(k)] == keys[at(k - 1)]);
    }

  private:
    void sort_by_bits(int bits);
    void sort_within_equal_bits();

    bool is_exact_ = true;                       // the bits sorted by are all that differ
    std::vector<std::uint64_t> packed_, spare_;  // those bits, then the index
};

// The smallest positive number first.
inline std::uint64_t ascending_key(double positive) {
    return std::bit_cast<std::uint64_t>(positive);
}

// The largest positive number first.
inline std::uint64_t descending_key(double positive) {
    return ~std::bit_cast<std::uint64_t>(positive);
}

}  // namespace paretopo::cpu
