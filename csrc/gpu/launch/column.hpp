// Memory of one thread that has an address, unlike registers. On a GPU the columns of a block lie
// next to each other, so that threads of a warp never use the same bank of shared memory.
#pragma once

#include "portability.hpp"

namespace paretopo::gpu {

template <typename T>
struct Column {
    T* first;
    int stride;
    PARETOPO_HD T& operator[](int i) const { return first[i * stride]; }
};

}  // namespace paretopo::gpu
