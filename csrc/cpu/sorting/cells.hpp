// Sets of 2 or 3 objectives with few different values, such as small integers: the points are not
// sorted, but marked in the cells of a table. It has an axis for each objective, with an entry for
// each value, the best first. The cells are in lexicographic order.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "cpu/runtime/scratch_array.hpp"

namespace paretopo::cpu {

template <int kAxes>
class Cells {
  public:
    using Keys = std::array<std::uint64_t, kAxes>;  // the best value has the lowest key

    // False if the values differ in too many bits, as most real numbers do; usually two points show
    // that. `read(k)`: the Keys of a point; another thread may change them during the call.
    template <typename Read>
    bool fill(std::size_t size, const Read& read);

    std::size_t size() const { return occupied_.size(); }
    std::size_t extent(std::size_t axis) const { return axes_[axis].count; }
    bool holds_points(std::size_t cell) const { return occupied_[cell] != 0; }
    std::uint32_t of(std::size_t point) const { return cells_[point]; }

    std::size_t bytes() const {
        std::size_t bytes = cells_.capacity() * sizeof cells_[0] +
                            bits_.capacity() * sizeof bits_[0] + occupied_.capacity();
        for (const Axis& axis : axes_) bytes += axis.numbers.capacity() * sizeof axis.numbers[0];
        return bytes;
    }

  private:
    static constexpr int kMaxBits = 16;  // in which the keys of one objective differ
    static constexpr std::uint64_t kLowBits = (std::uint64_t{1} << kMaxBits) - 1;
    static constexpr std::size_t kMaxTable = 16;  // entries for each point
    static constexpr std::size_t kMaxCells = 2;   // for each point
    static constexpr std::size_t kBlock = sizeof(std::uint64_t) / sizeof(std::uint16_t);

    // The differing bits of every objective of a point.
    using Bits = std::conditional_t<kAxes == 2, std::uint32_t, std::uint64_t>;

    // The bits in which the keys of one objective differ.
    struct Span {
        std::uint64_t least = 0, most = 0, differing = 0;

        void add(std::uint64_t key) {
            differing |= key ^ least;
            least = std::min(least, key);
            most = std::max(most, key);
        }
        int alike() const { return differing == 0 ? 0 : std::countr_zero(differing); }
        int bits() const { return static_cast<int>(std::bit_width((most - least) >> alike())); }
    };

    // Numbers the different values of one objective.
    struct Axis {
        std::size_t count = 0;
        ScratchArray<std::uint16_t> numbers;  // by the differing bits

        void reset(const Span& span) {
            numbers.resize(std::max(kBlock, std::size_t{1} << span.bits()));
            std::fill(numbers.begin(), numbers.end(), std::uint16_t{0});
        }
        // Skips blocks without marks, because few entries have one.
        void number_values() {
            count = 0;
            for (std::uint16_t* block = numbers.begin(); block != numbers.end(); block += kBlock) {
                std::uint64_t marks = 0;
                std::memcpy(&marks, block, sizeof marks);
                if (marks == 0) continue;
                for (std::size_t k = 0; k < kBlock; ++k) {
                    count += std::exchange(block[k], static_cast<std::uint16_t>(count));
                }
            }
        }
    };

    using Spans = std::array<Span, kAxes>;

    template <typename Read>
    bool enter_bits(std::size_t size, const Spans& spans, const Read& read);

    std::array<Axis, kAxes> axes_;
    ScratchArray<Bits> bits_;
    ScratchArray<std::uint32_t> cells_;
    ScratchArray<std::uint8_t> occupied_;
};

template <int kAxes>
template <typename Read>
bool Cells<kAxes>::fill(std::size_t size, const Read& read) {
    constexpr std::size_t kSampled = 64;
    const int most_bits =
        std::min(kMaxBits, static_cast<int>(std::bit_width(size * kMaxTable)) - 1);
    Spans spans;
    const Keys start = read(0);
    for (std::size_t m = 0; m < kAxes; ++m) spans[m].least = spans[m].most = start[m];
    const auto add = [&](std::size_t k) {
        const Keys keys = read(k);
        for (std::size_t m = 0; m < kAxes; ++m) spans[m].add(keys[m]);
    };
    const auto fits = [&] {
        return std::all_of(spans.begin(), spans.end(),
                           [=](const Span& span) { return span.bits() <= most_bits; });
    };
    for (std::size_t k = 1; k < std::min(size, kSampled); ++k) {
        add(k);
        if (!fits()) return false;
    }
    bits_.resize(size);
    // The first points usually show all bits.
    if (!enter_bits(size, spans, read)) {
        for (std::size_t k = kSampled; k < size; ++k) add(k);
        if (!fits()) return false;
        enter_bits(size, spans, read);
    }
    std::size_t cells = 1;
    for (Axis& axis : axes_) {
        axis.number_values();
        cells *= axis.count;
        if (cells > kMaxCells * size) return false;
    }
    occupied_.resize(cells);
    cells_.resize(size);
    std::fill(occupied_.begin(), occupied_.end(), std::uint8_t{0});
    std::array<const std::uint16_t*, kAxes> numbers;
    std::array<std::uint32_t, kAxes> extents;
    for (std::size_t m = 0; m < kAxes; ++m) {
        numbers[m] = axes_[m].numbers.data();
        extents[m] = static_cast<std::uint32_t>(axes_[m].count);
    }
    const Bits* const bits = bits_.data();
    std::uint32_t* const to = cells_.data();
    std::uint8_t* const occupied = occupied_.data();
    for (std::size_t k = 0; k < size; ++k) {
        const Bits own = bits[k];
        std::uint32_t cell = 0;
        for (std::size_t m = 0; m < kAxes; ++m) {
            cell = cell * extents[m] + numbers[m][own >> (m * kMaxBits) & kLowBits];
        }
        to[k] = cell;
        occupied[cell] = 1;
    }
    return true;
}

// Writes the differing bits of all objectives of each point, masked so that they fit the tables in
// any case, and marks them there. False if a key is outside its span.
template <int kAxes>
template <typename Read>
bool Cells<kAxes>::enter_bits(std::size_t size, const Spans& spans, const Read& read) {
    std::array<std::uint16_t*, kAxes> numbers;
    std::array<std::uint64_t, kAxes> least, masks;
    std::array<int, kAxes> alike;
    for (std::size_t m = 0; m < kAxes; ++m) {
        axes_[m].reset(spans[m]);
        numbers[m] = axes_[m].numbers.data();
        least[m] = spans[m].least;
        alike[m] = spans[m].alike();
        masks[m] = axes_[m].numbers.size() - 1;
    }
    Bits* const bits = bits_.data();
    std::uint64_t outside = 0;
    for (std::size_t k = 0; k < size; ++k) {
        const Keys keys = read(k);
        Bits own = 0;
        for (std::size_t m = 0; m < kAxes; ++m) {
            // The bits that all keys share are rotated above the mask, too.
            const std::uint64_t differing = std::rotr(keys[m] - least[m], alike[m]);
            outside |= differing & ~masks[m];
            numbers[m][differing & masks[m]] = 1;
            own |= static_cast<Bits>((differing & masks[m]) << (m * kMaxBits));
        }
        bits[k] = own;
    }
    return outside == 0;
}

}  // namespace paretopo::cpu
