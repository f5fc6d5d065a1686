// Sorts the indices of integer keys by the bits that distinguish the keys: small sets by networks,
// large ones split into small parts or by radix.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "cpu/lanes/sorting.hpp"
#include "cpu/runtime/scratch_array.hpp"
#include "portability.hpp"

namespace paretopo::cpu {

// The result of KeyOrder, valid until it sorts again.
struct SortedKeys {
    const std::uint64_t* packed;
    const std::uint64_t* keys;
    std::size_t size;
    bool is_exact;

    std::uint32_t at(std::size_t k) const { return static_cast<std::uint32_t>(packed[k]); }
    // The index some positions after the k-th, to prefetch the data that it refers to.
    std::uint32_t ahead(std::size_t k) const {
        constexpr std::size_t kAhead = 256;
        return at(k + kAhead < size ? k + kAhead : k);
    }
    // True if the k-th key equals the one before it.
    PARETOPO_INLINE bool repeats(std::size_t k) const {
        return k > 0 && packed[k] >> 32 == packed[k - 1] >> 32 &&
               (is_exact || keys[at(k)] == keys[at(k - 1)]);
    }
};

// Keeps its memory from set to set.
class KeyOrder {
  public:
    ScratchArray<std::uint64_t> keys;  // written by the caller, not changed here

    // Lowest key first; equal keys in the order of their indices. O(n), plus the log^2 of a part's
    // size for networks. At worst O(n log n), if many keys agree in all bits that are sorted by.
    // Threads share many keys.
    void sort();

    // For loops: the compiler can see that other writes do not change it.
    SortedKeys sorted() const { return {packed_.data(), keys.data(), packed_.size(), is_exact_}; }
    std::size_t size() const { return packed_.size(); }
    std::uint32_t at(std::size_t k) const { return sorted().at(k); }
    bool repeats(std::size_t k) const { return sorted().repeats(k); }
    std::size_t bytes() const {
        return (keys.capacity() + packed_.capacity() + spare_.capacity()) * sizeof keys[0];
    }

  private:
    KeyRange measure() const;
    template <typename Pack>
    void deal(const Pack& pack, int bits);

    bool is_exact_ = true;                        // the sorted bits are all that differ
    ScratchArray<std::uint64_t> packed_, spare_;  // those bits, then the index
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
