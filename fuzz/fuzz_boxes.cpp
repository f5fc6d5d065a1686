// Box decompositions of both regions, and improvements with their gradients, against hypervolumes
// by their definition; wild values for crashes only.
#include <algorithm>
#include <cmath>

#include "cpu/boxes/boxes.hpp"
#include "definitions.hpp"
#include "target.hpp"

namespace paretopo::fuzz {

constexpr std::int64_t kMaxBytes = std::int64_t{1} << 24;
constexpr int kMaxCandidates = 12;  // enough to be sorted as a staircase

// The number of boxes that contain a location in their interior.
inline int holders_of(const std::vector<double>& place, const cpu::Boxes& boxes) {
    const std::size_t width = place.size();
    int found = 0;
    for (std::size_t first = 0; first < boxes.lower.size(); first += width) {
        bool is_inside = true;
        for (std::size_t m = 0; m < width; ++m) {
            is_inside =
                is_inside && boxes.lower[first + m] < place[m] && place[m] < boxes.upper[first + m];
        }
        found += is_inside;
    }
    return found;
}

template <typename Scalar>
void run(Bytes& bytes) {
    const bool is_wild = bytes.next() % 4 == 0;
    const Input<Scalar> in(bytes, {{0, 3}, {0, 9}, {1, 5}}, !is_wild);
    std::vector<double> ref;
    append_reference(bytes, in, ref);
    const auto width = static_cast<std::size_t>(in.batch.objectives);

    std::vector<cpu::Boxes> left, dominated;
    std::int64_t refused = kNoneRefused;
    try {
        refused = cpu::find_boxes(in.batch, References{ref.data(), false},
                                  cpu::Region::kNondominated, kMaxBytes, left);
        cpu::find_boxes(in.batch, References{ref.data(), false}, cpu::Region::kDominated, kMaxBytes,
                        dominated);
    } catch (const cpu::TooManyBoxes&) {
        return;
    }
    const int q = bytes.next(0, kMaxCandidates);
    std::vector<Scalar> chosen(static_cast<std::size_t>(q) * width);
    for (Scalar& value : chosen) value = bytes.value<Scalar>(!is_wild);
    const Batch<Scalar> candidates{chosen.data(),       nullptr,           1, q,
                                   in.batch.objectives, in.batch.minimised};
    for (std::int64_t g = 0; refused == kNoneRefused && g < in.batch.groups; ++g) {
        const cpu::Boxes& own = left[static_cast<std::size_t>(g)];
        const auto count = static_cast<std::int64_t>(own.lower.size() / width);
        const cpu::BoxSets sets{own.lower.data(), own.upper.data(), count, nullptr};
        double gain = 0.0;
        std::vector<double> slopes(chosen.size());
        const auto result = cpu::hypervolume_improvement(candidates, sets, &gain);
        cpu::hypervolume_improvement_gradient(candidates, sets, slopes.data());
        for (int i = 0; i < q; ++i) {
            const auto first = chosen.begin() + static_cast<std::ptrdiff_t>(i * width);
            std::vector<Scalar> rows(first, first + static_cast<std::ptrdiff_t>(width));
            Batch<Scalar> one{rows.data(), nullptr, 1, 1, in.batch.objectives, in.batch.minimised};
            double own = 0.0;
            double expected = 0.0;
            const auto refused_one = cpu::hypervolume_improvement(one, sets, &own);
            rows.resize(2 * width);  // a deviation of 0 in each objective
            one.values = rows.data();
            one.points = 2;
            cpu::expected_hypervolume_improvement(one, sets, &expected);
            if (!is_wild && refused_one.candidate == kNoneRefused &&
                !near(expected, own, 1.0 + own)) {
                mismatch(in, "expected improvement", g, i, expected, own);
            }
            for (std::size_t m = width; m < 2 * width; ++m) rows[m] = bytes.value<Scalar>(!is_wild);
            std::vector<double> in_rows(2 * width);
            cpu::expected_hypervolume_improvement(one, sets, &expected);
            cpu::expected_hypervolume_improvement_gradient(one, sets, in_rows.data());
        }
        if (is_wild || result.candidate != kNoneRefused) continue;
        Rows rows;
        for (int i = 0; i < in.batch.points; ++i) {
            if (!in.is_present(g, i)) continue;
            if (Row row = sides_of(in, ref.data(), g, i); !row.empty()) rows.push_back(row);
        }
        const double whole = volume_of(rows);
        double sum = 0.0;
        const cpu::Boxes& covered = dominated[static_cast<std::size_t>(g)];
        for (std::size_t first = 0; first < covered.lower.size(); first += width) {
            double box = 1.0;
            for (std::size_t m = 0; m < width; ++m) {
                box *= covered.upper[first + m] - covered.lower[first + m];
            }
            sum += box;
        }
        if (!near(sum, whole, 1.0 + whole)) mismatch(in, "volume of boxes", g, -1, sum, whole);
        for (int look = 0; look < 16; ++look) {
            std::vector<double> place(width);
            bool is_dominated = false;
            for (std::size_t m = 0; m < width; ++m) {
                const double sign = in.sign(static_cast<int>(m));
                place[m] = ref[m] + sign * (bytes.next(0, 65535) / 8192.0 + 1e-7);
            }
            for (const Row& row : rows) {
                bool is_below = true;
                for (std::size_t m = 0; m < width; ++m) {
                    is_below = is_below && std::fabs(place[m] - ref[m]) < row[m];
                }
                is_dominated = is_dominated || is_below;
            }
            const int in_left = holders_of(place, own);
            const int in_covered = holders_of(place, covered);
            if (in_left != !is_dominated)
                mismatch(in, "boxes left", g, look, in_left, !is_dominated);
            if (in_covered != is_dominated) {
                mismatch(in, "boxes dominated", g, look, in_covered, is_dominated);
            }
        }
        for (int i = 0; i < q; ++i) {
            Row row;
            for (std::size_t m = 0; m < width; ++m) {
                const auto at = static_cast<std::size_t>(i) * width + m;
                const double side = static_cast<double>(chosen[at]) - ref[m];
                row.push_back(in.sign(static_cast<int>(m)) * side);
            }
            if (*std::min_element(row.begin(), row.end()) > 0.0) rows.push_back(row);
        }
        const double both = volume_of(rows);
        if (!near(gain, both - whole, 1.0 + both)) {
            mismatch(in, "improvement", g, -1, gain, both - whole);
        }
    }
}

}  // namespace paretopo::fuzz
