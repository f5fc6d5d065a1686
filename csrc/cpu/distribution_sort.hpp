// Sorts items by a key that is a positive number, largest first. Items fall into as many buckets as
// there are items, by linear interpolation of the key; buckets are then sorted one by one. O(n) for
// keys that are spread out, O(n log n) for any keys.
//
// Source: Dobosiewicz, 1978, "Sorting by distributive partitioning".
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "cpu/lanes/interrupt.hpp"

namespace paretopo::cpu {

template <typename Item>
class DistributionSort {
  public:
    // `key(item)` is a positive finite double; `is_before` is a strict order that puts a larger key
    // before a smaller one.
    template <typename Key, typename Before>
    void sort(std::vector<Item>& items, Key key, Before is_before) {
        const std::size_t size = items.size();
        if (size < kFew) {
            std::sort(items.begin(), items.end(), is_before);
            return;
        }
        double least = key(items[0]);
        double most = least;
        for (const Item& item : items) {
            least = std::min(least, key(item));
            most = std::max(most, key(item));
        }
        const double span = most - least;
        const double scale = static_cast<double>(size - 1) / span;
        if (!(span > 0.0) || !(scale <= std::numeric_limits<double>::max())) {
            std::sort(items.begin(), items.end(), is_before);
            return;
        }
        // Rounding is monotone: a larger key never falls into a later bucket.
        bucket_of_.resize(size);
        start_.assign(size + 1, 0);
        for (std::size_t i = 0; i < size; ++i) {
            const auto bucket = static_cast<std::uint32_t>(
                std::min((most - key(items[i])) * scale, static_cast<double>(size - 1)));
            bucket_of_[i] = bucket;
            ++start_[bucket + 1];
        }
        for (std::size_t b = 0; b < size; ++b) start_[b + 1] += start_[b];
        check_interrupt();
        spare_.resize(size);
        for (std::size_t i = 0; i < size; ++i) spare_[start_[bucket_of_[i]]++] = items[i];
        items.swap(spare_);

        // start_[b] is now where bucket b ends. Most buckets hold one or two items.
        std::size_t first = 0;
        Pace pace;
        for (std::size_t b = 0; b < size && first < size; ++b) {
            pace.step();
            const std::size_t end = start_[b];
            const auto at = [&items](std::size_t i) {
                return items.begin() + static_cast<std::ptrdiff_t>(i);
            };
            if (end - first > kFewInBucket) {
                // Integer data: a bucket of equal keys, in order already if ties do not matter.
                if (std::is_sorted(at(first), at(end), is_before)) {
                    first = end;
                    continue;
                }
                std::sort(at(first), at(end), is_before);
            } else {
                for (std::size_t i = first + 1; i < end; ++i) {
                    const Item item = items[i];
                    std::size_t hole = i;
                    for (; hole > first && is_before(item, items[hole - 1]); --hole) {
                        items[hole] = items[hole - 1];
                    }
                    items[hole] = item;
                }
            }
            first = end;
        }
    }

  private:
    static constexpr std::size_t kFew = 64;
    static constexpr std::size_t kFewInBucket = 16;
    std::vector<Item> spare_;
    std::vector<std::uint32_t> bucket_of_, start_;
};

}  // namespace paretopo::cpu
