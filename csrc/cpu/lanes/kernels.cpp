#include "cpu/lanes/kernels.hpp"

#include "cpu/lanes/exports.hpp"

namespace paretopo::cpu::PARETOPO_LANES {
namespace {

template <typename Scalar>
constexpr KernelsOf<Scalar> kKernelsOf{rank_groups<Scalar>,     find_nondominated<Scalar>,
                                       advantages<Scalar>,      hypervolumes<Scalar>,
                                       integrate_grids<Scalar>, drop_dominated<Scalar>};

}  // namespace

const Kernels kKernels{kKernelsOf<float>, kKernelsOf<double>,         hypervolume_of_few,
                       rank_distinct,     find_distinct_nondominated, new_hypervolume,
                       new_archive};

}  // namespace paretopo::cpu::PARETOPO_LANES
