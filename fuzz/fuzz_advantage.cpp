// pareto_advantage and crowding_distance: advantages equal the block algorithm of the GPU bit for
// bit and follow the definition; whatever the rewards, they are numbers.
#include <algorithm>

#include "definitions.hpp"
#include "target.hpp"

namespace paretopo::fuzz {

template <typename Scalar>
void run(Bytes& bytes) {
    Input<Scalar> in(bytes, bytes.next() % 2 ? 16 : 100, 20, false);
    in.batch.minimised = 0;
    std::vector<Scalar> weights;
    for (int m = 0; m < in.batch.objectives; ++m) {
        weights.push_back(static_cast<Scalar>(bytes.next()) / 255);
    }
    const Scalar largest =
        std::numeric_limits<Scalar>::max() / (Scalar(4) * static_cast<Scalar>(weights.size()));
    const Advantage<Scalar> how{weights.data(), largest, static_cast<Scalar>(bytes.next()) / 255,
                                static_cast<Center>(bytes.next() % 4)};
    const auto points = static_cast<std::size_t>(in.batch.points);
    const auto rows = static_cast<std::size_t>(in.batch.groups) * points;
    std::vector<Scalar> ours(rows), blocks(rows), scratch(rows);
    std::vector<std::int32_t> ranks(rows), block_ranks(rows);
    std::vector<double> distances(rows);
    cpu::pareto_advantage(in.batch, how, ours.data(), ranks.data());
    cpu::pareto_advantage_by_lanes(in.batch, how, blocks.data(), block_ranks.data(), scratch.data(),
                                   1 + bytes.next() % 64);
    cpu::crowding_distance(in.batch, distances.data());
    for (std::int64_t g = 0; g < in.batch.groups; ++g) {
        const std::vector<int> expected = ranks_of(in, g);
        const int fronts = points ? 1 + *std::max_element(expected.begin(), expected.end()) : 0;
        for (int i = 0; i < in.batch.points; ++i) {
            const std::size_t at =
                static_cast<std::size_t>(g) * points + static_cast<std::size_t>(i);
            const int rank = expected[static_cast<std::size_t>(i)];
            if (ranks[at] != rank) mismatch(in, "rank", g, i, ranks[at], rank);
            if (block_ranks[at] != rank) mismatch(in, "rank by lanes", g, i, block_ranks[at], rank);
            if (!(ours[at] == blocks[at]) || !std::isfinite(ours[at])) {
                mismatch(in, "advantage", g, i, ours[at], blocks[at]);
            }
            if (!(distances[at] >= 0.0)) mismatch(in, "crowding", g, i, distances[at], 0.0);
            if (how.center != Center::kNone) continue;
            const double base = rank < 0 ? 0.0 : fronts - rank;
            if (std::fabs(ours[at] - base) > 0.5 * how.beta + 1e-6) {
                mismatch(in, "uncentred advantage", g, i, ours[at], base);
            }
        }
    }
}

}  // namespace paretopo::fuzz
