// Ideal and nadir points, normalised points, and the ε-box filter, against their definitions.
#include <cmath>
#include <limits>

#include "cpu/quality/normalise.hpp"
#include "cpu/ranking/epsilon_boxes.hpp"
#include "definitions.hpp"
#include "target.hpp"

namespace paretopo::fuzz {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

inline bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// The best number, or the worst value, of objective m among the chosen points of a group.
template <typename Scalar, typename Chosen>
double extreme_of(const Input<Scalar>& in, std::int64_t g, int m, bool worst,
                  const Chosen& chosen) {
    double found = kNone;
    bool is_first = true;
    for (int i = 0; i < in.batch.points; ++i) {
        const double value = static_cast<double>(in.point(g, i)[m]);
        if (!chosen(i) || (!worst && std::isnan(value))) continue;
        const bool flip = in.batch.is_minimised(m);
        const bool replaces = worst ? better(found, value, flip) : better(value, found, flip);
        if (is_first || replaces) found = value;
        is_first = false;
    }
    return found;
}

// Compares with a wider type, in which nothing overflows.
template <typename Scalar>
void check_scaled(const Input<Scalar>& in, std::int64_t g, int m, double one, double other,
                  const std::vector<Scalar>& scaled) {
    using Wide = long double;
    const bool is_known = !std::isnan(one) && !std::isnan(other);
    const Wide least = is_known ? std::fmin(one, other) : kNone;
    const Wide most = is_known ? std::fmax(one, other) : kNone;
    const Wide span = most - least == 0 ? Wide{1} : most - least;
    const double tolerance = 8 * static_cast<double>(std::numeric_limits<Scalar>::epsilon());
    for (int i = 0; i < in.batch.points; ++i) {
        const Wide exact = (static_cast<Wide>(in.point(g, i)[m]) - least) / span;
        const auto at = static_cast<std::size_t>(in.point(g, i) - in.batch.values + m);
        const auto own = static_cast<Wide>(scaled[at]);
        if (std::isnan(exact) && std::isnan(own)) continue;
        if (own == exact) continue;
        const Wide largest = std::numeric_limits<Scalar>::max();
        const bool overflows = std::fabs(exact) >= largest * (1 - tolerance);
        if (overflows && std::fabs(own) >= largest * (1 - tolerance) && (own > 0) == (exact > 0))
            continue;
        const Wide lost = std::numeric_limits<Scalar>::min();  // by subnormal numbers
        if (std::fabs(own - exact) <= tolerance * std::fabs(exact) + lost) continue;
        mismatch(in, "scaled value", g, i, static_cast<double>(own), static_cast<double>(exact));
    }
}

template <typename Scalar>
void check_ranges(const Input<Scalar>& in, Bytes& bytes) {
    const auto width = static_cast<std::size_t>(in.batch.objectives);
    const auto corners = static_cast<std::size_t>(in.batch.groups) * width;
    std::vector<Scalar> ideal(corners), nadir(corners), scaled(in.values.size());
    cpu::ideal_point(in.batch, ideal.data());
    cpu::nadir_point(in.batch, nadir.data());
    std::vector<double> given(width);
    for (double& each : given) each = static_cast<double>(bytes.value<Scalar>(true));
    const bool has_ideal = bytes.next() % 2 == 0;
    const bool has_nadir = bytes.next() % 4 == 0;
    cpu::normalise(in.batch, has_ideal ? given.data() : nullptr, has_nadir ? given.data() : nullptr,
                   scaled.data());
    for (std::int64_t g = 0; g < in.batch.groups; ++g) {
        const std::vector<int> ranks = ranks_of(in, g);
        for (int m = 0; m < in.batch.objectives; ++m) {
            const auto at = static_cast<std::size_t>(g) * width + static_cast<std::size_t>(m);
            const double best =
                extreme_of(in, g, m, false, [&](int i) { return in.is_present(g, i); });
            const double worst = extreme_of(
                in, g, m, true, [&](int i) { return ranks[static_cast<std::size_t>(i)] == 0; });
            const auto own = static_cast<double>(ideal[at]);
            if (!same(own, best)) mismatch(in, "ideal", g, -1, own, best);
            const auto own_worst = static_cast<double>(nadir[at]);
            if (!same(own_worst, worst)) mismatch(in, "nadir", g, -1, own_worst, worst);
            const double corner = given[static_cast<std::size_t>(m)];
            check_scaled(in, g, m, has_ideal ? corner : best, has_nadir ? corner : worst, scaled);
        }
    }
}

// A point in its box: the corner of the box, the distance from it, and the point; smaller is
// better.
struct Boxed {
    Row corner, place;
    double distance = 0.0;
};

template <typename Scalar>
Boxed box_of(const Input<Scalar>& in, std::int64_t g, int i, const Row& sides) {
    Boxed boxed;
    for (int m = 0; m < in.batch.objectives; ++m) {
        const double turned = -in.sign(m) * static_cast<double>(in.point(g, i)[m]) + 0.0;
        const double place = turned / sides[static_cast<std::size_t>(m)];
        const double part = std::isinf(place) ? 0.0 : place - std::floor(place);
        boxed.corner.push_back(std::floor(place));
        boxed.place.push_back(turned);
        boxed.distance += part * part;
    }
    return boxed;
}

inline bool is_same_box(const Boxed& a, const Boxed& b) {
    return std::equal(a.corner.begin(), a.corner.end(), b.corner.begin(), same);
}

inline bool dominates_box(const Boxed& a, const Boxed& b) {
    for (std::size_t m = 0; m < a.corner.size(); ++m) {
        if (better(b.corner[m], a.corner[m], true)) return false;
    }
    return !is_same_box(a, b);
}

inline bool is_nearer(const Boxed& a, const Boxed& b) {
    if (!same(a.distance, b.distance)) return better(a.distance, b.distance, true);
    for (std::size_t m = 0; m < a.place.size(); ++m) {
        if (!same(a.place[m], b.place[m])) return better(a.place[m], b.place[m], true);
    }
    return false;
}

template <typename Scalar>
void check_boxes(const Input<Scalar>& in, Bytes& bytes) {
    const double lengths[] = {0.25, 1.0, 0.001, 1e300, std::numeric_limits<double>::min()};
    Row sides;
    for (int m = 0; m < in.batch.objectives; ++m) sides.push_back(lengths[bytes.next(0, 4)]);
    std::vector<std::uint8_t> kept(static_cast<std::size_t>(in.batch.groups * in.batch.points));
    cpu::filter_boxes(in.batch, sides.data(), kept.data());
    for (std::int64_t g = 0; g < in.batch.groups; ++g) {
        std::vector<Boxed> boxed;
        for (int i = 0; i < in.batch.points; ++i) boxed.push_back(box_of(in, g, i, sides));
        for (int i = 0; i < in.batch.points; ++i) {
            const Boxed& one = boxed[static_cast<std::size_t>(i)];
            bool stays = in.is_present(g, i);
            for (int j = 0; j < in.batch.points && stays; ++j) {
                if (j == i || !in.is_present(g, j)) continue;
                const Boxed& other = boxed[static_cast<std::size_t>(j)];
                const bool is_better = is_nearer(other, one) || (j < i && !is_nearer(one, other));
                stays = !dominates_box(other, one) && !(is_same_box(other, one) && is_better);
            }
            const auto own = kept[static_cast<std::size_t>(g * in.batch.points + i)];
            if (own != stays) mismatch(in, "filter of boxes", g, i, own, stays);
        }
    }
}

template <typename Scalar>
void run(Bytes& bytes) {
    const Input<Scalar> in(bytes, choose_sizes(bytes, {{0, 3}, {0, 40}, {1, 6}}), false);
    check_ranges(in, bytes);
    check_boxes(in, bytes);
}

}  // namespace paretopo::fuzz
