// Volumes and contributions of ONE set of 2 or 3 objectives, of any size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "cpu/sorting/key_order.hpp"
#include "cpu/volume/exclusive_staircase.hpp"
#include "cpu/volume/staircase_of_maxima.hpp"

namespace paretopo::cpu {

class DimensionSweep {
  public:
    // Sort and sweep with a staircase (Fonseca, Paquete and Lopez-Ibanez, 2006), O(n log n).
    double volume_2d(const double* sides, std::size_t count);
    double volume_3d(const double* sides, std::size_t count);

    // own[i]: the exclusive volume of row i. The sweeps keep the exclusive area of each step of the
    // staircase as boxes, O(n log n). Dominated points reduce the contributions of others unless
    // they are ignored. (Emmerich and Fonseca, 2011, "Computing hypervolume contributions in low
    // dimensions: asymptotically optimal algorithm and complexity results".)
    //
    // A row is ignored if its point, before measuring, is dominated: the sweep calls
    // `ignorable(cover, row)` for each row that another covers, at least if they share a side. At
    // the first false it stops and returns false. Null: nothing is ignored.
    using Ignorable = std::function<bool(std::size_t cover, std::size_t row)>;
    bool contributions_2d(const double* sides, std::size_t count, const Ignorable& ignorable,
                          double* own);
    bool contributions_3d(const double* sides, std::size_t count, const Ignorable& ignorable,
                          double* own);

    std::size_t bytes() const {
        return boxes_.capacity() * sizeof(IndexedBox) + order_.bytes() + staircase_.bytes() +
               exclusive_.bytes() + (ranks_.capacity() + rows_.capacity()) * sizeof rows_[0];
    }

  private:
    struct IndexedBox {
        double x, y, z;
        std::uint32_t index;
    };

    // Fills boxes_, z descending; equal ones in the order of their indices.
    void take(const double* sides, std::size_t count);
    // The same, but among equal z, boxes that could cover another come first.
    void take_sorted(const double* sides, std::size_t count);
    // Fills ranks_, row by row; equal x, equal ranks.
    void rank_by_x(const double* sides, std::size_t count);
    bool contributions_of_front(const double* sides, double* own);
    void order_by_x(const double* sides, std::size_t count);

    std::vector<IndexedBox> boxes_;
    KeyOrder order_;
    StaircaseOfMaxima staircase_;
    ExclusiveStaircase exclusive_;
    std::vector<std::uint32_t> ranks_, rows_;
};

}  // namespace paretopo::cpu
