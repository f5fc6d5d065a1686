// pareto_rank, is_nondominated and crowding_distance against their definitions, on the CPU and on
// the emulated GPU; filter_strictly on the CPU.
#include "cpu/ranking/fronts.hpp"
#include "definitions.hpp"
#include "emulated.hpp"
#include "target.hpp"

namespace paretopo::fuzz {

// `given` may be null; `fronts` define the distances.
template <typename Scalar>
void check_crowding(const Input<Scalar>& in, OnGpu<Scalar>& device, const std::int32_t* given,
                    const std::vector<std::int32_t>& fronts) {
    std::vector<double> distances(fronts.size()), gpu_distances(fronts.size());
    cpu::crowding_distance(in.batch, given, distances.data());
    gpu::crowding_distance(device.place(gpu::crowding_distance_scratch), in.batch, given,
                           gpu_distances.data());
    for (std::int64_t g = 0; g < in.batch.groups; ++g) {
        const std::int64_t first = g * in.batch.points;
        const std::vector<double> expected = crowding_of(in, g, fronts.data() + first);
        for (int i = 0; i < in.batch.points; ++i) {
            const auto at = static_cast<std::size_t>(first + i);
            const double defined = expected[static_cast<std::size_t>(i)];
            if (!near(distances[at], defined, 1.0)) {
                mismatch(in, "crowding", g, i, distances[at], defined);
            }
            if (distances[at] != gpu_distances[at]) {
                mismatch(in, "crowding on a GPU", g, i, gpu_distances[at], distances[at]);
            }
        }
    }
}

// Is no point better than i in every objective, and, if `once`, no earlier one equal?
template <typename Scalar>
bool is_unbeaten(const Input<Scalar>& in, std::int64_t g, int i, bool once) {
    if (!in.is_present(g, i)) return false;
    for (int j = 0; j < in.batch.points; ++j) {
        bool beats = in.is_present(g, j);
        bool same = beats && once && j < i;
        for (int m = 0; m < in.batch.objectives; ++m) {
            const bool flip = in.batch.is_minimised(m);
            const bool is_better = better(in.point(g, j)[m], in.point(g, i)[m], flip);
            beats = beats && is_better;
            same = same && !is_better && !better(in.point(g, i)[m], in.point(g, j)[m], flip);
        }
        if (beats || same) return false;
    }
    return true;
}

template <typename Scalar>
void check_strict(const Input<Scalar>& in) {
    std::vector<std::uint8_t> kept(static_cast<std::size_t>(in.batch.groups * in.batch.points));
    for (const bool once : {false, true}) {
        cpu::filter_strictly(in.batch, !once, kept.data());
        for (std::int64_t g = 0; g < in.batch.groups; ++g) {
            for (int i = 0; i < in.batch.points; ++i) {
                const auto own = kept[static_cast<std::size_t>(g * in.batch.points + i)];
                const bool stays = is_unbeaten(in, g, i, once);
                if (own != stays) mismatch(in, "filter by strict dominance", g, i, own, stays);
            }
        }
    }
}

template <typename Scalar>
void run(Bytes& bytes) {
    const Input<Scalar> in(bytes, choose_sizes(bytes, {{0, 3}, {0, 150}, {1, 20}}), false);
    const auto points = static_cast<std::size_t>(in.batch.points);
    const auto rows = static_cast<std::size_t>(in.batch.groups) * points;
    std::vector<std::int32_t> ranks(rows);
    std::vector<std::uint8_t> weakly(rows), strictly(rows);
    cpu::pareto_rank(in.batch, ranks.data());
    cpu::is_nondominated(in.batch, true, weakly.data());
    cpu::is_nondominated(in.batch, false, strictly.data());
    check_strict(in);
    OnGpu<Scalar> device(in.batch, bytes);
    std::vector<std::int32_t> gpu_ranks(rows);
    std::vector<std::uint8_t> gpu_weakly(rows), gpu_strictly(rows);
    gpu::pareto_rank(device.place(gpu::pareto_rank_scratch), in.batch, gpu_ranks.data());
    gpu::is_nondominated(device.place(gpu::is_nondominated_scratch), in.batch, true,
                         gpu_weakly.data());
    gpu::is_nondominated(device.place(gpu::is_nondominated_scratch), in.batch, false,
                         gpu_strictly.data());
    // Crowding of the fronts found, of the same fronts given, and of arbitrary ones.
    std::vector<std::int32_t> arbitrary(ranks);
    for (std::int32_t& rank : arbitrary) {
        if (rank != kUnranked) rank = bytes.next(0, 9) * 1'000'000;
    }
    check_crowding(in, device, nullptr, ranks);
    check_crowding(in, device, ranks.data(), ranks);
    check_crowding(in, device, arbitrary.data(), arbitrary);
    for (std::int64_t g = 0; g < in.batch.groups; ++g) {
        const std::vector<int> expected = ranks_of(in, g);
        for (int i = 0; i < in.batch.points; ++i) {
            const std::size_t at =
                static_cast<std::size_t>(g) * points + static_cast<std::size_t>(i);
            const int rank = expected[static_cast<std::size_t>(i)];
            if (ranks[at] != rank) mismatch(in, "rank", g, i, ranks[at], rank);
            if (gpu_ranks[at] != rank) mismatch(in, "rank on a GPU", g, i, gpu_ranks[at], rank);
            if (weakly[at] != (rank == 0)) mismatch(in, "weak filter", g, i, weakly[at], rank == 0);
            bool first = rank == 0;
            for (int j = 0; j < i && first; ++j) {
                bool same = in.is_present(g, j);
                for (int m = 0; m < in.batch.objectives; ++m) {
                    const Scalar a = in.point(g, i)[m];
                    const Scalar b = in.point(g, j)[m];
                    same = same && !better(a, b, false) && !better(b, a, false);
                }
                first = !same;
            }
            if (strictly[at] != first) mismatch(in, "strict filter", g, i, strictly[at], first);
            if (gpu_weakly[at] != weakly[at] || gpu_strictly[at] != strictly[at]) {
                mismatch(in, "filters on a GPU", g, i, gpu_weakly[at], gpu_strictly[at]);
            }
        }
    }
}

}  // namespace paretopo::fuzz
