// pareto_advantage: bit for bit equal to the emulated GPU, and equal to the definition; advantages
// are numbers for any rewards.
#include <algorithm>

#include "definitions.hpp"
#include "emulated.hpp"
#include "target.hpp"

namespace paretopo::fuzz {

template <typename Scalar>
void run(Bytes& bytes) {
    Input<Scalar> in(bytes, choose_sizes(bytes, {{0, 3}, {0, 100}, {1, 20}}), false);
    in.batch.minimised = 0;
    const bool per_group = bytes.next() % 2 == 1;
    const Scalar largest =
        std::numeric_limits<Scalar>::max() / (Scalar(4) * static_cast<Scalar>(in.batch.objectives));
    std::vector<double> weights;
    for (std::int64_t row = 0; row < (per_group ? in.batch.groups : 1); ++row) {
        for (int m = 0; m < in.batch.objectives; ++m) weights.push_back(bytes.next() / 255.0);
        weights.push_back(largest);
    }
    const double beta = bytes.next() / 255.0;
    const auto centre = static_cast<Centre>(bytes.next() % 4);
    const auto points = static_cast<std::size_t>(in.batch.points);
    const auto rows = static_cast<std::size_t>(in.batch.groups) * points;
    std::vector<Scalar> ours(rows), theirs(rows);
    std::vector<std::int32_t> ranks(rows), gpu_ranks(rows);
    cpu::pareto_advantage(in.batch, weights.data(), per_group, beta, centre, ours.data(),
                          ranks.data());
    OnGpu<Scalar> device(in.batch, bytes);
    gpu::pareto_advantage(device.place(gpu::pareto_advantage_scratch), in.batch, weights.data(),
                          per_group, beta, centre, theirs.data(), gpu_ranks.data());
    for (std::int64_t g = 0; g < in.batch.groups; ++g) {
        const std::vector<int> expected = ranks_of(in, g);
        const int fronts = points ? 1 + *std::max_element(expected.begin(), expected.end()) : 0;
        for (int i = 0; i < in.batch.points; ++i) {
            const std::size_t at =
                static_cast<std::size_t>(g) * points + static_cast<std::size_t>(i);
            const int rank = expected[static_cast<std::size_t>(i)];
            if (ranks[at] != rank) mismatch(in, "rank", g, i, ranks[at], rank);
            if (gpu_ranks[at] != rank) mismatch(in, "rank on a GPU", g, i, gpu_ranks[at], rank);
            if (!(ours[at] == theirs[at]) || !std::isfinite(ours[at])) {
                mismatch(in, "advantage", g, i, ours[at], theirs[at]);
            }
            if (centre != Centre::kNone) continue;
            const double base = rank < 0 ? 0.0 : fronts - rank;
            if (std::fabs(ours[at] - base) > 0.5 * beta + 1e-6 * (1.0 + base)) {
                mismatch(in, "uncentred advantage", g, i, ours[at], base);
            }
        }
    }
}

}  // namespace paretopo::fuzz
