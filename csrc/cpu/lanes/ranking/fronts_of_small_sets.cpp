// Ranks and filters sets of up to kMaxInRows points, one after another, with any number of
// objectives: one point per lane, and for each point a row with a bit for every other.
#include <cstdint>
#include <cstring>

#include "batch.hpp"
#include "cpu/lanes/kernels.hpp"
#include "cpu/lanes/ranking.hpp"
#include "cpu/lanes/simd/simd.hpp"
#include "cpu/tuning/instruction_sets.hpp"

#if defined(__SSE2__) && !defined(__AVX2__)
#include <emmintrin.h>
#endif

namespace paretopo::cpu::PARETOPO_LANES {
namespace {

constexpr int kWord = 64;
constexpr int kVectorsInBlock = 4;  // their masks stay in registers

PARETOPO_INLINE std::uint64_t bits_below(int count) {
    return count <= 0 ? 0 : ~std::uint64_t{0} >> (count < kWord ? kWord - count : 0);
}

template <typename Scalar>
PARETOPO_INLINE std::uint64_t word_of(typename Lanes<Scalar>::Mask mask) {
#if defined(__SSE2__) && !defined(__AVX2__)
    if constexpr (sizeof(Scalar) == 4) return static_cast<unsigned>(_mm_movemask_ps((__m128)mask));
    return static_cast<unsigned>(_mm_movemask_pd((__m128d)mask));
#else
    return Lanes<Scalar>::bits(mask);
#endif
}

// The indices of the present points of a group; null: all, in order.
struct Places {
    std::uint16_t at[kMaxInRows];
    int count = 0;
    bool is_everyone = true;

    Places(const std::uint8_t* mask, int points) : count(points), is_everyone(mask == nullptr) {
        if (is_everyone) return;
        count = 0;
        for (int i = 0; i < points; ++i) {
            at[count] = static_cast<std::uint16_t>(i);
            count += mask[i] != 0;
        }
    }
    PARETOPO_INLINE int operator[](int k) const { return is_everyone ? k : at[k]; }
};

// A column of keys: the order of the values of one objective, in integers.
template <typename Scalar, int kMax>
class Keys {
    using V = Lanes<Scalar>;

  public:
    using I = typename V::I;
    using Int = typename V::Int;

    PARETOPO_INLINE void read(const Scalar* values, const Places& places, int objectives, int m,
                              bool minimised) {
        alignas(kVectorBytes) Scalar column[kMax];
        if (places.is_everyone) {
            for (int i = 0; i < places.count; ++i) column[i] = values[i * objectives + m];
        } else {
            for (int i = 0; i < places.count; ++i) {
                column[i] = values[places.at[i] * objectives + m];
            }
        }
        constexpr int kWidth = kVectorsInBlock * V::kLanes;
        const int room = (places.count + kWidth - 1) / kWidth * kWidth;
        for (int i = places.count; i < room; ++i) column[i] = Scalar(0);
        for (int v = 0; v * V::kLanes < room; ++v) {
            vectors[v] = ordered<Scalar>(V::load(column + v * V::kLanes), minimised);
            std::memcpy(numbers + v * V::kLanes, &vectors[v], sizeof vectors[v]);
        }
    }

    I vectors[kMax / V::kLanes];
    Int numbers[kMax];
};

// Bit j of row i: point j is at least as good as point i in every objective. Rows have kWords
// words.
template <int kWords>
class BitRows {
    using W = Lanes<double>;  // eight bytes per lane

