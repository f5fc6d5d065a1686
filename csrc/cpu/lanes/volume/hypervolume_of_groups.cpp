// Hypervolumes of many small sets, one set per lane. Networks sort the points, and insertion sweeps
// them, without a branch that depends on the points; padding is a point of zeros.
//
// Every sum runs over differences of neighbours in a sorted order. A network does not fix the order
// of equal coordinates, but their factor is zero: the result depends only on the set, not on other
// lanes.
#include "cpu/lanes/kernels.hpp"
#include "cpu/lanes/simd/sorting_networks.hpp"
#include "cpu/lanes/volume.hpp"
#include "cpu/lanes/volume/part.hpp"
#include "cpu/lanes/volume/small_sweeps.hpp"
#include "cpu/lanes/volume/tile.hpp"

namespace paretopo::cpu::PARETOPO_LANES {
namespace {

// As swept_2d of sorted points, but sorts keys: an exchange takes two instructions for keys, and
// five for points. A key is the last side of a point; its lowest byte becomes the index of the
// point's first side. Returns false if such bytes put two sides out of order.
template <int kPoints>
PARETOPO_INLINE bool swept_by_keys(const Doubles* points, Doubles& area) {
    Doubles keys[kPoints];
    for (int i = 0; i < kPoints; ++i) {
        keys[i] = (Doubles)(((Words)points[2 * i + 1] & ~255) | 2 * i);
    }
    sort_rows<kPoints, 1>(keys, nullptr);
    Doubles width = all(0.0);
    Doubles last = all(kLargestSide);
    Mask rises = none();
    area = all(0.0);
    for (int i = kPoints - 1; i >= 0; --i) {
        const auto* indices = reinterpret_cast<const unsigned char*>(keys + i);  // little-endian
        Doubles x, y;
        for (int lane = 0; lane < kLanes; ++lane) {
            const Doubles* point = points + indices[sizeof(double) * lane];
            x[lane] = point[0][lane];
            y[lane] = point[1][lane];
        }
        rises = either(rises, above(y, last));
        area += width * (last - y);
        width = larger(width, x);
        last = y;
    }
    area += width * last;
    return !Lanes<double>::any(rises);
}

template <int kPoints, int kObjectives>
Doubles volume_of(Doubles* points, int count) {
    if constexpr (kObjectives == 2) {
        // From the last point on, or compilers call memset. After such a call, the network of 32
        // points takes 1.4 times as long (Zen 5, AVX-512).
        for (int i = kPoints - 1; i >= count; --i) points[2 * i] = points[2 * i + 1] = all(0.0);
    } else {
        for (int i = count * kObjectives; i < kPoints * kObjectives; ++i) points[i] = all(0.0);
    }
    if constexpr (kObjectives == 2 && kPoints > 16 && kLanes == 4) {  // AVX2; no gain with others
        Doubles area;
        if (swept_by_keys<kPoints>(points, area)) return area;
    }
    sort_points<kPoints, kObjectives>(points);
    if constexpr (kObjectives == 2) {
        return swept_2d(points, kPoints);
    } else if constexpr (kObjectives == 3) {
        return swept_3d(points, count);
    } else {
        return swept_4d(points, count);
    }
}

template <int kObjectives>
Doubles volume_of(Doubles* points, int count) {
    if (count <= 4) return volume_of<4, kObjectives>(points, count);
    if (count <= 8) return volume_of<8, kObjectives>(points, count);
    if (count <= 12) return volume_of<12, kObjectives>(points, count);
    if (count <= 16) return volume_of<16, kObjectives>(points, count);
    if (count <= 24) return volume_of<24, kObjectives>(points, count);
    return volume_of<32, kObjectives>(points, count);
}

// Drops points that others cover, because the sweep is cubic.
template <typename Scalar>
void thin_out(Part<Scalar>& part, const double* ref) {
    Tile<4, Scalar> tile(part.batch, {ref, false});
    for (std::int64_t start = 0; start < part.batch.groups; start += kLanes) {
        std::int64_t sets[kLanes];
        part.take(start, sets);
        part.fetch(start + kLanes);
        const int count = tile.read(sets, part.present);
        const unsigned sound = tile.sound();
        tile.drop_outside(count);
        const Doubles uncovered = uncovered_4d(tile.values, count);
        for (int lane = 0; lane < kLanes && start + lane < part.batch.groups; ++lane) {
            if (!(sound >> lane & 1)) continue;
            const auto chosen = static_cast<std::uint32_t>(uncovered[lane]);
            std::uint32_t& present = part.present[sets[lane]];
            if ((present & (present + 1)) == 0) {
                present &= chosen;
                continue;
            }
            std::uint32_t kept = 0;  // the k-th kept point is the k-th bit that is set
            std::uint32_t left = present;
            for (int k = 0; left != 0; ++k, left &= left - 1) {
                kept |= (chosen >> k & 1) * (left & -left);
            }
            present = kept;
        }
    }
}

template <int kObjectives, typename Scalar>
void volumes_of(const Part<Scalar>& part, const double* ref, double* volumes,
                std::uint8_t* left_over) {
    Tile<kObjectives, Scalar> tile(part.batch, {ref, false});
    for (std::int64_t start = 0; start < part.batch.groups; start += kLanes) {
        std::int64_t sets[kLanes];
        part.take(start, sets);
        if constexpr (kObjectives < 4) part.fetch(start + kLanes);  // with 4, already read
        const int count = tile.read(sets, part.present);
        const unsigned sound = tile.sound();
        tile.drop_outside(count);
        const Doubles own = volume_of<kObjectives>(tile.values, count);
        for (int lane = 0; lane < kLanes && start + lane < part.batch.groups; ++lane) {
            volumes[sets[lane]] = own[lane];
            left_over[sets[lane]] = sound >> lane & 1 ? 0 : 1;
        }
    }
}

template <typename Scalar>
void hypervolumes(const Batch<Scalar>& batch, const double* ref, std::int64_t first,
                  std::int64_t end, double* volumes, std::uint8_t* left_over) {
    Part<Scalar> part(batch, first, end);
    switch (batch.objectives) {
        case 2:
            return volumes_of<2>(part, ref, volumes + first, left_over);
        case 3:
            return volumes_of<3>(part, ref, volumes + first, left_over);
        default:
            thin_out(part, ref);
            part.sort_by_size();
            return volumes_of<4>(part, ref, volumes + first, left_over);
    }
}

double hypervolume_of_few(const double* sides, std::size_t count, int objectives) {
    Doubles points[kMaxMeasuredInLane * kMaxObjectives];
    int rows = static_cast<int>(count);
    for (int i = 0; i < rows * objectives; ++i) points[i] = all(sides[i]);
    switch (objectives) {
        case 2:
            return volume_of<2>(points, rows)[0];
        case 3:
            return volume_of<3>(points, rows)[0];
        default: {
            const auto chosen = static_cast<std::uint32_t>(uncovered_4d(points, rows)[0]);
            int kept = 0;
            for (int i = 0; i < rows; ++i) {
                if (!(chosen >> i & 1)) continue;
                for (int m = 0; m < 4; ++m) points[4 * kept + m] = points[4 * i + m];
                ++kept;
            }
            return volume_of<4>(points, kept)[0];
        }
    }
}

template <typename Scalar>
constexpr GroupVolumeKernels<Scalar> kTableGroupVolumeKernels{.measure = hypervolumes<Scalar>,
                                                              .of_few = hypervolume_of_few};

}  // namespace

const OfBoth<GroupVolumeKernels> kGroupVolumeKernels{kTableGroupVolumeKernels<float>,
                                                     kTableGroupVolumeKernels<double>};

}  // namespace paretopo::cpu::PARETOPO_LANES
