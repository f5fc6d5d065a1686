// Groups of up to 64 points of which few count, as a batch of smaller groups: padding costs the
// reading of its mask.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "ops.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace paretopo::cpu {

inline constexpr std::int32_t kMostCompacted = 64;  // points: a bit each

template <typename Scalar>
class Compacted {
  public:
    // The groups first..end of a batch. False if smaller groups would not pay.
    bool take(const Batch<Scalar>& batch, std::int64_t first, std::int64_t end) {
        if (!batch.mask || batch.points < kFewest || batch.points > kMostCompacted) return false;
        from_ = batch;
        first_ = first;
        present_.clear();
        counts_.clear();
        present_.reserve(static_cast<std::size_t>(end - first));
        counts_.reserve(static_cast<std::size_t>(end - first));
        int widest = 1;
        int narrowest = kMostCompacted;
        for (std::int64_t g = first; g < end; ++g) {
            present_.push_back(bits_of(batch.group_mask(g), batch.points));
            const int count = std::popcount(present_.back());
            counts_.push_back(count);
            for_each_present(present_.size() - 1, [&, group = batch.group(g)](int i) {
                __builtin_prefetch(group + i * batch.objectives);
            });
            widest = std::max(widest, count);
            narrowest = std::min(narrowest, count);
        }
        if (2 * widest > batch.points) return false;
        points_ = widest;
        const auto width = static_cast<std::size_t>(batch.objectives);
        values_.assign(present_.size() * static_cast<std::size_t>(points_) * width, Scalar(0));
        mask_.clear();
        if (narrowest < widest) {
            mask_.assign(present_.size() * static_cast<std::size_t>(points_), std::uint8_t{0});
        }
        for (std::size_t k = 0; k < present_.size(); ++k) {
            const Scalar* group = batch.group(first + static_cast<std::int64_t>(k));
            Scalar* to = values_.data() + k * static_cast<std::size_t>(points_) * width;
            switch (width) {  // a copy of known size takes no call
                case 2:
                    copy_present<2>(k, group, to);
                    break;
                case 3:
                    copy_present<3>(k, group, to);
                    break;
                default:
                    for_each_present(k, [&](int i) {
                        std::copy_n(group + static_cast<std::size_t>(i) * width, width, to);
                        to += width;
                    });
            }
            if (mask_.empty()) continue;
            std::fill_n(mask_.data() + k * static_cast<std::size_t>(points_), counts_[k],
                        std::uint8_t{1});
        }
        return true;
    }

    Batch<Scalar> batch() const {
        return {values_.data(),   mask_.empty() ? nullptr : mask_.data(),
                groups(),         points_,
                from_.objectives, from_.minimised};
    }
    std::int64_t groups() const { return static_cast<std::int64_t>(present_.size()); }
    std::size_t size() const { return present_.size() * static_cast<std::size_t>(points_); }

    // From values of the smaller groups to those of the whole batch; `missing` for padding.
    template <typename Value>
    void spread(const Value* own, Value missing, Value* out) const {
        out += first_ * from_.points;
        std::fill_n(out, groups() * from_.points, missing);
        for (std::size_t k = 0; k < present_.size(); ++k, out += from_.points, own += points_) {
            const Value* next = own;
            for_each_present(k, [&](int i) { out[i] = *next++; });
        }
    }

    // Where a value of the smaller groups, by its flat index, came from.
    std::int64_t origin(std::int64_t value) const {
        const std::int64_t point = value / from_.objectives;
        std::uint64_t left = present_[static_cast<std::size_t>(point / points_)];
        for (std::int64_t k = point % points_; k > 0; --k) left &= left - 1;
        const std::int64_t group = first_ + point / points_;
        return (group * from_.points + std::countr_zero(left)) * from_.objectives +
               value % from_.objectives;
    }

  private:
    static constexpr std::int32_t kFewest = 8;

    template <typename Visit>
    void for_each_present(std::size_t k, const Visit& visit) const {
        for (std::uint64_t left = present_[k]; left != 0; left &= left - 1) {
            visit(std::countr_zero(left));
        }
    }

    template <int kWidth>
    void copy_present(std::size_t k, const Scalar* group, Scalar* to) const {
        for_each_present(k, [&](int i) {
            std::memcpy(to, group + i * kWidth, kWidth * sizeof(Scalar));
            to += kWidth;
        });
    }

    // Bit i is set where byte i is not zero.
    static std::uint64_t bits_of(const std::uint8_t* mask, int points) {
        std::uint64_t bits = 0;
        int i = 0;
#if defined(__SSE2__)
        for (; i + 16 <= points; i += 16) {
            __m128i bytes;
            std::memcpy(&bytes, mask + i, sizeof bytes);
            const int zeros = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_setzero_si128()));
            bits |= static_cast<std::uint64_t>(~zeros & 0xffff) << i;
        }
#endif
        for (; i < points; ++i) bits |= static_cast<std::uint64_t>(mask[i] != 0) << i;
        return bits;
    }

    Batch<Scalar> from_{};
    std::int64_t first_ = 0;
    std::int32_t points_ = 0;
    std::vector<std::uint64_t> present_;  // of each group, a bit for each point that counts
    std::vector<int> counts_;             // of each group
    std::vector<Scalar> values_;
    std::vector<std::uint8_t> mask_;
};

}  // namespace paretopo::cpu
