// hypervolume_subset and select against the definitions of hypervolume, ranks and crowding. Wild
// values only test for crashes.
#include <algorithm>
#include <cmath>
#include <set>

#include "cpu/subsets/subsets.hpp"
#include "definitions.hpp"
#include "target.hpp"

namespace paretopo::fuzz {

constexpr int kMaxTried = 9;  // up to here all subsets of a set are tried

// The points of group g in a result, after a check that the result is valid.
template <typename Scalar>
std::vector<int> chosen_of(const Input<Scalar>& in, std::int64_t g, const char* what,
                           const std::vector<std::int64_t>& result, int k) {
    std::vector<int> chosen;
    int present = 0;
    for (int i = 0; i < in.batch.points; ++i) present += in.is_present(g, i);
    for (int place = 0; place < k; ++place) {
        const std::int64_t index = result[static_cast<std::size_t>(g * k + place)];
        if (place >= present) {
            if (index != cpu::kNoPoint)
                mismatch(in, what, g, place, static_cast<double>(index), -1);
            continue;
        }
        const bool is_point = index >= 0 && index < in.batch.points;
        if (!is_point || !in.is_present(g, static_cast<int>(index)) ||
            std::count(chosen.begin(), chosen.end(), static_cast<int>(index)) > 0) {
            mismatch(in, what, g, place, static_cast<double>(index), 0);
        }
        chosen.push_back(static_cast<int>(index));
    }
    return chosen;
}

template <typename Scalar>
double volume_with(const Input<Scalar>& in, const std::vector<double>& ref, std::int64_t g,
                   const std::vector<int>& chosen, int without = -1, int with = -1) {
    std::vector<std::vector<double>> rows;
    const auto take = [&](int i) {
        if (auto row = sides_of(in, ref.data(), g, i); !row.empty()) rows.push_back(row);
    };
    for (const int i : chosen) {
        if (i != without) take(i);
    }
    if (with >= 0) take(with);
    return volume_of(rows);
}

template <typename Scalar>
void check_subsets(const Input<Scalar>& in, const std::vector<double>& ref, bool is_wild) {
    const auto subset = [&](int k, cpu::SubsetMethod method) {
        std::vector<std::int64_t> result(static_cast<std::size_t>(in.batch.groups * k));
        const auto refused = cpu::hypervolume_subset(in.batch, References{ref.data(), false}, k,
                                                     method, result.data());
        if (refused != kNoneRefused) result.clear();
        return result;
    };
    std::vector<std::vector<int>> larger(static_cast<std::size_t>(in.batch.groups));
    for (int k = in.batch.points; k >= 1; --k) {
        const auto greedy = subset(k, cpu::SubsetMethod::kGreedy);
        const auto removal = subset(k, cpu::SubsetMethod::kGreedyRemoval);
        if (is_wild || greedy.empty() || removal.empty()) return;
        const bool may_be_exact = in.batch.objectives <= 2;
        const auto exact = may_be_exact ? subset(k, cpu::SubsetMethod::kExact) : greedy;
        for (std::int64_t g = 0; g < in.batch.groups; ++g) {
            const auto added = chosen_of(in, g, "greedy", greedy, k);
            const auto left = chosen_of(in, g, "removal", removal, k);
            const auto best = chosen_of(in, g, "exact", exact, k);
            if (in.batch.points > kMaxTried) continue;
            std::vector<int> before;
            for (const int point : added) {
                const double volume = volume_with(in, ref, g, before, -1, point);
                for (int i = 0; i < in.batch.points; ++i) {
                    if (!in.is_present(g, i)) continue;
                    const double other = volume_with(in, ref, g, before, -1, i);
                    if (other > volume && !near(other, volume, 1.0 + other)) {
                        mismatch(in, "greedy", g, i, volume, other);
                    }
                }
                before.push_back(point);
            }
            auto& from = larger[static_cast<std::size_t>(g)];
            if (from.size() == left.size() + 1) {
                const double volume = volume_with(in, ref, g, left);
                for (const int point : from) {
                    const double other = volume_with(in, ref, g, from, point);
                    if (other > volume && !near(other, volume, 1.0 + other)) {
                        mismatch(in, "removal", g, point, volume, other);
                    }
                }
            }
            from = left;
            const double reached = volume_with(in, ref, g, best);
            for (int bits = 0; may_be_exact && bits < 1 << in.batch.points; ++bits) {
                std::vector<int> tried;
                for (int i = 0; i < in.batch.points; ++i) {
                    if ((bits >> i & 1) != 0 && in.is_present(g, i)) tried.push_back(i);
                }
                if (tried.size() != best.size()) continue;
                const double other = volume_with(in, ref, g, tried);
                if (other > reached && !near(other, reached, 1.0 + other)) {
                    mismatch(in, "exact", g, bits, reached, other);
                }
            }
        }
        if (in.batch.points > kMaxTried) k = std::min(k, 1 + k / 3);
    }
}

template <typename Scalar>
void check_selection(const Input<Scalar>& in, const std::vector<double>& ref, Bytes& bytes) {
    std::vector<double> directions;
    const int count = bytes.next(1, 5);
    for (int i = 0; i < count * in.batch.objectives; ++i) {
        directions.push_back(i % in.batch.objectives == 0 ? 1.0 : bytes.next(0, 3));
    }
    const int k = bytes.next(1, std::max(1, static_cast<int>(in.batch.points)));
    for (int code = 0; code < 4; ++code) {
        const auto cut = static_cast<cpu::Cut>(code);
        const cpu::Cutting cutting{cut, {ref.data(), false}, directions.data(), count, 1};
        std::vector<std::int64_t> result(static_cast<std::size_t>(in.batch.groups * k));
        if (cpu::select(in.batch, cutting, k, result.data()) != kNoneRefused) continue;
        for (std::int64_t g = 0; g < in.batch.groups; ++g) {
            const auto survivors = chosen_of(in, g, "survivors", result, k);
            const std::set<int> alive(survivors.begin(), survivors.end());
            const std::vector<int> ranks = ranks_of(in, g);
            int worst = -1;
            for (const int i : survivors) {
                worst = std::max(worst, ranks[static_cast<std::size_t>(i)]);
            }
            std::vector<std::int32_t> cut_front(ranks.begin(), ranks.end());
            for (std::int32_t& rank : cut_front) rank = rank == worst ? 0 : kUnranked;
            const auto crowds = crowding_of(in, g, cut_front.data());
            double least = HUGE_VAL;
            double most = 0.0;
            for (int i = 0; i < in.batch.points; ++i) {
                const auto at = static_cast<std::size_t>(i);
                const bool survives = alive.count(i) > 0;
                if (ranks[at] >= 0 && ranks[at] < worst && !survives) {
                    mismatch(in, "front", g, i, 0, 1);
                }
                if (ranks[at] != worst || worst < 0) continue;
                if (survives) {
                    least = std::min(least, crowds[at]);
                } else {
                    most = std::max(most, crowds[at]);
                }
            }
            if (cut == cpu::Cut::kCrowding && most > least && !near(most, least, 1.0 + most)) {
                mismatch(in, "crowding", g, -1, least, most);
            }
        }
    }
}

template <typename Scalar>
void run(Bytes& bytes) {
    const bool is_wild = bytes.next() % 4 == 0;
    const Input<Scalar> in(bytes, {{0, 3}, {1, 9}, {1, 4}}, !is_wild);
    std::vector<double> ref;
    append_reference(bytes, in, ref);
    check_subsets(in, ref, is_wild);
    check_selection(in, ref, bytes);
}

}  // namespace paretopo::fuzz
