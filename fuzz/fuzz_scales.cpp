// Ideal and nadir points, normalised points, and the ε-box filter.
#include "cpu/quality/normalise.hpp"
#include "cpu/ranking/epsilon_boxes.hpp"
#include "target.hpp"

namespace paretopo::fuzz {

template <typename Scalar>
void run(Bytes& bytes) {
    const Input<Scalar> in(bytes, choose_sizes(bytes, {{0, 3}, {0, 40}, {1, 6}}), false);
    const std::size_t corners = in.groups() * in.objectives();
    std::vector<double> ideal(in.objectives());
    for (double& each : ideal) each = static_cast<double>(bytes.value<Scalar>(true));
    const bool has_ideal = bytes.next() % 2 == 0;
    const bool has_nadir = bytes.next() % 4 == 0;
    constexpr double kLengths[] = {0.25, 1.0, 0.001, 1e300, std::numeric_limits<double>::min()};
    std::vector<double> sides;
    for (int m = 0; m < in.batch.objectives; ++m) sides.push_back(kLengths[bytes.next(0, 4)]);
    check_instruction_sets(in, bytes, [&](Results& results) {
        cpu::ideal_point(in.batch, results.array<Scalar>(corners));
        cpu::nadir_point(in.batch, results.array<Scalar>(corners));
        cpu::normalise(in.batch, has_ideal ? ideal.data() : nullptr,
                       has_nadir ? ideal.data() : nullptr, results.array<Scalar>(in.values.size()));
        cpu::filter_boxes(in.batch, sides.data(), results.array<std::uint8_t>(in.rows()));
    });
}

}  // namespace paretopo::fuzz
