// Looks weights up by an integer per lane.
#pragma once

#include "cpu/lanes/simd/doubles.hpp"
#include "cpu/lanes/volume.hpp"

namespace paretopo::cpu::PARETOPO_LANES {

// Weights for groups of any size: `row` of each lane is an offset into the table.
class WeightsInMemory {
  public:
    WeightsInMemory(const double* table, const int* sizes) : table_(table) {
        for (int lane = 0; lane < kLanes; ++lane) {
            rows_[lane] = static_cast<std::int64_t>(weights_at(sizes[lane], 0));
        }
    }
    // The state for the given number of points.
    PARETOPO_INLINE Words counting(Words points) const { return rows_ + points; }
    PARETOPO_INLINE Doubles at(Words state) const {  // masked: GCC warns about the other gathers
#if defined(__AVX512F__)
        return _mm512_mask_i64gather_pd(all(0.0), 0xff, (__m512i)state, table_, 8);
#elif defined(__AVX2__)
        return _mm256_i64gather_pd(table_, (__m256i)state, 8);
#else
        return Doubles{table_[state[0]], table_[state[1]]};
#endif
    }

  private:
    const double* table_;
    Words rows_;
};

#if defined(__AVX512F__)
// Weights for groups of one size up to kPoints, in registers.
template <int kPoints>
class WeightsInRegisters {
  public:
    WeightsInRegisters(const double* table, int size) {
        constexpr int kSize = 8 * kVectors;
        alignas(kVectorBytes) double turned[kSize];  // rotated so that index kSize itself is at 0
        for (int c = 1; c <= kSize; ++c) turned[c % kSize] = table[weights_at(size, c)];
        for (int v = 0; v < kVectors; ++v) vectors_[v] = load(turned + 8 * v);
    }
    PARETOPO_INLINE Words counting(Words points) const { return points; }
    PARETOPO_INLINE Doubles at(Words state) const {
        const auto index = (__m512i)state;
        if constexpr (kVectors == 1) {
            return _mm512_maskz_permutexvar_pd(0xff, index, vectors_[0]);
        } else if constexpr (kVectors == 2) {
            return _mm512_permutex2var_pd(vectors_[0], index, vectors_[1]);
        } else {
            const Doubles low = _mm512_permutex2var_pd(vectors_[0], index, vectors_[1]);
            const Doubles high = _mm512_permutex2var_pd(vectors_[2], index, vectors_[3]);
            return choose(_mm512_test_epi64_mask(index, _mm512_set1_epi64(16)), high, low);
        }
    }

  private:
    static constexpr int kVectors = kPoints <= 8 ? 1 : kPoints <= 16 ? 2 : 4;
    Doubles vectors_[kVectors];
};
#endif

}  // namespace paretopo::cpu::PARETOPO_LANES
