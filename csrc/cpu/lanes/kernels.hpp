// The tables of the vector kernels. The subfolders are compiled once per instruction set, each time
// into the namespace PARETOPO_LANES and with their own tables. kernels() of isa.hpp returns the
// tables of the instruction set in use. All of them give the same results, bit for bit.
//
// Lanes start no threads. A lane file must not define symbols that other files could link to, as
// the templates of standard containers would.
#pragma once

namespace paretopo::cpu {

// In ranking.hpp, sorting.hpp, volume.hpp and quality.hpp. A file includes its own tables only, so
// that a change of one room does not rebuild the others.
template <typename Scalar>
struct GroupKernels;
template <typename Scalar>
struct SetKernels;
template <typename Scalar>
struct PivotKernels;
template <typename Scalar>
struct GroupVolumeKernels;
template <typename Scalar>
struct GridKernels;
struct CodeKernels;
struct TailKernels;
struct KeyKernels;
struct SetVolumeKernels;
struct ArchiveKernels;
struct IndicatorKernels;
struct Tuning;  // cpu/tuning/instruction_sets.hpp

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

// Every table: its type, its member of Kernels, and its name in the namespace of an instruction
// set.
#define PARETOPO_KERNEL_TABLES(X)                                     \
    X(OfBoth<GroupKernels>, groups, kGroupKernels)                    \
    X(OfBoth<SetKernels>, sets, kSetKernels)                          \
    X(OfBoth<PivotKernels>, pivots, kPivotKernels)                    \
    X(CodeKernels, codes, kCodeKernels)                               \
    X(TailKernels, tails, kTailKernels)                               \
    X(KeyKernels, keys, kKeyKernels)                                  \
    X(OfBoth<GroupVolumeKernels>, group_volumes, kGroupVolumeKernels) \
    X(OfBoth<GridKernels>, grids, kGridKernels)                       \
    X(SetVolumeKernels, set_volumes, kSetVolumeKernels)               \
    X(ArchiveKernels, archives, kArchiveKernels)                      \
    X(IndicatorKernels, indicators, kIndicatorKernels)

#define PARETOPO_MEMBER(Table, member, name) const Table& member;
#define PARETOPO_DECLARE(Table, member, name) extern const Table name;

struct Kernels {
    const Tuning& tuning;
    PARETOPO_KERNEL_TABLES(PARETOPO_MEMBER)
};

namespace portable {
PARETOPO_KERNEL_TABLES(PARETOPO_DECLARE)
}
namespace avx2 {
PARETOPO_KERNEL_TABLES(PARETOPO_DECLARE)
}
namespace avx512 {
PARETOPO_KERNEL_TABLES(PARETOPO_DECLARE)
}
#undef PARETOPO_DECLARE
#undef PARETOPO_MEMBER

}  // namespace paretopo::cpu
