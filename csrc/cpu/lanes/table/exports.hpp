// What the files of this folder define for the table.
#pragma once

#include "cpu/lanes/kernels.hpp"

namespace paretopo::cpu::PARETOPO_LANES {

template <typename Scalar>
void rank_groups(Batch<Scalar> batch, std::int64_t first, std::int64_t end, std::int32_t* ranks);
template <typename Scalar>
void find_nondominated(Batch<Scalar> batch, std::int64_t first, std::int64_t end, bool keep_weakly,
                       std::uint8_t* nondominated);
template <typename Scalar>
void advantages(Batch<Scalar> batch, std::int64_t first, std::int64_t end, Weighting<Scalar> how,
                Scalar* advantages, std::int32_t* ranks);
template <typename Scalar>
std::int32_t rank_set(const Scalar* values, std::int32_t points, std::int32_t objectives,
                      std::uint64_t minimised, std::int32_t* ranks);
template <typename Scalar>
void find_nondominated_of_set(const Scalar* values, std::int32_t points, std::int32_t objectives,
                              std::uint64_t minimised, bool keep_weakly,
                              std::uint8_t* nondominated);
template <typename Scalar>
void order_set(const Scalar* values, std::int32_t points, std::int32_t objectives,
               std::int32_t objective, std::int32_t* order);
template <typename Scalar>
void rank_sets(Batch<Scalar> batch, std::int64_t first, std::int64_t end, std::int32_t* ranks);
template <typename Scalar>
void find_nondominated_of_sets(Batch<Scalar> batch, std::int64_t first, std::int64_t end,
                               bool keep_weakly, std::uint8_t* nondominated);
template <typename Scalar>
void hypervolumes(const Batch<Scalar>& batch, const double* ref, std::int64_t first,
                  std::int64_t end, double* volumes, std::uint8_t* left_over);
template <typename Scalar>
void integrate_grids(const Batch<Scalar>& batch, std::int64_t first, std::int64_t end,
                     const GridIntegrals& how);
template <typename Scalar>
std::int32_t drop_dominated(const Scalar* values, std::int32_t points, std::int32_t objectives,
                            std::uint64_t minimised, const std::int32_t* pivots, int pivot_count,
                            std::int32_t* survivors);
template <typename Scalar>
std::int32_t find_promising(const Scalar* values, std::int32_t first, std::int32_t end,
                            std::int32_t objectives, std::uint64_t minimised, const Scalar* pivots,
                            std::int32_t* found);
template <typename Scalar>
void pick_pivots(const Scalar* sample, std::int32_t count, std::int32_t objectives,
                 std::uint64_t minimised, Scalar* pivots);
double hypervolume_of_few(const double* sides, std::size_t count, int objectives);
void rank_distinct(CodeColumns set, std::int32_t* ranks);
void find_distinct_nondominated(CodeColumns set, std::uint8_t* nondominated);
HypervolumeKernel* new_hypervolume(int objectives);
ArchiveMembers* new_archive(int objectives);
KeyRange measure_keys(const std::uint64_t* keys, std::size_t size);
void sort_keys(const std::uint64_t* keys, std::size_t size, std::uint64_t least, int dropped,
               std::uint64_t* packed);
void sort_packed_keys(const std::uint64_t* packed, std::size_t size, int bits,
                      std::uint64_t* sorted);
std::size_t find_agreeing_keys(const std::uint64_t* packed, std::size_t size, std::size_t from);

}  // namespace paretopo::cpu::PARETOPO_LANES

// For floats and doubles, where the function is defined.
#define PARETOPO_INSTANTIATE_KERNEL(function)           \
    template decltype(function<float>) function<float>; \
    template decltype(function<double>) function<double>;
