// expected_hypervolume and hypervolume_advantage against means over all subsets; wild values and
// larger groups for crashes and contradictions only. A GPU, emulated, gives the same bits.
#include <algorithm>
#include <bit>
#include <cstring>

#include "definitions.hpp"
#include "emulated.hpp"
#include "target.hpp"

namespace paretopo::fuzz {

// The hypervolume of each subset of the points that count, as a bit set.
template <typename Scalar>
std::vector<double> volumes_of_subsets(const Input<Scalar>& in, const double* ref, std::int64_t g,
                                       const std::vector<int>& present) {
    std::vector<double> volumes(std::size_t{1} << present.size());
    for (std::size_t subset = 1; subset < volumes.size(); ++subset) {
        std::vector<std::vector<double>> rows;
        for (std::size_t k = 0; k < present.size(); ++k) {
            if ((subset >> k & 1) == 0) continue;
            std::vector<double> row;
            for (int m = 0; m < in.batch.objectives; ++m) {
                const double sign = in.batch.is_minimised(m) ? -1.0 : 1.0;
                row.push_back(sign * (static_cast<double>(in.point(g, present[k])[m]) - ref[m]));
            }
            if (*std::min_element(row.begin(), row.end()) > 0.0) rows.push_back(row);
        }
        if (!rows.empty()) volumes[subset] = volume_of(rows);
    }
    return volumes;
}

// The mean over the subsets of `size` points that leave out those of `without`, each joined by
// those of `with`.
double mean_of(const std::vector<double>& volumes, int size, std::size_t without,
               std::size_t with) {
    double sum = 0.0;
    int count = 0;
    for (std::size_t subset = 0; subset < volumes.size(); ++subset) {
        if (std::popcount(subset) != size || (subset & without) != 0) continue;
        sum += volumes[subset | with];
        ++count;
    }
    return sum / count;
}

template <typename Scalar>
void run(Bytes& bytes) {
    const bool is_wild = bytes.next() % 4 == 0;
    const bool is_large = bytes.next() % 4 == 0;
    const Input<Scalar> in(bytes, is_large ? 70 : 6, is_large ? 3 : 4, !is_wild);
    const auto groups = static_cast<std::size_t>(in.batch.groups);
    const auto points = static_cast<std::size_t>(in.batch.points);
    const bool per_group = bytes.next() % 2 == 0;
    std::vector<double> ref;
    for (std::size_t g = 0; g < (per_group ? std::max<std::size_t>(groups, 1) : 1); ++g) {
        for (int m = 0; m < in.batch.objectives; ++m) ref.push_back(bytes.next(-2, 1));
    }
    const int k = bytes.next(1, std::max(in.batch.points, 1));
    const auto centre = static_cast<Centre>(bytes.next() % 5);
    std::vector<double> volumes(groups), gpu_volumes(groups);
    std::vector<Scalar> advantages(groups * points), gpu_advantages(groups * points);
    const std::int64_t refused =
        cpu::expected_hypervolume(in.batch, ref.data(), per_group, k, volumes.data());
    cpu::hypervolume_advantage(in.batch, ref.data(), per_group, k, centre, advantages.data());
    OnGpu<Scalar> device(in.batch, bytes);
    gpu::expected_hypervolume(device.place(), in.batch, ref.data(), per_group, k,
                              gpu_volumes.data());
    gpu::hypervolume_advantage(device.place(), in.batch, ref.data(), per_group, k, centre,
                               gpu_advantages.data());
    if (refused != kNoneRefused || is_wild) return;

    for (std::int64_t g = 0; g < in.batch.groups; ++g) {
        const auto at = static_cast<std::size_t>(g);
        if (std::memcmp(&volumes[at], &gpu_volumes[at], sizeof(double)) != 0) {
            mismatch(in, "expected hypervolume on a GPU", g, -1, gpu_volumes[at], volumes[at]);
        }
        for (std::size_t i = at * points; i < (at + 1) * points; ++i) {
            if (advantages[i] == gpu_advantages[i]) continue;
            mismatch(in, "advantage on a GPU", g, static_cast<int>(i - at * points),
                     gpu_advantages[i], advantages[i]);
        }
        if (is_large) continue;
        std::vector<int> present;
        for (int i = 0; i < in.batch.points; ++i) {
            if (in.is_present(g, i)) present.push_back(i);
        }
        const double* corner = ref.data() + (per_group ? g * in.batch.objectives : 0);
        const std::vector<double> subsets = volumes_of_subsets(in, corner, g, present);
        const int n = static_cast<int>(present.size());
        const int drawn = std::min(k, n);
        const double expected = mean_of(subsets, drawn, 0, 0);
        if (!near(volumes[at], expected, 1.0)) {
            mismatch(in, "expected hypervolume", g, -1, volumes[at], expected);
        }
        if (centre != Centre::kExact && centre != Centre::kNone) continue;
        for (std::size_t i = 0; i < present.size(); ++i) {
            const std::size_t own = std::size_t{1} << i;
            const double fewer = mean_of(subsets, drawn - 1, own, 0);
            double advantage = mean_of(subsets, drawn - 1, own, own) - fewer;
            if (centre == Centre::kExact && drawn < n) {
                advantage -= mean_of(subsets, drawn, own, 0) - fewer;
            }
            const double ours = advantages[at * points + static_cast<std::size_t>(present[i])];
            const double digits = sizeof(Scalar) == 4 ? 1e-6 : 0.0;
            if (!near(ours, advantage, 1.0 + subsets.back()) &&
                std::fabs(ours - advantage) > digits * (1.0 + subsets.back())) {
                mismatch(in, "advantage", g, present[i], ours, advantage);
            }
        }
    }
}

}  // namespace paretopo::fuzz
