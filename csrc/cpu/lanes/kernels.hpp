// The tables of the vector kernels. The subfolders are compiled once per instruction set, each time
// into the namespace PARETOPO_LANES and with their own tables. kernels() of isa.hpp returns the
// tables of the instruction set in use. All of them give the same results, bit for bit.
//
// Lanes start no threads. A lane file must not define symbols that other files could link to, as
// the templates of standard containers would.
#pragma once

#include "cpu/lanes/quality.hpp"
#include "cpu/lanes/ranking.hpp"
#include "cpu/lanes/sorting.hpp"
#include "cpu/lanes/volume.hpp"

namespace paretopo::cpu {

template <template <typename> class Table>
struct OfBoth {
    Table<float> of_floats;
    Table<double> of_doubles;

    template <typename Scalar>
    const Table<Scalar>& of() const {
        if constexpr (sizeof(Scalar) == sizeof(float)) {
            return of_floats;
        } else {
            return of_doubles;
        }
    }
};

struct Kernels {
    const Tuning& tuning;
    const OfBoth<GroupKernels>& groups;
    const OfBoth<SetKernels>& sets;
    const OfBoth<PivotKernels>& pivots;
    const CodeKernels& codes;
    const TailKernels& tails;
    const KeyKernels& keys;
    const OfBoth<GroupVolumeKernels>& group_volumes;
    const OfBoth<GridKernels>& grids;
    const SetVolumeKernels& set_volumes;
    const ArchiveKernels& archives;
    const IndicatorKernels& indicators;
};

// Declares the tables of an instruction set, and `kernels`, which refers to all of them.
#define PARETOPO_DECLARE_KERNELS(isa)                            \
    namespace isa {                                              \
    extern const OfBoth<GroupKernels> kGroupKernels;             \
    extern const OfBoth<SetKernels> kSetKernels;                 \
    extern const OfBoth<PivotKernels> kPivotKernels;             \
    extern const CodeKernels kCodeKernels;                       \
    extern const TailKernels kTailKernels;                       \
    extern const KeyKernels kKeyKernels;                         \
    extern const OfBoth<GroupVolumeKernels> kGroupVolumeKernels; \
    extern const OfBoth<GridKernels> kGridKernels;               \
    extern const SetVolumeKernels kSetVolumeKernels;             \
    extern const ArchiveKernels kArchiveKernels;                 \
    extern const IndicatorKernels kIndicatorKernels;             \
    }
PARETOPO_DECLARE_KERNELS(portable)
PARETOPO_DECLARE_KERNELS(avx2)
PARETOPO_DECLARE_KERNELS(avx512)
#undef PARETOPO_DECLARE_KERNELS

}  // namespace paretopo::cpu
