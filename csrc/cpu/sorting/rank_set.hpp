// A set of small integers that finds the next member. It has a bit for each integer, and on the
// levels above a bit for each non-zero word.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace paretopo::cpu {

class RankSet {
  public:
    // Empties the set and makes room for 0..size - 1.
    void reset(std::size_t size) {
        std::size_t words = 0;
        levels_ = 0;
        for (std::size_t bits = size; levels_ == 0 || bits > 1; ++levels_) {
            starts_[levels_] = words;
            bits = (bits + 63) / 64;
            words += bits;
        }
        words_.assign(words, 0);
    }

    void insert(std::size_t rank) {
        for (std::size_t level = 0; level < levels_; ++level, rank /= 64) {
            std::uint64_t& word = words_[starts_[level] + rank / 64];
            const bool was_empty = word == 0;
            word |= bit(rank);
            if (!was_empty) return;
        }
    }

    void erase(std::size_t rank) {
        for (std::size_t level = 0; level < levels_; ++level, rank /= 64) {
            std::uint64_t& word = words_[starts_[level] + rank / 64];
            word &= ~bit(rank);
            if (word != 0) return;
        }
    }

    // The first member not below `rank`; there must be one.
    std::size_t first_from(std::size_t rank) const {
        const std::uint64_t rest = words_[rank / 64] >> rank % 64;
        if (rest != 0) return rank + static_cast<std::size_t>(std::countr_zero(rest));
        return first_beyond_word(rank / 64);
    }

    std::size_t bytes() const { return words_.capacity() * sizeof words_[0]; }

  private:
    static constexpr std::size_t kMaxLevels = 11;  // of 64 bits

    static std::uint64_t bit(std::size_t rank) { return std::uint64_t{1} << rank % 64; }

    std::size_t first_beyond_word(std::size_t at) const {
        std::size_t level = 1;
        for (;; ++level, at /= 64) {
            const std::uint64_t above = words_[starts_[level] + at / 64] & ~1ull << at % 64;
            if (above == 0) continue;
            at = at / 64 * 64 + static_cast<std::size_t>(std::countr_zero(above));
            break;
        }
        while (level-- > 0) {
            const std::uint64_t word = words_[starts_[level] + at];
            at = at * 64 + static_cast<std::size_t>(std::countr_zero(word));
        }
        return at;
    }

    std::size_t levels_ = 0;
    std::size_t starts_[kMaxLevels] = {};  // of the levels in words_
    std::vector<std::uint64_t> words_;
};

}  // namespace paretopo::cpu
