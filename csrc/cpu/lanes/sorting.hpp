// The vector kernels that sort the keys of one set: lanes/sorting/sort_keys.cpp.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace paretopo::cpu {

// Keys that the networks take: a word of 32 bits each, its position below what tells it apart.
inline constexpr std::size_t kMostInWords = 4096;
constexpr int bits_of_places(std::size_t size) {
    return size == 0 ? 0 : static_cast<int>(std::bit_width(size - 1));
}

struct KeyRange {
    std::uint64_t least, most;
    std::uint64_t differing;  // bits
    bool is_sorted;
};

// A packed key is the bits that count, 32 at most, above its index.
struct KeyKernels {
    // size: at least 1.
    KeyRange (*measure)(const std::uint64_t* keys, std::size_t size);
    // Up to kMostInWords keys, packed and in order: by key - least without its lowest `dropped`
    // bits. What stays must fit a word beside bits_of_places(size).
    void (*sort)(const std::uint64_t* keys, std::size_t size, std::uint64_t least, int dropped,
                 std::uint64_t* packed);
    // The same of keys that are packed, in the order of their indices: by their lowest `bits`.
    void (*sort_packed)(const std::uint64_t* packed, std::size_t size, int bits,
                        std::uint64_t* sorted);
    // The first k >= from, for which packed keys k and k + 1 agree but for their indices, or size.
    std::size_t (*find_agreeing)(const std::uint64_t* packed, std::size_t size, std::size_t from);
};

}  // namespace paretopo::cpu
