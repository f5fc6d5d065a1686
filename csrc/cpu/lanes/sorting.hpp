// The vector kernels that sort the keys of one set: lanes/sorting/sort_keys.cpp.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace paretopo::cpu {

// Limit on the keys for networks: a 32-bit word each, with the distinguishing bits of a key above
// its position.
inline constexpr std::size_t kMaxInWords = 4096;
constexpr int bits_of_places(std::size_t size) {
    return size == 0 ? 0 : static_cast<int>(std::bit_width(size - 1));
}

struct KeyRange {
    std::uint64_t least, most;
    std::uint64_t differing;  // bits
    bool is_sorted;
};

// A packed key has its significant bits, 32 at most, above its index.
struct KeyKernels {
    // size: at least 1.
    KeyRange (*measure)(const std::uint64_t* keys, std::size_t size);
    // Packs and sorts up to kMaxInWords keys, by key - least without its lowest `dropped` bits.
    // The remaining bits must fit a word together with bits_of_places(size).
    void (*sort)(const std::uint64_t* keys, std::size_t size, std::uint64_t least, int dropped,
                 std::uint64_t* packed);
    // Sorts runs of packed keys from..to that differ only in their indices, by the keys.
    void (*sort_agreeing)(const std::uint64_t* keys, std::uint64_t* packed, std::size_t from,
                          std::size_t to);
};

}  // namespace paretopo::cpu
