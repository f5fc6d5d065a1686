#include "cpu/small_sets.hpp"

#include "cpu/isa.hpp"

namespace paretopo::cpu {

template <typename Scalar>
void small_volumes(const Batch<Scalar>& batch, const double* ref, std::int64_t first,
                   std::int64_t end, double* volumes, std::uint8_t* left_over) {
#if defined(PARETOPO_X86_LANES)
    if (isa() == Isa::kAvx512) {
        return avx512::small_volumes(batch, ref, first, end, volumes, left_over);
    }
    if (isa() == Isa::kAvx2) {
        return avx2::small_volumes(batch, ref, first, end, volumes, left_over);
    }
#endif
    portable::small_volumes(batch, ref, first, end, volumes, left_over);
}

double small_volume_of(const double* sides, std::size_t count, int objectives) {
    // One set fills one lane: the narrowest vectors waste least, and all give the same result.
    return portable::small_volume_of(sides, count, objectives);
}

template void small_volumes(const Batch<float>&, const double*, std::int64_t, std::int64_t, double*,
                            std::uint8_t*);
template void small_volumes(const Batch<double>&, const double*, std::int64_t, std::int64_t,
                            double*, std::uint8_t*);

}  // namespace paretopo::cpu
