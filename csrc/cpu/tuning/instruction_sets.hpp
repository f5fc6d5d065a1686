// Sizes at which one algorithm takes over from another, for each instruction set.
// `python -m bench bounds` measures groups on both sides of several. The comments give a ratio
// on an EPYC with AVX-512, measured by scripts/measure_switches.py of commit edb7949e: the time of
// a group with one point more over the time of a group at the bound. The results do not depend on
// these numbers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace paretopo::cpu {

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
