// expected_hypervolume and hypervolume_advantage: one group after another, along the grid through
// its points. Small groups go to the lanes.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "cpu/lanes/isa.hpp"
#include "cpu/lanes/volume.hpp"
#include "cpu/runtime/for_each_group.hpp"
#include "cpu/runtime/interrupt.hpp"
#include "cpu/tuning/instruction_sets.hpp"
#include "cpu/tuning/ranking.hpp"
#include "cpu/volume/sides.hpp"
#include "formulas/attainment.hpp"
#include "formulas/marginals.hpp"
#include "ops.hpp"

namespace paretopo::cpu {
namespace {

constexpr std::int64_t kPart = 64;  // groups that a thread gives to the lanes at a time

// One group as a grid, and its integrals, with the scratch of one thread.
class Attainment {
  public:
    Attainment(std::int32_t points, std::int32_t objectives) : objectives_(objectives) {
        const auto words = static_cast<std::size_t>(SlabIntegral::words(points));
        const auto width = static_cast<std::size_t>(objectives);
        weights_.resize(static_cast<std::size_t>(points) + 1);
        active_.resize(words * width);
        levels_.resize(width);
    }

    void weigh(CellWeight kind, std::int32_t count, std::int32_t k) {
        if (kind == kind_ && count == count_ && k == k_) return;
        kind_ = kind;
        count_ = count;
        k_ = k;
        fill_cell_weights(kind, static_cast<std::int32_t>(weights_.size()) - 1, count, k,
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

    // Integrates over the whole space.
    double total() {
        const Grid grid = this->grid();
        SlabIntegral sweep{grid, levels_.data(), active_.data(), nullptr, 1};
        double sum = 0.0;
        for (std::int32_t t = 0; grid.points > 0 && t < grid.slabs(); ++t) {
            check_interrupt();
            const double height = grid.height(t);
            if (height > 0.0) sum += height * sweep.measure(t);
        }
        return sum;
    }

    // Integrates over the box of each point; results are in the group's order.
    void boxes(const Sides& given, double* integrals) {
        const Grid grid = this->grid();
        in_slab_.resize(given.count);
        in_box_.assign(given.count, 0.0);
        SlabIntegral sweep{grid, levels_.data(), active_.data(), in_slab_.data(), 1};
        for (std::int32_t t = 0; grid.points > 0 && t < grid.slabs(); ++t) {
            check_interrupt();
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
        return {static_cast<std::int32_t>(count_inside_), objectives_, sides_.data(), order_.data(),
                weights_.data()};
    }

    std::int32_t objectives_;
    CellWeight kind_ = CellWeight::kHit;
    std::int32_t count_ = -1;
    std::int32_t k_ = -1;
    std::size_t count_inside_ = 0;
    std::vector<double> weights_, sides_, in_slab_, in_box_;
    std::vector<std::int32_t> order_, rows_;
    std::vector<std::uint64_t> active_;
    std::vector<SlabIntegral::Level> levels_;
};

template <typename Scalar>
std::int32_t count_of(const Batch<Scalar>& batch, std::int64_t g) {
    const std::uint8_t* mask = batch.group_mask(g);
    if (!mask) return batch.points;
    return batch.points - static_cast<std::int32_t>(std::count(mask, mask + batch.points, 0));
}

// An estimate, in ns, for the choice of threads: mostly the number of grid cells within some box.
template <typename Scalar>
double grid_cost(const Batch<Scalar>& batch) {
    double cells = 1.0;
    for (std::int32_t m = 0; m < batch.objectives; ++m) cells *= (batch.points + m) / (m + 1.0);
    return 50.0 + 20.0 * batch.points * batch.objectives + cells;
}

// True if lanes, which visit all cells, are faster than one group at a time.
template <typename Scalar>
bool fits_lanes_of_grids(const Batch<Scalar>& batch) {
    if (batch.objectives == 2) return batch.points >= 1 && batch.points <= kMaxMeasuredInLane;
    return batch.objectives == 3 && batch.points >= 1 &&
           batch.points <= kernels().tuning.most_grid_points_of_3 &&
           batch.groups >= kMinGroupsInLanes;
}

// Weights for every size that a masked group of the batch may have.
template <typename Scalar, typename Choose>
std::vector<double> weights_of_sizes(const Batch<Scalar>& batch, std::int32_t k, Choose kind) {
    std::vector<double> weights(kWeightsSize);
    for (std::int32_t count = batch.mask ? 1 : batch.points; count <= batch.points; ++count) {
        const std::int32_t drawn = std::min(k, count);
        fill_cell_weights(kind(count, drawn), kMaxMeasuredInLane, count, drawn,
                          weights.data() + weights_at(count, 0));
    }
    return weights;
}

// Calls work(part) for every kPart groups.
template <typename Scalar, typename Work>
void for_each_grid_part(const Batch<Scalar>& batch, const Work& work) {
    const double cost = 5.0 * kPart * batch.points * batch.points;
    for_each_group((batch.groups + kPart - 1) / kPart, cost, work);
}

template <typename Scalar>
class ExpectedVolume {
  public:
    ExpectedVolume(Batch<Scalar> batch, References ref, std::int32_t k, double* volumes,
                   FirstRefused& refused)
        : batch_(batch),
          ref_(ref),
          k_(k),
          volumes_(volumes),
          refused_(&refused),
          attainment_(batch.points, batch.objectives) {}

    void operator()(std::int64_t g) {
        const double* corner = ref_.of(g, batch_.objectives);
        if (refused_->note(batch_, g, sides_.measure(batch_, g, corner))) return;
        const std::int32_t count = count_of(batch_, g);
        attainment_.weigh(CellWeight::kHit, count, std::min(k_, count));
        attainment_.take(sides_);
        volumes_[g] = std::ldexp(attainment_.total(), sides_.exponent);
    }

  private:
    Batch<Scalar> batch_;
    References ref_;
    std::int32_t k_;
    double* volumes_;
    FirstRefused* refused_;
    Sides sides_;
    Attainment attainment_;
};

template <typename Scalar>
class MarginalAdvantage {
  public:
    MarginalAdvantage(Batch<Scalar> batch, References ref, std::int32_t k, Centre centre,
                      Scalar* advantages, FirstRefused& refused)
        : batch_(batch),
          ref_(ref),
          k_(k),
          centre_(centre),
          advantages_(advantages),
          refused_(&refused),
          attainment_(batch.points, batch.objectives),
          marginals_(static_cast<std::size_t>(batch.points)) {}

    void operator()(std::int64_t g) {
        const double* corner = ref_.of(g, batch_.objectives);
        if (refused_->note(batch_, g, sides_.measure(batch_, g, corner))) return;
        const std::int32_t count = count_of(batch_, g);
        const std::int32_t drawn = std::min(k_, count);
        attainment_.weigh(cell_weight_of(centre_, count, drawn), count, drawn);
        attainment_.take(sides_);
        std::fill(marginals_.begin(), marginals_.end(), 0.0);
        attainment_.boxes(sides_, marginals_.data());
        centre(g, marginals_.data(), sides_.exponent);
    }

    void centre(std::int64_t g, const double* marginals, int exponent) const {
        const PresentPoints present{batch_.group_mask(g)};
        const std::int32_t count = count_of(batch_, g);
        const MarginalCentring centring = marginal_centring(
            marginals, present, batch_.points, count, std::min(k_, count), centre_, exponent);
        Scalar* out = advantages_ + g * batch_.points;
        if (!batch_.mask && centring.is_shift()) {  // the usual case, vectorised by the compiler
            for (std::int32_t i = 0; i < batch_.points; ++i) {
                out[i] = static_cast<Scalar>(centring.gap(marginals[i]) * centring.factor);
            }
            return;
        }
        for (std::int32_t i = 0; i < batch_.points; ++i) {
            out[i] = static_cast<Scalar>(present(i) ? centring.apply(marginals[i]) : 0.0);
        }
    }

  private:
    Batch<Scalar> batch_;
    References ref_;
    std::int32_t k_;
    Centre centre_;
    Scalar* advantages_;
    FirstRefused* refused_;
    Sides sides_;
    Attainment attainment_;
    std::vector<double> marginals_;
};

}  // namespace

template <typename Scalar>
std::int64_t expected_hypervolume(Batch<Scalar> batch, const double* ref_at, bool per_group,
                                  std::int32_t k, double* volumes) {
    const References ref{ref_at, per_group};
    FirstRefused refused;
    const ExpectedVolume<Scalar> one(batch, ref, k, volumes, refused);
    if (!fits_lanes_of_grids(batch)) {
        for_each_group(batch.groups, grid_cost(batch), one);
        return refused.index();
    }
    const std::vector<double> weights =
        weights_of_sizes(batch, k, [](auto...) { return CellWeight::kHit; });
    for_each_grid_part(batch, [&, mine = one](std::int64_t part) mutable {
        const std::int64_t first = part * kPart;
        const std::int64_t end = std::min(first + kPart, batch.groups);
        std::array<std::uint8_t, kPart> left_over;
        const GridIntegrals how{ref, weights.data(), nullptr, volumes + first, left_over.data()};
        kernels().grids.of<Scalar>().integrate(batch, first, end, how);
        for (std::int64_t g = first; g < end; ++g) {
            if (left_over[static_cast<std::size_t>(g - first)] != 0) mine(g);
        }
    });
    return refused.index();
}

template <typename Scalar>
std::int64_t hypervolume_advantage(Batch<Scalar> batch, const double* ref_at, bool per_group,
                                   std::int32_t k, Centre centre, Scalar* advantages) {
    const References ref{ref_at, per_group};
    if (batch.is_empty()) return kNoneRefused;
    FirstRefused refused;
    const MarginalAdvantage<Scalar> one(batch, ref, k, centre, advantages, refused);
    if (!fits_lanes_of_grids(batch)) {
        for_each_group(batch.groups, grid_cost(batch), one);
        return refused.index();
    }
    const std::vector<double> weights =
        weights_of_sizes(batch, k, [=](std::int32_t count, std::int32_t drawn) {
            return cell_weight_of(centre, count, drawn);
        });
    for_each_grid_part(batch, [&, mine = one](std::int64_t part) mutable {
        const std::int64_t first = part * kPart;
        const std::int64_t end = std::min(first + kPart, batch.groups);
        std::array<double, kPart * kMaxMeasuredInLane> marginals;
        std::array<std::uint8_t, kPart> left_over;
        const GridIntegrals how{ref, weights.data(), marginals.data(), nullptr, left_over.data()};
        kernels().grids.of<Scalar>().integrate(batch, first, end, how);
        for (std::int64_t g = first; g < end; ++g) {
            if (left_over[static_cast<std::size_t>(g - first)] != 0) {
                mine(g);
            } else {
                mine.centre(g, marginals.data() + (g - first) * batch.points, 0);
            }
        }
    });
    return refused.index();
}

template std::int64_t expected_hypervolume(Batch<float>, const double*, bool, std::int32_t,
                                           double*);
template std::int64_t expected_hypervolume(Batch<double>, const double*, bool, std::int32_t,
                                           double*);
template std::int64_t hypervolume_advantage(Batch<float>, const double*, bool, std::int32_t, Centre,
                                            float*);
template std::int64_t hypervolume_advantage(Batch<double>, const double*, bool, std::int32_t,
                                            Centre, double*);

}  // namespace paretopo::cpu
