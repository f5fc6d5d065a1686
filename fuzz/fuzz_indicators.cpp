// Indicators with a reference set, R2, estimated volumes and attainment surfaces.
#include <algorithm>
#include <cmath>

#include "cpu/quality/indicators.hpp"
#include "target.hpp"

namespace paretopo::fuzz {

template <typename Scalar>
void run(Bytes& bytes) {
    const bool is_wild = bytes.next() % 4 == 0;
    const bool is_large = bytes.next() % 4 == 0;  // more rows than one block
    const Input<Scalar> in(bytes, {{0, 3}, {0, is_large ? 90 : 9}, {1, 4}}, !is_wild);
    const std::size_t width = in.objectives();
    const auto which =
        static_cast<cpu::Indicator>(bytes.next(0, std::size(cpu::kIndicatorNames) - 1));
    const int count = bytes.next(1, is_large ? 90 : 5);
    std::vector<Scalar> others(static_cast<std::size_t>(count) * width);
    for (Scalar& value : others) value = bytes.value<Scalar>(!is_wild);
    const Batch<Scalar> reference{others.data(),       nullptr,           1, count,
                                  in.batch.objectives, in.batch.minimised};
    constexpr double kExponents[] = {1.0, 2.0, std::numeric_limits<double>::infinity()};
    const double p = kExponents[bytes.next() % 3];
    const std::vector<double> ref = read_references(bytes, in);
    const std::vector<double> weights(2 * width, 0.5);
    const int samples = bytes.next(1, 70);
    const std::uint8_t seed = bytes.next();
    // Three runs share the points.
    std::vector<double> points;
    std::vector<std::int64_t> runs;
    for (std::size_t at = 0; at < in.rows(); ++at) {
        const Scalar* row = in.row(at);
        if (!std::all_of(row, row + width, [](Scalar v) { return std::isfinite(v); })) continue;
        points.insert(points.end(), row, row + width);
        runs.push_back(static_cast<std::int64_t>(at % 3));
    }
    const cpu::Runs attaining{points.data(), runs.data(), runs.size(), width, 3};

    check_instruction_sets(in, bytes, [&](Results& results) {
        const cpu::PairedRefusal refused =
            cpu::indicator({in.batch, nullptr}, {reference, nullptr}, in.batch.groups, which, p,
                           results.array<double>(in.groups()));
        results.settle(std::max(refused.point, refused.target));
        std::vector<double> errors(in.groups());
        results.settle(cpu::hypervolume_approx(in.batch, ref.data(), samples, seed,
                                               results.array<double>(in.groups()), errors.data()));
        results.settle(cpu::r2(in.batch, {ref.data(), false}, weights.data(), 2,
                               results.array<double>(in.groups())));
        if (width == 2) {
            results.settle(cpu::r2(in.batch, {ref.data(), false}, nullptr, 0,
                                   results.array<double>(in.groups())));
        }
        if (width != 2 && width != 3) return;
        const cpu::Attained attained = cpu::eaf(attaining, 3);
        const double* corners = results.add(attained.values);
        const std::size_t corner_count = attained.levels.size();
        results.add(attained.levels);
        if (width == 2) {
            cpu::count_attaining(attaining, 1, corners, corner_count,
                                 results.array<std::int64_t>(2 * corner_count));
        }
    });
}

}  // namespace paretopo::fuzz
