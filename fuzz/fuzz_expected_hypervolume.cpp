// expected_hypervolume and hypervolume_advantage on the CPU and on the emulated GPU. Wild values on
// a GPU only test for crashes.
#include "target.hpp"

namespace paretopo::fuzz {

constexpr int kMaxOnGpu = 100;  // points; a GPU refuses groups that are much larger

// Grids of large sets: C(points + objectives - 1, objectives) cells are a few million at most.
Sizes choose_grids(Bytes& bytes) {
    constexpr Sizes kLarge[] = {{{1, 2}, {33, 300}, {1, 2}},
                                {{1, 2}, {33, 200}, {3, 3}},
                                {{1, 2}, {33, 80}, {4, 4}},
                                {{1, 2}, {33, 45}, {5, 5}},
                                {{1, 2}, {33, 33}, {6, 6}}};
    const int chosen = bytes.next() % 16;
    if (chosen == 0) return kLarge[bytes.next() % 5];
    if (chosen <= 3) return {{4, 40}, {1, 33}, {1, 3}};
    return {{0, 3}, {0, 6}, {1, 5}};
}

template <typename Scalar>
void run(Bytes& bytes) {
    const bool is_wild = bytes.next() % 4 == 0;
    const Input<Scalar> in(bytes, choose_grids(bytes), !is_wild);
    const bool per_group = bytes.next() % 2 == 0;
    const std::vector<double> ref =
        read_references(bytes, in, per_group ? std::max<std::size_t>(in.groups(), 1) : 1);
    const int all = std::max(in.batch.points, 1);
    const int any = bytes.next(1, all);
    const std::uint8_t draws = bytes.next();
    const int k = draws % 4 == 0 ? 1 : draws % 4 == 1 ? all : any;
    const auto centre = static_cast<Centre>(bytes.next() % 5);
    bool is_refused = false;
    const auto on_cpu = check_instruction_sets(in, bytes, [&](Results& results) {
        results.settle(cpu::expected_hypervolume(in.batch, ref.data(), per_group, k,
                                                 results.array<double>(in.groups())));
        results.settle(cpu::hypervolume_advantage(in.batch, ref.data(), per_group, k, centre,
                                                  results.array<Scalar>(in.rows())));
        is_refused = !results.is_complete();
    });
    if (in.batch.points > kMaxOnGpu) return;
    OnGpu<Scalar> device(in.batch, bytes);
    Results results;
    gpu::expected_hypervolume(device.place(gpu::expected_hypervolume_scratch), in.batch, ref.data(),
                              per_group, k, results.array<double>(in.groups()));
    gpu::hypervolume_advantage(device.place(gpu::hypervolume_advantage_scratch), in.batch,
                               ref.data(), per_group, k, centre, results.array<Scalar>(in.rows()));
    if (!is_refused && !is_wild) compare(in, "GPU", results.numbers(), on_cpu);
}

}  // namespace paretopo::fuzz
