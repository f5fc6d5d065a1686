// Box decompositions of both regions, and improvements within the boxes, with their gradients.
#include "cpu/boxes/boxes.hpp"
#include "target.hpp"

namespace paretopo::fuzz {

constexpr std::int64_t kMaxBytes = std::int64_t{1} << 24;
constexpr int kMaxCandidates = 12;  // enough to be sorted as a staircase

template <typename Scalar>
void run(Bytes& bytes) {
    const bool is_wild = bytes.next() % 4 == 0;
    const Input<Scalar> in(bytes, {{0, 3}, {0, 9}, {1, 5}}, !is_wild);
    const std::vector<double> ref = read_references(bytes, in);
    const References refs{ref.data(), false};
    const std::size_t width = in.objectives();
    const auto q = static_cast<std::size_t>(bytes.next(0, kMaxCandidates));
    std::vector<Scalar> chosen(2 * q * width);
    for (Scalar& value : chosen) value = bytes.value<Scalar>(!is_wild);
    // q candidates of one group, or the means and deviations of q groups.
    const Batch<Scalar> together{
        chosen.data(),       nullptr,           1, static_cast<std::int32_t>(q),
        in.batch.objectives, in.batch.minimised};
    Batch<Scalar> uncertain{together};
    uncertain.groups = static_cast<std::int64_t>(q);
    uncertain.points = 2;
    check_instruction_sets(in, bytes, [&](Results& results) {
        for (const auto region : {cpu::Region::kNondominated, cpu::Region::kDominated}) {
            std::vector<cpu::Boxes> boxes;
            try {
                if (cpu::find_boxes(in.batch, refs, region, kMaxBytes, boxes) != kNoneRefused)
                    return;
            } catch (const cpu::TooManyBoxes&) {
                continue;
            }
            for (const cpu::Boxes& own : boxes) {
                const auto count = static_cast<std::int64_t>(own.lower.size() / width);
                const cpu::BoxSets sets{results.add(own.lower), results.add(own.upper), count,
                                        nullptr};
                const auto settle = [&](const cpu::RefusedImprovement& refused) {
                    results.settle(std::max(refused.candidate, refused.corner));
                };
                settle(cpu::hypervolume_improvement(together, sets, results.array<double>(1)));
                settle(cpu::hypervolume_improvement_gradient(together, sets,
                                                             results.array<double>(q * width)));
                settle(cpu::expected_hypervolume_improvement(uncertain, sets,
                                                             results.array<double>(q)));
                settle(cpu::expected_hypervolume_improvement_gradient(
                    uncertain, sets, results.array<double>(chosen.size())));
            }
        }
    });
}

}  // namespace paretopo::fuzz