  public:
    // Peels front after front; ranks count the rounds that a point does not survive.
    __attribute__((noinline)) std::int32_t rank(std::int32_t* ranks) {
        find_dominators();
        const int vectors = (count_ + W::kLanes - 1) / W::kLanes;
        typename W::I rounds[kMax / W::kLanes];
        for (int v = 0; v < vectors; ++v) rounds[v] = typename W::I{};
        std::uint64_t alive[kWords] = {};
        for (int w = 0; w < words_; ++w) alive[w] = bits_below(count_ - w * kWord);
        std::int32_t fronts = count_ > 0 ? 1 : 0;
        for (;; ++fronts) {
            std::uint64_t next[kWords] = {};
            for (int v = 0; v < vectors; ++v) {
                typename W::I met{};
                for (int w = 0; w < words_; ++w) {
                    typename W::I own;
                    std::memcpy(&own, dominators_[w] + v * W::kLanes, sizeof own);
                    met |= own & W::all_int(static_cast<std::int64_t>(alive[w]));
                }
                const typename W::Mask beaten = W::test_bits(met, met);
                rounds[v] = W::add_where(beaten, rounds[v], W::all_int(1));
                const int at = v * W::kLanes;
                next[at / kWord] |= word_of<double>(beaten) << at % kWord;
            }
            std::uint64_t left = 0;
            for (int w = 0; w < words_; ++w) left |= alive[w] = next[w];
            if (left == 0) break;
        }
        for (int i = 0; i < count_; ++i) {
            ranks[i] = static_cast<std::int32_t>(rounds[i / W::kLanes][i % W::kLanes]);
        }
        return fronts;
    }

    // True if no point dominates point i and, unless keep_duplicates, i is the first among equals.
    __attribute__((noinline)) bool is_kept(int i, bool keep_duplicates) const {
        for (int w = 0; w < words_; ++w) {
            std::uint64_t others = rows_[w][i];
            if (w == i / kWord) others &= ~(std::uint64_t{1} << i % kWord);
            for (; others != 0; others &= others - 1) {
                const int j = w * kWord + __builtin_ctzll(others);
                if ((rows_[i / kWord][j] >> i % kWord & 1) == 0) return false;
                if (!keep_duplicates && j < i) return false;
            }
        }
        return true;
    }

  protected:
    static constexpr int kMax = kWords * kWord;

    alignas(64) std::uint64_t rows_[kWords][kMax];
    int count_ = 0;
    int words_ = 0;

  private:
    // True if at least as good, and not the other way round.
    PARETOPO_INLINE void find_dominators() {
        const int room = count_ <= 16 ? 16 : count_ <= 32 ? 32 : words_ * kWord;
        for (int w = 0; w < words_; ++w) {
            for (int i = count_; i < room; ++i) rows_[w][i] = 0;
        }
        const int size = room < kWord ? room : kWord;
        for (int w = 0; w < words_; ++w) {
            for (int first = 0, v = 0; first < room; first += size, ++v) {
                std::uint64_t* turned = dominators_[w] + first;
                std::memcpy(turned, rows_[v] + w * kWord,
                            static_cast<std::size_t>(size) * sizeof *turned);
                transpose(turned, size);
                for (int i = 0; i < size; ++i) turned[i] = rows_[w][first + i] & ~turned[i];
            }
        }
    }

    // Bit j of word i becomes bit i of word j, for the first `size` of both: 16, 32 or 64.
    static PARETOPO_INLINE void transpose(std::uint64_t* words, int size) {
        if (size > 32) exchange<32>(words, size);
        if (size > 16) exchange<16>(words, size);
        exchange<8>(words, size);
        exchange<4>(words, size);
        exchange<2>(words, size);
        exchange<1>(words, size);
    }
    template <int kStep>
    static PARETOPO_INLINE void exchange(std::uint64_t* words, int size) {
        constexpr std::uint64_t kLow = ~std::uint64_t{0} / ((std::uint64_t{1} << kStep) + 1);
        for (int first = 0; first < size; first += 2 * kStep) {
#pragma GCC unroll 8
            for (int k = 0; k < kStep; ++k) {
                std::uint64_t& a = words[first + k];
                std::uint64_t& b = words[first + k + kStep];
                const std::uint64_t moved = (a >> kStep ^ b) & kLow;
                a ^= moved << kStep;
                b ^= moved;
            }
        }
    }

    alignas(64) std::uint64_t dominators_[kWords][kMax];
};

// The rows of points with values of one type.
template <typename Scalar, int kWords>
class RowsOf : public BitRows<kWords> {
    using V = Lanes<Scalar>;
    using I = typename V::I;
    using Mask = typename V::Mask;
    using Base = BitRows<kWords>;
    using Base::count_;
    using Base::rows_;
    using Base::words_;
    static constexpr int kLanes = V::kLanes;
    static constexpr int kTogether = 6;  // objectives compared while masks are in registers

