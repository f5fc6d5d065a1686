// Indicators with a reference set, R2 and attainment surfaces against their definitions; estimates
// against the largest box and the sum of all. Wild values only test for crashes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/quality/indicators.hpp"
#include "definitions.hpp"
#include "target.hpp"

namespace paretopo::fuzz {

constexpr int kIndicators = 7;
constexpr double kNone = std::numeric_limits<double>::infinity();

// The gap between a point and a reference point.
template <typename Scalar>
double gap_of(const Input<Scalar>& in, cpu::Indicator which, const Scalar* a, const Scalar* r) {
    double sum = 0.0;
    double most = which == cpu::Indicator::kEpsilonAdditive ? -kNone : 0.0;
    const bool is_plus = which == cpu::Indicator::kGdPlus || which == cpu::Indicator::kIgdPlus;
    for (int m = 0; m < in.batch.objectives; ++m) {
        const double own = static_cast<double>(a[m]);
        const double other = static_cast<double>(r[m]);
        const double worse = in.sign(m) * (other - own);
        const double part = is_plus ? std::max(worse, 0.0) : worse;
        sum += part * part;
        if (which == cpu::Indicator::kEpsilonAdditive) most = std::max(most, worse);
        if (which == cpu::Indicator::kEpsilonMult) {
            most = std::max(most, in.sign(m) < 0.0 ? own / other : other / own);
        }
    }
    const bool is_epsilon = which >= cpu::Indicator::kEpsilonAdditive;
    return is_epsilon ? most : std::sqrt(sum);
}

inline double mean_of(const std::vector<double>& gaps, double p) {
    if (gaps.empty()) return std::numeric_limits<double>::quiet_NaN();
    if (std::isinf(p)) return *std::max_element(gaps.begin(), gaps.end());
    double sum = 0.0;
    for (const double gap : gaps) sum += std::pow(gap, p);
    return std::pow(sum / static_cast<double>(gaps.size()), 1.0 / p);
}

template <typename Scalar>
void run(Bytes& bytes) {
    const bool is_wild = bytes.next() % 4 == 0;
    const bool is_large = bytes.next() % 4 == 0;  // more rows than one block
    const Input<Scalar> in(bytes, {{0, 3}, {0, is_large ? 90 : 9}, {1, 4}}, !is_wild);
    const auto width = static_cast<std::size_t>(in.batch.objectives);
    const auto which = static_cast<cpu::Indicator>(bytes.next(0, kIndicators - 1));
    const int count = bytes.next(1, is_large ? 90 : 5);
    std::vector<Scalar> others(static_cast<std::size_t>(count) * width);
    for (Scalar& value : others) value = bytes.value<Scalar>(!is_wild);
    const Batch<Scalar> reference{others.data(),       nullptr,           1, count,
                                  in.batch.objectives, in.batch.minimised};
    const bool is_epsilon = which >= cpu::Indicator::kEpsilonAdditive;
    const double p = bytes.next() % 3 == 0 ? 2.0 : bytes.next() % 2 == 0 ? 1.0 : kNone;
    const auto groups = static_cast<std::size_t>(in.batch.groups);
    std::vector<double> values(groups);
    const cpu::PairedRefusal refused = cpu::indicator({in.batch, nullptr}, {reference, nullptr},
                                                      in.batch.groups, which, p, values.data());

    std::vector<double> ref;
    append_reference(bytes, in, ref);
    std::vector<double> volumes(groups), errors(groups);
    const std::int64_t refused_volume = cpu::hypervolume_approx(
        in.batch, ref.data(), bytes.next(1, 70), bytes.next(), volumes.data(), errors.data());
    const std::vector<double> weights(2 * width, 0.5);
    std::vector<double> utilities(groups);
    cpu::r2(in.batch, {ref.data(), false}, weights.data(), 2, utilities.data());
    if (width == 2) cpu::r2(in.batch, {ref.data(), false}, nullptr, 0, utilities.data());
    if (is_wild) return;

    const bool is_refused = refused.point != kNoneRefused || refused.target != kNoneRefused;
    for (std::int64_t g = 0; g < in.batch.groups; ++g) {
        std::vector<double> forth, back(static_cast<std::size_t>(count), kNone);
        double largest = 0.0;
        double sum = 0.0;
        for (int i = 0; i < in.batch.points; ++i) {
            if (!in.is_present(g, i)) continue;
            const Scalar* a = in.batch.group(g) + static_cast<std::size_t>(i) * width;
            double nearest = kNone;
            for (std::size_t k = 0; k < back.size(); ++k) {
                const double gap = gap_of(in, which, a, others.data() + k * width);
                nearest = std::min(nearest, gap);
                back[k] = std::min(back[k], gap);
            }
            forth.push_back(nearest);
            if (const Row row = sides_of(in, ref.data(), g, i); !row.empty()) {
                double box = 1.0;
                for (const double side : row) box *= side;
                largest = std::max(largest, box);
                sum += box;
            }
        }
        const double volume = volumes[static_cast<std::size_t>(g)];
        if (refused_volume == kNoneRefused &&
            !(volume >= largest * (1.0 - 1e-9) / std::max<double>(in.batch.points, 1) &&
              volume <= sum * (1.0 + 1e-9))) {
            mismatch(in, "estimate", g, -1, volume, sum);
        }
        if (is_refused) continue;
        const double own = values[static_cast<std::size_t>(g)];
        const double to_points = mean_of(forth, p);
        const double to_reference = mean_of(back, is_epsilon ? kNone : p);
        double expected = to_reference;
        if (which == cpu::Indicator::kGd || which == cpu::Indicator::kGdPlus) expected = to_points;
        if (which == cpu::Indicator::kAvgHausdorffDist)
            expected = std::fmax(to_points, to_reference);
        if (std::isnan(expected) && std::isnan(own)) continue;
        if (expected == own) continue;
        if (!near(own, expected, 1.0 + std::fabs(expected))) {
            mismatch(in, cpu::kIndicatorNames[static_cast<int>(which)], g, -1, own, expected);
        }
    }

    // Attainment: each corner of a surface is attained by its number of runs, and no better point
    // is.
    if (width != 2 && width != 3) return;
    for (std::int64_t g = 0; g < in.batch.groups; ++g) {
        std::vector<double> points;
        std::vector<std::int64_t> runs;
        for (int i = 0; i < in.batch.points; ++i) {
            const Scalar* a = in.batch.group(g) + static_cast<std::size_t>(i) * width;
            if (!std::all_of(a, a + width, [](Scalar v) { return std::isfinite(v); })) continue;
            for (std::size_t m = 0; m < width; ++m) points.push_back(static_cast<double>(a[m]));
            runs.push_back(i % 3);
        }
        const cpu::Attained attained =
            cpu::eaf({points.data(), runs.data(), runs.size(), width, 3}, 3);
        std::vector<std::int64_t> counts(2 * attained.levels.size());
        if (width == 2) {
            cpu::count_attaining({points.data(), runs.data(), runs.size(), width, 3}, 1,
                                 attained.values.data(), attained.levels.size(), counts.data());
        }
        for (std::size_t row = 0; row < attained.levels.size(); ++row) {
            bool has[3] = {false, false, false};
            for (std::size_t i = 0; i < runs.size(); ++i) {
                bool is_below = true;
                for (std::size_t m = 0; m < width; ++m) {
                    is_below =
                        is_below && points[i * width + m] <= attained.values[row * width + m];
                }
                has[runs[i]] = has[runs[i]] || is_below;
            }
            const int found = has[0] + has[1] + has[2];
            const auto level = static_cast<int>(attained.levels[row]);
            if (found < level) mismatch(in, "attained", g, static_cast<int>(row), found, level);
            if (width == 2 &&
                (counts[2 * row] != has[0] || counts[2 * row + 1] != has[1] + has[2])) {
                mismatch(in, "count", g, static_cast<int>(row), counts[2 * row], has[0]);
            }
        }
    }
}

}  // namespace paretopo::fuzz
