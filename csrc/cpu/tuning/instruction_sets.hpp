// Sizes at which one algorithm takes over from another. scripts/measure_switches.py measures both
// sides of each. The comments give its ratio on an EPYC with AVX-512: the time of a group with one
// point more over the time of a group at the bound. The results do not depend on these numbers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace paretopo::cpu {

// ---- For every instruction set ----

// One group per lane needs few points and values, so that a block stays in the first-level cache,
// and enough groups, so that few lanes are empty. 64 x 4: ranks 1.8, filter 1.4.
inline constexpr std::int32_t kMaxInLane = 64;
inline constexpr std::int32_t kMaxValuesInLane = 256;
inline constexpr std::int64_t kMinGroupsInLanes = 4;
// Up to this size, advantages are fast even in a block with few groups.
inline constexpr std::int32_t kMaxTiny = 16;

// A row of bits per point against sorting, with up to 2 objectives; the filter has at least 3.
inline constexpr std::int32_t kMaxFlatInRows = 64;

// Ranks of 2 objectives: a column of equal first values by std::sort against KeyOrder: 1.0.
inline constexpr std::size_t kMinColumnOrdered = 48;

// Volumes and expected volumes of 2 objectives with one group per lane. 32 x 2: 5.0 and 11.7; 32 x
// 3: 2.6; 32 x 4: 3.3. With 4 objectives only from this number of groups.
inline constexpr std::int32_t kMaxMeasuredInLane = 32;
inline constexpr std::int64_t kMinMeasuredOf4 = 4;
// Larger sets: the vector kernel, which ranks by counting, against a sort and a sweep. 96 x 2: 0.8;
// 96 x 3: 0.9.
inline constexpr std::size_t kMaxCountedInSweep = 96;

// Volumes of 4 and 5 objectives, if a sample shows many undominated points: by doubles against by
// ranks. 88 x 4: 1.1; 24 x 5: 1.2.
inline constexpr std::size_t kMaxUnranked4 = 88;
inline constexpr std::size_t kMaxUnranked5 = 24;

// The members of an archive from 3 objectives on: all compared, against their index. Additions to
// 400 members: 1.8 with 3 objectives, 2.4 with 5. (The script measures neither this size nor the
// next: the ratios are those of two builds in turn.)
inline constexpr std::size_t kMinIndexed = 256;
// The sides of these members, sorted by the last one, against their index. Additions to 900
// members: 1.3 with 3 objectives, 1.1 with 5.
inline constexpr std::size_t kMaxSortedInArchive = 768;

// Groups with a mask are copied without their padding before the lanes see them, within these
// numbers of points, if at most half of the points are present in the fullest group.
inline constexpr std::int32_t kMinCompacted = 8;
inline constexpr std::int32_t kMaxCompacted = 64;  // a bit each

// ---- For each instruction set ----

struct Tuning {
    // Groups of 2 or 3 objectives without padding: one group per lane against one set at a time.
    std::int32_t most_ranked_in_lanes;    // 128 x 2: 1.8, with AVX2; 128 x 3: 1.3
    std::int32_t most_filtered_in_lanes;  // 96 x 2: 0.7; 96 x 3: 1.1
    // A row of bits per point against sorting, with 3 objectives or more (the filter: half as many
    // points with 3).
    std::int32_t most_floats_in_rows;   // 288 x 4: ranks 1.0, filter 1.1
    std::int32_t most_doubles_in_rows;  // 160 x 4: ranks 0.8, filter 1.2
    // Sorted points, each compared with all before it, against efficient non-dominated sort.
    // Half as many points with more than 10 objectives. 16384 x 4: 2.2.
    std::int32_t most_paired;
    // The same with 3 objectives, against a staircase for each front: of a set that looks like one
    // front (4096: 1.1), and of others (12288: 1.1).
    std::int32_t most_paired_of_front;
    std::int32_t most_paired_of_3;
    // Sorting networks against radix sort.
    std::size_t most_keys_in_words;  // crowding of 4096 x 2: 1.1
    // Expected volumes of 3 objectives with one group per lane; 0: never.
    std::int32_t most_grid_points_of_3;  // 16 x 3: 5.2

    template <typename Scalar>
    constexpr std::int32_t most_in_rows() const {
        return sizeof(Scalar) == sizeof(float) ? most_floats_in_rows : most_doubles_in_rows;
    }
};

namespace portable {
inline constexpr Tuning kTuning{.most_ranked_in_lanes = 64,
                                .most_filtered_in_lanes = 64,
                                .most_floats_in_rows = 160,
                                .most_doubles_in_rows = 96,
                                .most_paired = 2048,
                                .most_paired_of_front = 1024,
                                .most_paired_of_3 = 2048,
                                .most_keys_in_words = 128,
                                .most_grid_points_of_3 = 0};
}
namespace avx2 {
inline constexpr Tuning kTuning{.most_ranked_in_lanes = 128,
                                .most_filtered_in_lanes = 64,
                                .most_floats_in_rows = 192,
                                .most_doubles_in_rows = 112,
                                .most_paired = 8192,
                                .most_paired_of_front = 2048,
                                .most_paired_of_3 = 6144,
                                .most_keys_in_words = 2048,
                                .most_grid_points_of_3 = 8};
}
namespace avx512 {
inline constexpr Tuning kTuning{.most_ranked_in_lanes = 128,
                                .most_filtered_in_lanes = 96,
                                .most_floats_in_rows = 288,
                                .most_doubles_in_rows = 160,
                                .most_paired = 16384,
                                .most_paired_of_front = 4096,
                                .most_paired_of_3 = 12288,
                                .most_keys_in_words = 4096,
                                .most_grid_points_of_3 = 16};
}

}  // namespace paretopo::cpu