  public:
    __attribute__((noinline)) void compare(const Scalar* values, const Places& places,
                                           int objectives, std::uint64_t minimised) {
        count_ = places.count;
        words_ = (count_ + kWord - 1) / kWord;
        for (int w = 0; w < words_; ++w) {
            for (int i = 0; i < count_; ++i) rows_[w][i] = bits_below(count_ - w * kWord);
        }
        for (int first = 0; first < objectives; first += kTogether) {
            const int here = objectives - first < kTogether ? objectives - first : kTogether;
            for (int k = 0; k < here; ++k) {
                const int m = first + k;
                keys_[k].read(values, places, objectives, m, m < 64 && (minimised >> m & 1) != 0);
            }
            switch (here) {
                case 1:
                    compare_columns<1>();
                    break;
                case 2:
                    compare_columns<2>();
                    break;
                case 3:
                    compare_columns<3>();
                    break;
                case 4:
                    compare_columns<4>();
                    break;
                case 5:
                    compare_columns<5>();
                    break;
                default:
                    compare_columns<6>();
            }
        }
    }

  private:
    template <int kObjectives>
    PARETOPO_INLINE void compare_columns() {
        const int vectors = (count_ + kLanes - 1) / kLanes;
        int v = 0;
        for (; v + kVectorsInBlock <= vectors; v += kVectorsInBlock)
            compare_block<kObjectives, kVectorsInBlock>(v);
        if (v + kVectorsInBlock / 2 <= vectors) {
            compare_block<kObjectives, kVectorsInBlock / 2>(v);
            v += kVectorsInBlock / 2;
        }
        if (v < vectors) compare_block<kObjectives, 1>(v);
    }

    // Compares all points with those of the vectors v..v + kVectors.
    template <int kObjectives, int kVectors>
    __attribute__((noinline)) void compare_block(int v) {
        constexpr int kWidth = kVectors * kLanes;
        constexpr std::uint64_t kHere = ~std::uint64_t{0} >> (kWord - kWidth);
        std::uint64_t* rows = rows_[v * kLanes / kWord];
        const int shift = v * kLanes % kWord;
        for (int i = 0; i < count_; ++i) {
            Mask reached[kVectors];
#pragma GCC unroll 4
            for (int b = 0; b < kVectors; ++b) reached[b] = V::all_lanes();
#pragma GCC unroll 6
            for (int k = 0; k < kObjectives; ++k) {
                const I own = V::all_int(keys_[k].numbers[i]);
#pragma GCC unroll 4
                for (int b = 0; b < kVectors; ++b) {
                    reached[b] = V::and_at_least(reached[b], keys_[k].vectors[v + b], own);
                }
            }
            std::uint64_t row = 0;
#pragma GCC unroll 4
            for (int b = 0; b < kVectors; ++b) row |= word_of<Scalar>(reached[b]) << b * kLanes;
            rows[i] &= row << shift | ~(kHere << shift);
        }
    }

