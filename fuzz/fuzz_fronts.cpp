// pareto_rank and is_nondominated, on the CPU and as a GPU does them, against their definitions.
#include "definitions.hpp"
#include "emulated.hpp"
#include "target.hpp"

namespace paretopo::fuzz {

template <typename Scalar>
void run(Bytes& bytes) {
    const Input<Scalar> in(bytes, bytes.next() % 2 ? 20 : 150, 20, false);
    const auto points = static_cast<std::size_t>(in.batch.points);
    const auto rows = static_cast<std::size_t>(in.batch.groups) * points;
    std::vector<std::int32_t> ranks(rows);
    std::vector<std::uint8_t> weakly(rows), strictly(rows);
    cpu::pareto_rank(in.batch, ranks.data());
    cpu::is_nondominated(in.batch, true, weakly.data());
    cpu::is_nondominated(in.batch, false, strictly.data());
    OnGpu<Scalar> device(in.batch, bytes);
    std::vector<std::int32_t> gpu_ranks(rows);
    std::vector<std::uint8_t> gpu_weakly(rows), gpu_strictly(rows);
    gpu::pareto_rank(device.place(gpu::pareto_rank_scratch), in.batch, gpu_ranks.data());
    gpu::is_nondominated(device.place(gpu::is_nondominated_scratch), in.batch, true,
                         gpu_weakly.data());
    gpu::is_nondominated(device.place(gpu::is_nondominated_scratch), in.batch, false,
                         gpu_strictly.data());
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
