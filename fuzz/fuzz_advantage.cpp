// pareto_advantage on the CPU and on the emulated GPU.
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
    for (std::size_t row = 0; row < (per_group ? in.groups() : 1); ++row) {
        for (int m = 0; m < in.batch.objectives; ++m) weights.push_back(bytes.next() / 255.0);
        weights.push_back(largest);
    }
    const double beta = bytes.next() / 255.0;
    const auto centre = static_cast<Centre>(bytes.next() % 4);
    const auto on_cpu = check_instruction_sets(in, bytes, [&](Results& results) {
        auto* const advantages = results.array<Scalar>(in.rows());
        cpu::pareto_advantage(in.batch, weights.data(), per_group, beta, centre, advantages,
                              results.array<std::int32_t>(in.rows()));
    });
    OnGpu<Scalar> device(in.batch, bytes);
    Results results;
    auto* const advantages = results.array<Scalar>(in.rows());
    gpu::pareto_advantage(device.place(gpu::pareto_advantage_scratch), in.batch, weights.data(),
                          per_group, beta, centre, advantages,
                          results.array<std::int32_t>(in.rows()));
    compare(in, "GPU", results.numbers(), on_cpu);
}

}  // namespace paretopo::fuzz
