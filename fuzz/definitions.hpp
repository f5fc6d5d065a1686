// The definitions of python/paretopo_core/definitions.py in plain C++, for the fuzzers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <utility>
#include <vector>

#include "reading.hpp"

namespace paretopo::fuzz {

template <typename Scalar>
bool better(Scalar a, Scalar b, bool minimised) {
    if (std::isnan(a)) return false;
    if (std::isnan(b)) return true;
    return minimised ? a < b : a > b;
}

template <typename Scalar>
bool dominates(const Input<Scalar>& in, std::int64_t g, int a, int b) {
    bool somewhere = false;
    for (int m = 0; m < in.batch.objectives; ++m) {
        const bool flip = in.batch.is_minimised(m);
        if (better(in.point(g, b)[m], in.point(g, a)[m], flip)) return false;
        somewhere |= better(in.point(g, a)[m], in.point(g, b)[m], flip);
    }
    return somewhere;
}

template <typename Scalar>
std::vector<int> ranks_of(const Input<Scalar>& in, std::int64_t g) {
    const int points = in.batch.points;
    std::vector<int> ranks(static_cast<std::size_t>(points), -1);
    int left = 0;
    for (int i = 0; i < points; ++i) left += in.is_present(g, i);
    for (int front = 0; left > 0; ++front) {
        std::vector<int> members;
        for (int i = 0; i < points; ++i) {
            if (!in.is_present(g, i) || ranks[static_cast<std::size_t>(i)] >= 0) continue;
            bool is_beaten = false;
            for (int j = 0; j < points && !is_beaten; ++j) {
                is_beaten = in.is_present(g, j) && ranks[static_cast<std::size_t>(j)] < 0 &&
                            dominates(in, g, j, i);
            }
            if (!is_beaten) members.push_back(i);
        }
        for (const int i : members) ranks[static_cast<std::size_t>(i)] = front;
        left -= static_cast<int>(members.size());
    }
    return ranks;
}

// Visits front by front, with arbitrary numbers for fronts; `ranks` is -1 for padding.
template <typename Scalar>
std::vector<double> crowding_of(const Input<Scalar>& in, std::int64_t g,
                                const std::int32_t* ranks) {
    const auto points = static_cast<std::size_t>(in.batch.points);
    std::vector<double> distances(points, 0.0);
    for (int m = 0; m < in.batch.objectives; ++m) {
        const auto value = [&](std::size_t i) {
            return in.sign(m) * static_cast<double>(in.point(g, static_cast<int>(i))[m]);
        };
        // Sorts front by front, each from its worst point; among equal points the earlier comes
        // first.
        std::vector<std::size_t> order;
        for (std::size_t i = 0; i < points; ++i) {
            if (ranks[i] != kUnranked) order.push_back(i);
        }
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            return ranks[a] != ranks[b] ? ranks[a] < ranks[b] : better(value(b), value(a), false);
        });
        for (std::size_t first = 0, end = 0; first < order.size(); first = end) {
            while (end < order.size() && ranks[order[end]] == ranks[order[first]]) ++end;
            const double lowest = value(order[first]);
            const double highest = value(order[end - 1]);
            const bool is_constant = lowest == highest || std::isnan(highest);
            if (end - first > 1 && is_constant) continue;
            const double span = highest - lowest;
            for (std::size_t k = first; k < end; ++k) {
                if (k == first || k + 1 == end) {
                    distances[order[k]] = HUGE_VAL;
                } else if (std::isfinite(span) && span > 0.0) {
                    distances[order[k]] += (value(order[k + 1]) - value(order[k - 1])) / span;
                }
            }
        }
    }
    return distances;
}

// The sides of boxes, from the reference to a point.
using Row = std::vector<double>;
using Rows = std::vector<Row>;

// Empty for a point that is not better than the reference in every objective.
template <typename Scalar>
Row sides_of(const Input<Scalar>& in, const double* ref, std::int64_t g, int i) {
    Row row;
    for (int m = 0; m < in.batch.objectives; ++m) {
        row.push_back(in.sign(m) * (static_cast<double>(in.point(g, i)[m]) - ref[m]));
        if (!(row.back() > 0.0)) return {};
    }
    return row;
}

inline bool covers(const Row& a, const Row& b) {
    return std::equal(a.begin(), a.end(), b.begin(), [](double x, double y) { return x >= y; });
}

inline double box_of(const Row& row) {
    double box = 1.0;
    for (const double side : row) box *= side;
    return box;
}

double volume_of(Rows rows);

// The volume that a box adds to others: its own, less the part that they share with it.
inline double gain_of(const Row& row, const Rows& others) {
    Rows shared;
    for (const Row& other : others) {
        Row corner(row.size());
        std::transform(row.begin(), row.end(), other.begin(), corner.begin(),
                       [](double x, double y) { return std::fmin(x, y); });
        const auto covers_corner = [&](const Row& each) { return covers(each, corner); };
        if (std::any_of(shared.begin(), shared.end(), covers_corner)) continue;
        std::erase_if(shared, [&](const Row& each) { return covers(corner, each); });
        shared.push_back(corner);
    }
    return box_of(row) - volume_of(std::move(shared));
}

// Highest first: the part that a row shares with earlier rows is as high as the row itself, so that
// only the remaining sides matter.
inline double volume_of(Rows rows) {
    std::sort(rows.begin(), rows.end(), std::greater<>());
    double volume = 0.0;
    Rows before;
    for (const Row& row : rows) {
        volume += gain_of(row, before);
        before.push_back(row);
    }
    return volume;
}

template <typename Scalar>
void print(const Input<Scalar>& in) {
    std::fprintf(stderr, "groups %lld points %d objectives %d minimised %llx isa %d float%zu\n",
                 static_cast<long long>(in.batch.groups), in.batch.points, in.batch.objectives,
                 static_cast<unsigned long long>(in.batch.minimised), static_cast<int>(cpu::isa()),
                 8 * sizeof(Scalar));
    for (std::int64_t g = 0; g < in.batch.groups; ++g) {
        for (int i = 0; i < in.batch.points; ++i) {
            std::fprintf(stderr, in.is_present(g, i) ? "  " : "  (masked)");
            for (int m = 0; m < in.batch.objectives; ++m) {
                std::fprintf(stderr, " %.17g", static_cast<double>(in.point(g, i)[m]));
            }
            std::fprintf(stderr, "\n");
        }
        std::fprintf(stderr, "\n");
    }
}

// Aborts the fuzzer with a readable form of the input.
template <typename Scalar>
[[noreturn]] void mismatch(const Input<Scalar>& in, const char* what, std::int64_t g, int i,
                           double ours, double expected) {
    std::fprintf(stderr, "%s of point %d in group %lld is %.17g, by definition %.17g\n", what, i,
                 static_cast<long long>(g), ours, expected);
    print(in);
    std::abort();
}

inline bool near(double a, double b, double scale) {
    return a == b || std::fabs(a - b) <= 1e-10 * (std::fabs(b) + scale);
}

}  // namespace paretopo::fuzz
