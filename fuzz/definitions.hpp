// The definitions of python/paretopo_core/reference.py in plain C++, for the fuzzers.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstdlib>
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

// Inclusion and exclusion over all subsets: only for a handful of points.
inline double volume_of(const std::vector<std::vector<double>>& sides) {
    double volume = 0.0;
    for (unsigned chosen = 1; chosen < 1u << sides.size(); ++chosen) {
        double box = __builtin_popcount(chosen) % 2 == 1 ? 1.0 : -1.0;
        for (std::size_t m = 0; m < sides[0].size(); ++m) {
            double shared = HUGE_VAL;
            for (std::size_t i = 0; i < sides.size(); ++i) {
                if ((chosen >> i & 1) != 0) shared = std::fmin(shared, sides[i][m]);
            }
            box *= shared;
        }
        volume += box;
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

// Ends the fuzzer with the input in words.
template <typename Scalar>
[[noreturn]] void mismatch(const Input<Scalar>& in, const char* what, std::int64_t g, int i,
                           double ours, double expected) {
    std::fprintf(stderr, "%s of point %d in group %lld is %.17g, by definition %.17g\n", what, i,
                 static_cast<long long>(g), ours, expected);
    print(in);
    std::abort();
}

inline bool near(double a, double b, double scale) {
    return std::fabs(a - b) <= 1e-10 * (std::fabs(b) + scale);
}

}  // namespace paretopo::fuzz
