// hypervolume, hv_contributions (both meanings) and hypervolume_gain against inclusion and
// exclusion; wild values and larger sets for crashes and contradictions only.
#include <algorithm>

#include "definitions.hpp"
#include "emulated.hpp"
#include "target.hpp"

namespace paretopo::fuzz {

using Rows = std::vector<std::vector<double>>;

template <typename Scalar>
Rows sides_of(const Input<Scalar>& in, const std::vector<double>& ref, std::int64_t g,
              const std::vector<bool>& counted) {
    Rows rows;
    for (int i = 0; i < in.batch.points; ++i) {
        if (!counted[static_cast<std::size_t>(i)]) continue;
        std::vector<double> row;
        for (int m = 0; m < in.batch.objectives; ++m) {
            const double sign = in.batch.is_minimised(m) ? -1.0 : 1.0;
            row.push_back(
                sign * (static_cast<double>(in.point(g, i)[m]) - ref[static_cast<std::size_t>(m)]));
        }
        if (*std::min_element(row.begin(), row.end()) > 0.0) rows.push_back(row);
    }
    return rows;
}

double volume(const Rows& rows) { return rows.empty() ? 0.0 : volume_of(rows); }

template <typename Scalar>
void run(Bytes& bytes) {
    const bool is_wild = bytes.next() % 4 == 0;
    const bool is_large = bytes.next() % 4 == 0;
    const Input<Scalar> in(bytes, is_large ? 60 : 7, is_large ? 7 : 6, !is_wild);
    std::vector<double> ref;
    for (int m = 0; m < in.batch.objectives; ++m) ref.push_back(bytes.next(-2, 1));
    const auto groups = static_cast<std::size_t>(in.batch.groups);
    const auto points = static_cast<std::size_t>(in.batch.points);
    std::vector<double> volumes(groups), gains(groups), parts(groups * points),
        shadowed(groups * points);
    const std::int64_t refused = cpu::hypervolume(in.batch, ref.data(), volumes.data());
    cpu::hv_contributions(in.batch, ref.data(), true, parts.data());
    cpu::hv_contributions(in.batch, ref.data(), false, shadowed.data());
    cpu::hypervolume_gain(in.batch, ref.data(), gains.data());
    OnGpu<Scalar> device(in.batch, bytes);
    std::vector<double> gpu_volumes(groups), gpu_parts(groups * points),
        gpu_shadowed(groups * points);
    gpu::hypervolume(device.place(gpu::hypervolume_scratch), in.batch, ref.data(),
                     gpu_volumes.data());
    gpu::hv_contributions(device.place(), in.batch, ref.data(), true, gpu_parts.data());
    gpu::hv_contributions(device.place(), in.batch, ref.data(), false, gpu_shadowed.data());
    if (refused != kNoneRefused || is_wild || is_large) return;

    for (std::int64_t g = 0; g < in.batch.groups; ++g) {
        std::vector<bool> present(points);
        for (int i = 0; i < in.batch.points; ++i) {
            present[static_cast<std::size_t>(i)] = in.is_present(g, i);
        }
        const std::vector<int> ranks = ranks_of(in, g);
        std::vector<bool> best = present;
        for (std::size_t i = 0; i < points; ++i) best[i] = ranks[i] == 0;
        const double whole = volume(sides_of(in, ref, g, present));
        if (!near(volumes[static_cast<std::size_t>(g)], whole, 1.0)) {
            mismatch(in, "hypervolume", g, -1, volumes[static_cast<std::size_t>(g)], whole);
        }
        if (!near(gpu_volumes[static_cast<std::size_t>(g)], whole, 1.0)) {
            mismatch(in, "hypervolume on a GPU", g, -1, gpu_volumes[static_cast<std::size_t>(g)],
                     whole);
        }
        for (std::size_t i = 0; i < points; ++i) {
            const std::size_t at = static_cast<std::size_t>(g) * points + i;
            if (!near(gpu_shadowed[at], shadowed[at], 1.0 + whole) ||
                !near(gpu_parts[at], parts[at], 1.0 + whole)) {
                mismatch(in, "contributions on a GPU", g, static_cast<int>(i), gpu_shadowed[at],
                         gpu_parts[at]);
            }
            std::vector<bool> others = present;
            others[i] = false;
            const double lost = whole - volume(sides_of(in, ref, g, others));
            if (!near(shadowed[at], lost, 1.0 + whole)) {
                mismatch(in, "contribution", g, static_cast<int>(i), shadowed[at], lost);
            }
            if (i + 1 == points &&
                !near(gains[static_cast<std::size_t>(g)], present[i] ? lost : 0.0, 1.0 + whole)) {
                mismatch(in, "gain", g, static_cast<int>(i), gains[static_cast<std::size_t>(g)],
                         lost);
            }
            others = best;
            others[i] = false;
            const double among_best =
                best[i] ? volume(sides_of(in, ref, g, best)) - volume(sides_of(in, ref, g, others))
                        : 0.0;
            if (!near(parts[at], among_best, 1.0 + whole)) {
                mismatch(in, "contribution among the best", g, static_cast<int>(i), parts[at],
                         among_best);
            }
        }
    }
}

}  // namespace paretopo::fuzz
