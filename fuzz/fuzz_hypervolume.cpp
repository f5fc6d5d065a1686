// hypervolume, hypervolume_gradient and hypervolume_contributions (both meanings) on the CPU and on
// the emulated GPU; hypervolume_gain on the CPU. Other values on a GPU only test for crashes.
#include "target.hpp"

namespace paretopo::fuzz {

constexpr int kMaxOnGpu = 240;  // points; a GPU refuses larger sets of 6 objectives

template <typename Scalar>
void run(Bytes& bytes) {
    const bool is_wild = bytes.next() % 4 == 0;
    const Input<Scalar> in(bytes, choose_sizes(bytes, {{0, 3}, {0, 9}, {1, 7}}), !is_wild);
    const std::size_t rows = in.rows();
    const std::vector<double> ref = read_references(bytes, in);
    std::vector<std::uint8_t> is_wanted(rows, 1);
    const bool are_chosen = bytes.next() % 2 == 0;
    if (are_chosen) {
        const int of = bytes.next(1, 20);
        for (std::uint8_t& each : is_wanted) each = bytes.next() % of == 0;
    }
    const std::uint8_t* wanted = are_chosen ? is_wanted.data() : nullptr;

    bool is_refused = false;
    const auto on_cpu = check_instruction_sets(in, bytes, [&](Results& results) {
        results.settle(cpu::hypervolume(in.batch, ref.data(), results.array<double>(in.groups())));
        for (const bool ignore_dominated : {true, false}) {
            results.settle(cpu::hypervolume_contributions(in.batch, ref.data(), ignore_dominated,
                                                          results.array<double>(rows)));
        }
        results.settle(cpu::hypervolume_gradient(in.batch, ref.data(), wanted,
                                                 results.array<double>(rows * in.objectives())));
        is_refused = !results.is_complete();
    });
    check_instruction_sets(in, bytes, [&](Results& results) {
        results.settle(
            cpu::hypervolume_gain(in.batch, ref.data(), results.array<double>(in.groups())));
    });
    if (in.batch.points > kMaxOnGpu) return;
    OnGpu<Scalar> device(in.batch, bytes);
    Results results;
    gpu::hypervolume(device.place(gpu::hypervolume_scratch), in.batch, ref.data(),
                     results.array<double>(in.groups()));
    for (const bool ignore_dominated : {true, false}) {
        gpu::hypervolume_contributions(device.place(gpu::hypervolume_contributions_scratch),
                                       in.batch, ref.data(), ignore_dominated,
                                       results.array<double>(rows));
    }
    gpu::hypervolume_gradient(device.place(gpu::hypervolume_gradient_scratch), in.batch, ref.data(),
                              wanted, results.array<double>(rows * in.objectives()));
    if (!is_refused && !is_wild) compare(in, "GPU", results.numbers(), on_cpu, 1e-10);
}

}  // namespace paretopo::fuzz
