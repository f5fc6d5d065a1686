// Sorts keys in descending order: counts ranks for the few rows of a recursion; networks for more;
// buckets for many.
#include <algorithm>
#include <cstring>

#include "cpu/lanes/kernels.hpp"
#include "cpu/lanes/sorting.hpp"
#include "cpu/lanes/volume/hypervolume.hpp"
#include "cpu/tuning/instruction_sets.hpp"

namespace paretopo::cpu::PARETOPO_LANES {
namespace {

constexpr std::size_t kCounted = 64;  // keys
constexpr std::size_t kFewInBucket = 16;

// As many buckets as keys, by linear interpolation (Dobosiewicz, 1978); then sorts each bucket.
void distribute(const double* keys, std::size_t count, std::uint32_t* order,
                Buffer<std::uint32_t>& buckets) {
    const auto is_before = [keys](std::uint32_t a, std::uint32_t b) {
        return keys[a] != keys[b] ? keys[a] > keys[b] : a < b;
    };
    double least = keys[0];
    double most = keys[0];
    for (std::size_t i = 1; i < count; ++i) {
        least = keys[i] < least ? keys[i] : least;
        most = keys[i] > most ? keys[i] : most;
    }
    const auto last = static_cast<double>(count - 1);
    const double scale = last / (most - least);
    if (!(scale > 0.0 && scale < 1e300)) {
        for (std::size_t i = 0; i < count; ++i) order[i] = static_cast<std::uint32_t>(i);
        if (most > least) std::sort(order, order + count, is_before);
        return;
    }
    // Rounding is monotone: a larger key never falls into a later bucket.
    const auto bucket_of = [&](std::size_t i) {
        const double place = (most - keys[i]) * scale;
        return static_cast<std::size_t>(place < last ? place : last);
    };
    std::uint32_t* start = buckets.of(count + 1);
    std::memset(start, 0, (count + 1) * sizeof(std::uint32_t));
    for (std::size_t i = 0; i < count; ++i) ++start[bucket_of(i) + 1];
    for (std::size_t b = 0; b < count; ++b) start[b + 1] += start[b];
    for (std::size_t i = 0; i < count; ++i) {
        order[start[bucket_of(i)]++] = static_cast<std::uint32_t>(i);
    }
    std::size_t first = 0;
    for (std::size_t b = 0; b < count && first < count; ++b) {
        const std::size_t end = start[b];  // advanced to its end by the items
        if (end > first + kFewInBucket) {
            // Limited rows share their largest value.
            if (!std::is_sorted(order + first, order + end, is_before)) {
                std::sort(order + first, order + end, is_before);
            }
        } else {
            for (std::size_t i = first + 1; i < end; ++i) {
                const std::uint32_t item = order[i];
                std::size_t hole = i;
                for (; hole > first && is_before(item, order[hole - 1]); --hole) {
                    order[hole] = order[hole - 1];
                }
                order[hole] = item;
            }
        }
        first = end;
    }
}

}  // namespace

void sort_bits(const std::uint64_t* keys, std::size_t count, std::uint64_t* packed) {
    const KeyRange range = kKeyKernels.measure(keys, count);
    const std::uint64_t width = range.most - range.least;
    const int differing = width == 0 ? 0 : 64 - __builtin_clzll(width);
    const int room = 32 - bits_of_places(count);
    const int dropped = differing > room ? differing - room : 0;
    kKeyKernels.sort(keys, count, range.least, dropped, packed);
    if (dropped > 0) kKeyKernels.sort_agreeing(keys, packed, 0, count);
}

void descending(const double* keys, std::size_t count, std::uint32_t* order,
                Buffer<std::uint32_t>& buckets) {
    if (count > kTuning.most_keys_in_words) return distribute(keys, count, order, buckets);
    if (count > kCounted) {
        auto* flipped = reinterpret_cast<std::uint64_t*>(buckets.of(4 * count));
        std::uint64_t* packed = flipped + count;
        std::memcpy(flipped, keys, count * sizeof(double));
        for (std::size_t i = 0; i < count; ++i) flipped[i] = ~flipped[i];
        sort_bits(flipped, count, packed);
        for (std::size_t i = 0; i < count; ++i) order[i] = static_cast<std::uint32_t>(packed[i]);
        return;
    }
    alignas(64) double padded[kCounted + kLanes];
    std::size_t size = 0;
    for (; size < count; ++size) padded[size] = keys[size];
    for (; size % kLanes != 0; ++size) padded[size] = -1.0;  // below every side
    for (std::size_t i = 0; i < count; ++i) {
        const Doubles key = all(padded[i]);
        const std::size_t own = i / kLanes * kLanes;
        int before = 0;
        for (std::size_t j = 0; j < own; j += kLanes) {
            before += paretopo::cpu::PARETOPO_LANES::count(reaches(load(padded + j), key));
        }
        const unsigned earlier = (1U << (i - own)) - 1;
        const Doubles near = load(padded + own);
        before += __builtin_popcount((bits(reaches(near, key)) & earlier) |
                                     (bits(above(near, key)) & ~earlier));
        for (std::size_t j = own + kLanes; j < size; j += kLanes) {
            before += paretopo::cpu::PARETOPO_LANES::count(above(load(padded + j), key));
        }
        order[before] = static_cast<std::uint32_t>(i);
    }
}

}  // namespace paretopo::cpu::PARETOPO_LANES
