// The grid of one small group of 2 objectives in the registers of one thread. A network sorts up to
// kPoints points, then the thread visits every row. The sums and their order are those of
// formulas/attainment.hpp; every loop has constant bounds.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "batch.hpp"
#include "formulas/sorting_networks.hpp"
#include "gpu/ranking/group_in_registers.hpp"
#include "gpu/volume/sides.hpp"
#include "portability.hpp"

namespace paretopo::gpu {

struct PresentBits {
    std::uint32_t bits;
    PARETOPO_HD bool operator()(std::int32_t i) const { return (bits >> i & 1) != 0; }
};

template <int kPoints>
class GridInRegisters {
  public:
    template <typename Scalar, typename Corners>
    PARETOPO_HD GridInRegisters(const Batch<Scalar>& batch, const Corners& ref, std::int64_t g)
        : present_{present_points<kPoints>(batch.group_mask(g), batch.points)} {
        Scalar values[2 * kPoints];
        load_values(batch.group(g), 2 * batch.points, values);
        const bool minimised[2] = {batch.is_minimised(0), batch.is_minimised(1)};
        const double corner[2] = {oriented(ref.at(g, 0, 2), minimised[0]),
                                  oriented(ref.at(g, 1, 2), minimised[1])};
        PARETOPO_UNROLL
        for (int i = 0; i < kPoints; ++i) {
            const double point[2] = {oriented(values[2 * i], minimised[0]),
                                     oriented(values[2 * i + 1], minimised[1])};
            const double x = side_of(point[0], corner[0]);
            const double y = side_of(point[1], corner[1]);
            const bool is_inside = present_(i) && x > 0.0 && y > 0.0;
            x_[i] = is_inside ? x : 0.0;
            y_[i] = is_inside ? y : 0.0;
            rows_[i] = y_[i];
            count_ += present_(i);
            refused_ |=
                present_(i) && (is_refused(point[0], corner[0]) || is_refused(point[1], corner[1]));
        }
        sort(Pairs());
        scale();
    }

    PARETOPO_HD std::int32_t count() const { return count_; }
    PARETOPO_HD bool is_refused_set() const { return refused_; }
    PARETOPO_HD int exponent() const { return exponent_; }
    PARETOPO_HD const PresentBits& present() const { return present_; }

    PARETOPO_HD double total(const double* weights) const {
        double unused[kPoints];
        const double sum = measure<false>(weights, unused);
        return exponent_ == 0 ? sum : ldexp(sum, exponent_);
    }
    PARETOPO_HD void measure_boxes(const double* weights, double (&boxes)[kPoints]) const {
        PARETOPO_UNROLL
        for (int j = 0; j < kPoints; ++j) boxes[j] = 0.0;
        measure<true>(weights, boxes);
        unsort(boxes, Pairs());
    }

  private:
    using Pairs = std::make_index_sequence<SortingNetwork<kPoints>().size>;

    template <int kFirst, int kSecond>
    PARETOPO_HD void exchange(int at) {
        const double x = x_[kFirst];
        const double y = y_[kFirst];
        const double row = rows_[kFirst];
        if (x > x_[kSecond]) {
            moved_ |= std::uint64_t{1} << at;
            x_[kFirst] = x_[kSecond];
            x_[kSecond] = x;
            y_[kFirst] = y_[kSecond];
            y_[kSecond] = y;
        }
        if (row > rows_[kSecond]) {
            rows_[kFirst] = rows_[kSecond];
            rows_[kSecond] = row;
        }
    }
    template <std::size_t... kAt>
    PARETOPO_HD void sort(std::index_sequence<kAt...>) {
        constexpr SortingNetwork<kPoints> network{};
        (exchange<network.pairs[kAt].first, network.pairs[kAt].second>(static_cast<int>(kAt)), ...);
    }

    template <int kFirst, int kSecond>
    PARETOPO_HD void exchange_back(double (&values)[kPoints], int at) const {
        const double first = values[kFirst];
        const bool is_moved = (moved_ >> at & 1) != 0;
        values[kFirst] = is_moved ? values[kSecond] : first;
        values[kSecond] = is_moved ? first : values[kSecond];
    }
    template <std::size_t... kAt>
    PARETOPO_HD void unsort(double (&values)[kPoints], std::index_sequence<kAt...>) const {
        constexpr SortingNetwork<kPoints> network{};
        constexpr std::size_t kLast = sizeof...(kAt) - 1;
        (exchange_back<network.pairs[kLast - kAt].first, network.pairs[kLast - kAt].second>(
             values, static_cast<int>(kLast - kAt)),
         ...);
    }

    PARETOPO_HD void scale() {
        const int of_x = excess_power(x_[kPoints - 1], 2);
        const int of_y = excess_power(rows_[kPoints - 1], 2);
        if (of_x == 0 && of_y == 0) return;
        exponent_ = of_x + of_y;
        PARETOPO_UNROLL
        for (int j = 0; j < kPoints; ++j) {
            x_[j] = ldexp(x_[j], -of_x);
            y_[j] = ldexp(y_[j], -of_y);
            rows_[j] = ldexp(rows_[j], -of_y);
        }
    }

    template <bool kBoxes>
    PARETOPO_HD double measure(const double* weights, double (&boxes)[kPoints]) const {
        double total = 0.0;
        PARETOPO_UNROLL
        for (int t = 0; t < kPoints; ++t) {
            const double height = rows_[t] - (t > 0 ? rows_[t - 1] : 0.0);
            if (!(height > 0.0)) continue;
            double reached = 0.0;
            double sum = 0.0;
            int left = kPoints - t;
            PARETOPO_UNROLL
            for (int j = 0; j < kPoints; ++j) {
                if (!(y_[j] >= rows_[t])) continue;
                sum += weights[left] * (x_[j] - reached);
                reached = x_[j];
                --left;
                if (kBoxes) boxes[j] += height * sum;
            }
            total += height * sum;
        }
        return total;
    }

    double x_[kPoints], y_[kPoints];  // ascending in x
    double rows_[kPoints];            // only y, ascending
    std::uint64_t moved_ = 0;         // bit per pair of the network: whether it swapped
    PresentBits present_;
    std::int32_t count_ = 0;
    int exponent_ = 0;
    bool refused_ = false;
};

}  // namespace paretopo::gpu
