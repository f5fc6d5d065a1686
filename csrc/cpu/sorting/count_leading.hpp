// Branch-free binary search: the branches would be unpredictable, and a misprediction costs more
// than a comparison.
#pragma once

#include <cstddef>

namespace paretopo::cpu {

// The number of items that satisfy `holds(item)`, given that these come first.
template <typename Holds>
inline std::size_t count_leading(std::size_t size, const Holds& holds) {
    std::size_t count = 0;
    while (size > 0) {
        const std::size_t half = (size + 1) / 2;
        const std::size_t more = count + half;
        count = holds(more - 1) ? more : count;
        size -= half;
    }
    return count;
}

}  // namespace paretopo::cpu
