// hypervolume_subset by each method, and select by each cut.
#include "cpu/subsets/subsets.hpp"
#include "target.hpp"

namespace paretopo::fuzz {

template <typename Scalar>
void run(Bytes& bytes) {
    const bool is_wild = bytes.next() % 4 == 0;
    const Input<Scalar> in(bytes, {{0, 3}, {1, 20}, {1, 4}}, !is_wild);
    const std::vector<double> ref = read_references(bytes, in);
    const References refs{ref.data(), false};
    std::vector<double> directions;
    const int count = bytes.next(1, 5);
    for (int i = 0; i < count * in.batch.objectives; ++i) {
        directions.push_back(i % in.batch.objectives == 0 ? 1.0 : bytes.next(0, 3));
    }
    const int k = bytes.next(1, std::max(1, static_cast<int>(in.batch.points)));
    const std::size_t size = in.groups() * static_cast<std::size_t>(k);
    check_instruction_sets(in, bytes, [&](Results& results) {
        for (const auto method : {cpu::SubsetMethod::kGreedy, cpu::SubsetMethod::kGreedyRemoval,
                                  cpu::SubsetMethod::kExact}) {
            if (method == cpu::SubsetMethod::kExact && in.batch.objectives > 2) continue;
            results.settle(cpu::hypervolume_subset(in.batch, refs, k, method,
                                                   results.array<std::int64_t>(size)));
        }
        for (std::size_t cut = 0; cut < std::size(cpu::kCutNames); ++cut) {
            const cpu::Cutting cutting{static_cast<cpu::Cut>(cut), refs, directions.data(), count,
                                       1};
            results.settle(cpu::select(in.batch, cutting, k, results.array<std::int64_t>(size)));
        }
    });
}

}  // namespace paretopo::fuzz
