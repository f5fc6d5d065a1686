// Orders keys, largest first: counting ranks for the few rows of a recursion, merging for many.
#include <algorithm>

#include "cpu/lanes/volume_engine.hpp"

namespace paretopo::cpu::PARETOPO_LANES {
namespace {

constexpr std::size_t kCounted = 384;  // keys

}  // namespace

void descending(const double* keys, std::size_t count, std::uint32_t* order) {
    if (count > kCounted) {
        for (std::size_t i = 0; i < count; ++i) order[i] = static_cast<std::uint32_t>(i);
        std::sort(order, order + count, [keys](std::uint32_t a, std::uint32_t b) {
            return keys[a] != keys[b] ? keys[a] > keys[b] : a < b;
        });
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