    Keys<Scalar, Base::kMax> keys_[kTogether];
};

// Calls work(rows) with the narrowest rows that fit the number of points.
template <typename Scalar, typename Work>
PARETOPO_INLINE auto with_rows(int points, const Work& work) {
    if (points <= kWord) {
        RowsOf<Scalar, 1> rows;
        return work(rows);
    }
    if (points <= 2 * kWord) {
        RowsOf<Scalar, 2> rows;
        return work(rows);
    }
    RowsOf<Scalar, kMaxInRows / kWord> rows;
    return work(rows);
}

template <typename Scalar>
std::int32_t rank_set(const Scalar* values, std::int32_t points, std::int32_t objectives,
                      std::uint64_t minimised, std::int32_t* ranks) {
    return with_rows<Scalar>(points, [&](auto& rows) {
        rows.compare(values, Places(nullptr, points), objectives, minimised);
        return rows.rank(ranks);
    });
}

template <typename Scalar>
void find_nondominated_of_set(const Scalar* values, std::int32_t points, std::int32_t objectives,
                              std::uint64_t minimised, bool keep_duplicates,
                              std::uint8_t* nondominated) {
    with_rows<Scalar>(points, [&](auto& rows) {
        rows.compare(values, Places(nullptr, points), objectives, minimised);
        for (int i = 0; i < points; ++i) nondominated[i] = rows.is_kept(i, keep_duplicates);
    });
}

template <typename Scalar>
void order_set(const Scalar* values, std::int32_t points, std::int32_t objectives,
               std::int32_t objective, std::int32_t* order) {
    using V = Lanes<Scalar>;
    Keys<Scalar, kWord> keys;
    keys.read(values, Places(nullptr, points), objectives, objective, false);
    const auto* in_lanes = keys.vectors;
    const int vectors = (points + V::kLanes - 1) / V::kLanes;
    for (int i = 0; i < points; ++i) {
        const auto own = V::all_int(keys.numbers[i]);
        const auto up_to = [&](int v) __attribute__((always_inline)) {
            return word_of<Scalar>(V::and_at_least(V::all_lanes(), own, in_lanes[v]));
        };
        const auto below = [&](int v) __attribute__((always_inline)) {
            return word_of<Scalar>(V::greater(own, in_lanes[v]));
        };
        const int near = i / V::kLanes;
        const std::uint64_t earlier = (std::uint64_t{1} << i % V::kLanes) - 1;
        std::uint64_t before = ((up_to(near) & earlier) | (below(near) & ~earlier))
                               << near * V::kLanes;
        for (int v = 0; v < near; ++v) before |= up_to(v) << v * V::kLanes;
        for (int v = near + 1; v < vectors; ++v) before |= below(v) << v * V::kLanes;
        order[__builtin_popcountll(before & bits_below(points))] = i;
    }
}

template <typename Scalar>
void rank_sets(Batch<Scalar> batch, std::int64_t first, std::int64_t end, std::int32_t* ranks) {
    with_rows<Scalar>(batch.points, [&](auto& rows) {
        for (std::int64_t g = first; g < end; ++g) {
            const Places places(batch.group_mask(g), batch.points);
            rows.compare(batch.group(g), places, batch.objectives, batch.minimised);
            std::int32_t* out = ranks + g * batch.points;
            if (places.is_everyone) {
                rows.rank(out);
                continue;
            }
            std::int32_t own[kMaxInRows];
            rows.rank(own);
            for (int i = 0; i < batch.points; ++i) out[i] = kUnranked;
            for (int k = 0; k < places.count; ++k) out[places[k]] = own[k];
        }
    });
}

template <typename Scalar>
void find_nondominated_of_sets(Batch<Scalar> batch, std::int64_t first, std::int64_t end,
                               bool keep_duplicates, std::uint8_t* nondominated) {
    with_rows<Scalar>(batch.points, [&](auto& rows) {
        for (std::int64_t g = first; g < end; ++g) {
            const Places places(batch.group_mask(g), batch.points);
            rows.compare(batch.group(g), places, batch.objectives, batch.minimised);
            std::uint8_t* out = nondominated + g * batch.points;
            for (int i = 0; i < batch.points; ++i) out[i] = 0;
            for (int k = 0; k < places.count; ++k)
                out[places[k]] = rows.is_kept(k, keep_duplicates);
        }
    });
}

static_assert(kTuning.most_floats_in_rows <= kMaxInRows &&
              kTuning.most_doubles_in_rows <= kMaxInRows);

template <typename Scalar>
constexpr SetKernels<Scalar> kTableSetKernels{
    .rank = rank_set<Scalar>,
    .find_nondominated = find_nondominated_of_set<Scalar>,
    .order = order_set<Scalar>,
    .rank_each = rank_sets<Scalar>,
    .find_nondominated_of_each = find_nondominated_of_sets<Scalar>};

}  // namespace

const OfBoth<SetKernels> kSetKernels{kTableSetKernels<float>, kTableSetKernels<double>};

}  // namespace paretopo::cpu::PARETOPO_LANES
