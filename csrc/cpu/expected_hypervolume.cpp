// expected_hypervolume and hypervolume_advantage: one group after the other, along the grid through
// its points. Small groups go to the lanes.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "cpu/for_each_group.hpp"
#include "cpu/refused.hpp"
#include "cpu/sides.hpp"
#include "group/attainment.hpp"
#include "group/marginals.hpp"
#include "ops.hpp"

namespace paretopo::cpu {
namespace {

// One group as a grid, and its integrals, with the scratch of one thread.
class Attainment {
  public:
    Attainment(std::int32_t points, std::int32_t objectives) : objectives_(objectives) {
        const auto words = static_cast<std::size_t>(SlabSweep::words(points));
        const auto width = static_cast<std::size_t>(objectives);
        weights_.resize(static_cast<std::size_t>(points) + 1);
        active_.resize(words * width);
        levels_.resize(width);
    }

    void weigh(Share share, std::int32_t count, std::int32_t k) {
        if (share == share_ && count == count_ && k == k_) return;
        share_ = share;
        count_ = count;
        k_ = k;
        weigh_attainment(share, static_cast<std::int32_t>(weights_.size()) - 1, count, k,
                         weights_.data());
    }

    void take(const Sides& given) {
        const auto width = static_cast<std::size_t>(objectives_);
        count_inside_ = given.count;
        sides_.resize(given.count * width);
        order_.resize(given.count * width);
        rows_.resize(given.count);
        const double* values = given.values.data();
        std::iota(rows_.begin(), rows_.end(), 0);
        std::sort(rows_.begin(), rows_.end(), [&](std::int32_t a, std::int32_t b) {
            return values[a * objectives_] < values[b * objectives_];
        });
        for (std::size_t m = 0; m < width; ++m) {
            double* side = sides_.data() + m * given.count;
            std::int32_t* order = order_.data() + m * given.count;
            for (std::size_t j = 0; j < given.count; ++j) side[j] = values[rows_[j] * width + m];
            std::iota(order, order + given.count, 0);
            if (m == 0) continue;
            std::sort(order, order + given.count,
                      [side](std::int32_t a, std::int32_t b) { return side[a] < side[b]; });
        }
    }

    // Over all places.
    double total() {
        const Grid grid = this->grid();
        SlabSweep sweep{&grid, levels_.data(), active_.data(), nullptr, 1};
        double sum = 0.0;
        for (std::int32_t t = 0; grid.points > 0 && t < grid.slabs(); ++t) {
            const double height = grid.height(t);
            if (height > 0.0) sum += height * sweep.measure(t);
        }
        return sum;
    }

    // Over the box of each point, where it came from.
    void boxes(const Sides& given, double* integrals) {
        const Grid grid = this->grid();
        in_slab_.resize(given.count);
        in_box_.assign(given.count, 0.0);
        SlabSweep sweep{&grid, levels_.data(), active_.data(), in_slab_.data(), 1};
        for (std::int32_t t = 0; grid.points > 0 && t < grid.slabs(); ++t) {
            const double height = grid.height(t);
            if (!(height > 0.0)) continue;
            sweep.measure(t);
            for (std::size_t j = 0; j < given.count; ++j) in_box_[j] += height * in_slab_[j];
        }
        for (std::size_t j = 0; j < given.count; ++j) {
            integrals[given.index[static_cast<std::size_t>(rows_[j])]] = in_box_[j];
        }
    }

  private:
    Grid grid() const {
        return {static_cast<std::int32_t>(count_inside_), objectives_, sides_.data(),
                order_.data(), weights_.data()};
    }

    std::int32_t objectives_;
    Share share_ = Share::kHit;
    std::int32_t count_ = -1;
    std::int32_t k_ = -1;
    std::size_t count_inside_ = 0;
    std::vector<double> weights_, sides_, in_slab_, in_box_;
    std::vector<std::int32_t> order_, rows_;
    std::vector<std::uint64_t> active_;
    std::vector<SlabSweep::Level> levels_;
};

template <typename Scalar>
std::int32_t count_of(const Batch<Scalar>& batch, std::int64_t g) {
    const std::uint8_t* mask = batch.group_mask(g);
    if (!mask) return batch.points;
    return batch.points - static_cast<std::int32_t>(std::count(mask, mask + batch.points, 0));
}

// A guess, in ns, for the choice of threads: cells of the grid that lie in a box.
double grid_cost(std::int32_t points, std::int32_t objectives) {
    double cells = 50.0 + 20.0 * points * objectives;
    double rows = 1.0;
    for (std::int32_t m = 0; m < objectives; ++m) rows *= (points + m) / (m + 1.0);
    return cells + rows;
}

}  // namespace

template <typename Scalar>
std::int64_t expected_hypervolume(Batch<Scalar> batch, References ref, std::int32_t k,
                                  double* volumes) {
    FirstRefused refused;
    const auto work = [=, &refused, sides = Sides(),
                       attainment = Attainment(batch.points, batch.objectives)](
                          std::int64_t g) mutable {
        if (refused.note(batch, g, sides.measure(batch, g, ref.of(g, batch.objectives)))) return;
        const std::int32_t count = count_of(batch, g);
        attainment.weigh(Share::kHit, count, std::min(k, count));
        attainment.take(sides);
        volumes[g] = std::ldexp(attainment.total(), sides.exponent);
    };
    for_each_group(batch.groups, grid_cost(batch.points, batch.objectives), work);
    return refused.index();
}

template <typename Scalar>
std::int64_t hypervolume_advantage(Batch<Scalar> batch, References ref, std::int32_t k,
                                   Center center, Scalar* advantages) {
    if (batch.is_empty()) return kNoneRefused;
    FirstRefused refused;
    const auto work = [=, &refused, sides = Sides(),
                       attainment = Attainment(batch.points, batch.objectives),
                       marginals = std::vector<double>()](std::int64_t g) mutable {
        if (refused.note(batch, g, sides.measure(batch, g, ref.of(g, batch.objectives)))) return;
        const std::int32_t count = count_of(batch, g);
        const std::int32_t drawn = std::min(k, count);
        attainment.weigh(share_of(center, count, drawn), count, drawn);
        attainment.take(sides);
        marginals.assign(static_cast<std::size_t>(batch.points), 0.0);
        attainment.boxes(sides, marginals.data());
        centre_marginals(marginals.data(), batch.group_mask(g), batch.points, count, drawn, center,
                         sides.exponent, advantages + g * batch.points, 0, 1);
    };
    for_each_group(batch.groups, grid_cost(batch.points, batch.objectives), work);
    return refused.index();
}

template std::int64_t expected_hypervolume(Batch<float>, References, std::int32_t, double*);
template std::int64_t expected_hypervolume(Batch<double>, References, std::int32_t, double*);
template std::int64_t hypervolume_advantage(Batch<float>, References, std::int32_t, Center, float*);
template std::int64_t hypervolume_advantage(Batch<double>, References, std::int32_t, Center,
                                            double*);

}  // namespace paretopo::cpu
