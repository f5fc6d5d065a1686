// Binary search whose steps are no branches: which way it goes is anybody's guess, and a wrong
// guess costs more than the comparison.
#pragma once

#include <cstddef>

namespace paretopo::cpu {

// How many of `size` items satisfy `holds(item)`, where those that do come first.
template <typename Holds>
inline std::size_t count_leading(std::size_t size, const Holds& holds) {
    std::size_t count = 0;
    while (size > 0) {
        const std::size_t half = (size + 1) / 2;
        count += half & -static_cast<std::size_t>(holds(count + half - 1));
        size -= half;
    }
    return count;
}

}  // namespace paretopo::cpu
