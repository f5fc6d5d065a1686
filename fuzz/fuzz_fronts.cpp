// pareto_rank, is_nondominated and crowding_distance on the CPU and on the emulated GPU;
// filter_strictly on the CPU.
#include "cpu/ranking/fronts.hpp"
#include "target.hpp"

namespace paretopo::fuzz {

template <typename Scalar>
void run(Bytes& bytes) {
    const Input<Scalar> in(bytes, choose_sizes(bytes, {{0, 3}, {0, 150}, {1, 20}}), false);
    const std::size_t rows = in.rows();
    // Crowding of the fronts found, of the same fronts as an argument, and of arbitrary ones.
    std::vector<std::int32_t> arbitrary(rows);
    for (std::size_t i = 0; i < rows; ++i) {
        arbitrary[i] = in.mask[i] ? bytes.next(0, 9) * 1'000'000 : kUnranked;
    }
    const auto on_cpu = check_instruction_sets(in, bytes, [&](Results& results) {
        auto* const ranks = results.array<std::int32_t>(rows);
        cpu::pareto_rank(in.batch, ranks);
        for (const bool keep : {true, false}) {
            cpu::is_nondominated(in.batch, keep, results.array<std::uint8_t>(rows));
        }
        for (const std::int32_t* fronts :
             {static_cast<std::int32_t*>(nullptr), ranks, arbitrary.data()}) {
            cpu::crowding_distance(in.batch, fronts, results.array<double>(rows));
        }
    });
    OnGpu<Scalar> device(in.batch, bytes);
    Results results;
    auto* const ranks = results.array<std::int32_t>(rows);
    gpu::pareto_rank(device.place(gpu::pareto_rank_scratch), in.batch, ranks);
    for (const bool keep : {true, false}) {
        gpu::is_nondominated(device.place(gpu::is_nondominated_scratch), in.batch, keep,
                             results.array<std::uint8_t>(rows));
    }
    for (const std::int32_t* fronts :
         {static_cast<std::int32_t*>(nullptr), ranks, arbitrary.data()}) {
        gpu::crowding_distance(device.place(gpu::crowding_distance_scratch), in.batch, fronts,
                               results.array<double>(rows));
    }
    compare(in, "GPU", results.numbers(), on_cpu);
    check_instruction_sets(in, bytes, [&](Results& strict) {
        for (const bool keep : {true, false}) {
            cpu::filter_strictly(in.batch, keep, strict.array<std::uint8_t>(rows));
        }
    });
}

}  // namespace paretopo::fuzz
