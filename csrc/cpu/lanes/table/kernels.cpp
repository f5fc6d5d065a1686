#include "cpu/lanes/kernels.hpp"

#include "cpu/lanes/table/exports.hpp"

namespace paretopo::cpu::PARETOPO_LANES {
namespace {

#if defined(__AVX512F__)
constexpr std::int32_t kMostFloatsInRows = 288;
constexpr std::int32_t kMostDoublesInRows = 160;
#elif defined(__AVX2__)
constexpr std::int32_t kMostFloatsInRows = 192;
constexpr std::int32_t kMostDoublesInRows = 112;
#else
constexpr std::int32_t kMostFloatsInRows = 160;
constexpr std::int32_t kMostDoublesInRows = 96;
#endif
static_assert(kMostFloatsInRows <= kMostInRows && kMostDoublesInRows <= kMostInRows);

template <typename Scalar>
constexpr KernelsOf<Scalar> kKernelsOf{
    rank_groups<Scalar>,
    find_nondominated<Scalar>,
    advantages<Scalar>,
    rank_set<Scalar>,
    find_nondominated_of_set<Scalar>,
    order_set<Scalar>,
    rank_sets<Scalar>,
    find_nondominated_of_sets<Scalar>,
    hypervolumes<Scalar>,
    integrate_grids<Scalar>,
    drop_dominated<Scalar>,
    find_promising<Scalar>,
    pick_pivots<Scalar>,
    sizeof(Scalar) == sizeof(float) ? kMostFloatsInRows : kMostDoublesInRows};

#if defined(__AVX512F__)
constexpr std::int32_t kMostRanked = 128;
constexpr std::int32_t kMostFiltered = 96;
constexpr std::size_t kMostKeysInWords = 4096;
#elif defined(__AVX2__)
constexpr std::int32_t kMostRanked = 96;
constexpr std::int32_t kMostFiltered = 64;
constexpr std::size_t kMostKeysInWords = 1024;
#else
constexpr std::int32_t kMostRanked = 64;
constexpr std::int32_t kMostFiltered = 64;
constexpr std::size_t kMostKeysInWords = 128;
#endif
static_assert(kMostKeysInWords <= kMostInWords);

}  // namespace

const Kernels kKernels{
    kKernelsOf<float>,
    kKernelsOf<double>,
    hypervolume_of_few,
    rank_distinct,
    find_distinct_nondominated,
    new_hypervolume,
    new_archive,
    kMostRanked,
    kMostFiltered,
    {measure_keys, sort_keys, sort_packed_keys, find_agreeing_keys, kMostKeysInWords}};

}  // namespace paretopo::cpu::PARETOPO_LANES
