// Packs mostly padded groups of up to 64 points into a batch of smaller groups, so that padding
// costs only the reading of its mask.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "batch.hpp"
#include "cpu/tuning/runtime.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace paretopo::cpu {

template <typename Scalar>
class Compacted {
  public:
    // Packs the groups first..end of a batch. False if smaller groups would not pay off.
    bool take(const Batch<Scalar>& batch, std::int64_t first, std::int64_t end) {
        if (!batch.mask || batch.points < kMinCompacted || batch.points > kMaxCompacted)
            return false;
        from_ = batch;
        first_ = first;
        present_.resize(static_cast<std::size_t>(end - first));
        int widest = 1;
        int narrowest = kMaxCompacted;
        for (std::size_t k = 0; k < present_.size(); ++k) {
            present_[k] = bits_of(mask_of(k), batch.points);
            const int count = count_of(present_[k]);
            widest = std::max(widest, count);
            narrowest = std::min(narrowest, count);
        }
        if (2 * widest > batch.points) return false;
        points_ = widest;
        const auto width = static_cast<std::size_t>(batch.objectives);
        const std::size_t stride = static_cast<std::size_t>(points_) * width;
        values_.resize(present_.size() * stride);
        mask_.clear();
        if (narrowest < widest) {
            std::fill(values_.begin(), values_.end(), Scalar(0));
            mask_.assign(size(), std::uint8_t{0});
        }
        for (std::size_t k = 0; k < std::min(kAhead, present_.size()); ++k) fetch(k);
        for (std::size_t k = 0; k < present_.size(); ++k) {
            if (k + kAhead < present_.size()) fetch(k + kAhead);
            const Scalar* group = group_of(k);
            Scalar* to = values_.data() + k * stride;
            for_each_run(present_[k], [&](int i, int count) {
                const std::size_t length = static_cast<std::size_t>(count) * width;
                std::copy_n(group + static_cast<std::size_t>(i) * width, length, to);
                to += length;
            });
            if (mask_.empty()) continue;
            std::fill_n(mask_.data() + k * static_cast<std::size_t>(points_), count_of(present_[k]),
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

    // Scatters values of the smaller groups to the whole batch; padding gets `missing`.
    template <typename Value>
    void spread(const Value* own, Value missing, Value* out) const {
        out += first_ * from_.points;
        std::fill_n(out, groups() * from_.points, missing);
        for (std::size_t k = 0; k < present_.size(); ++k, out += from_.points) {
            const Value* next = own + k * static_cast<std::size_t>(points_);
            for (std::uint64_t left = present_[k]; left != 0; left &= left - 1) {
                out[std::countr_zero(left)] = *next++;
            }
        }
    }

    // The flat index in the whole batch of a value of the smaller groups.
    std::int64_t origin(std::int64_t value) const {
        const std::int64_t point = value / from_.objectives;
        std::uint64_t left = present_[static_cast<std::size_t>(point / points_)];
        for (std::int64_t k = point % points_; k > 0; --k) left &= left - 1;
        const std::int64_t group = first_ + point / points_;
        return (group * from_.points + std::countr_zero(left)) * from_.objectives +
               value % from_.objectives;
    }

  private:
    static constexpr std::size_t kAhead = 64;  // groups; how far ahead their points are prefetched

    const Scalar* group_of(std::size_t k) const {
        return from_.group(first_ + static_cast<std::int64_t>(k));
    }
    const std::uint8_t* mask_of(std::size_t k) const {
        return from_.group_mask(first_ + static_cast<std::int64_t>(k));
    }

    static bool are_first(std::uint64_t present) { return (present & (present + 1)) == 0; }

    // Usually all present points come before the padding.
    static int count_of(std::uint64_t present) {
        return are_first(present) ? std::countr_one(present) : std::popcount(present);
    }

    // Calls visit(first point, count) for each run of present points.
    template <typename Visit>
    static void for_each_run(std::uint64_t present, const Visit& visit) {
        int first = 0;
        while (present != 0) {
            const int gap = std::countr_zero(present);
            present >>= gap;
            const int count = std::countr_one(present);
            visit(first + gap, count);
            first += gap + count;
            present = count == kMaxCompacted ? 0 : present >> count;
        }
    }

    void fetch(std::size_t k) const {
        constexpr int kLine = 64 / static_cast<int>(sizeof(Scalar));
        for_each_run(present_[k], [&, group = group_of(k)](int i, int count) {
            const Scalar* const end = group + (i + count) * from_.objectives;
            for (const Scalar* at = group + i * from_.objectives; at < end; at += kLine) {
                __builtin_prefetch(at);
            }
        });
    }

    // Bit i is set if byte i is not zero.
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
    std::vector<std::uint64_t> present_;  // of each group, a bit for each present point
    std::vector<Scalar> values_;
    std::vector<std::uint8_t> mask_;
};

}  // namespace paretopo::cpu
