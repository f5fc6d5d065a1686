#include "cpu/ranking/fronts.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <utility>

#include "cpu/lanes/isa.hpp"
#include "cpu/ranking/filter_sweep.hpp"
#include "cpu/runtime/compacted.hpp"
#include "cpu/runtime/for_each_group.hpp"
#include "ops.hpp"

namespace paretopo::cpu {
namespace {

// The largest set, by number of objectives, for which rows of bits are faster than sorting.
template <typename Scalar>
std::int32_t most_ranked_in_rows(std::int32_t objectives) {
    return objectives <= 2 ? kMaxFlatInRows : kernels().tuning.most_in_rows<Scalar>();
}
template <typename Scalar>
std::int32_t most_filtered_in_rows(std::int32_t objectives) {
    const std::int32_t most = kernels().tuning.most_in_rows<Scalar>();
    return objectives <= 2   ? kMaxFlatInRows
           : objectives == 3 ? std::max(kMaxFlatInRows, most / 2)
                             : most;
}

}  // namespace

template <typename Scalar>
std::int32_t Ranker::rank(const Present<Scalar>& set, std::int32_t objectives,
                          std::uint64_t minimised, std::int32_t* ranks) {
    if (set.count <= most_ranked_in_rows<Scalar>(objectives)) {
        return kernels().sets.of<Scalar>().rank(set.values.data(), set.count, objectives, minimised,
                                                ranks);
    }
    // This scan stops at once unless all points are equal.
    const auto& values = set.values;
    const auto end = values.begin() + std::ptrdiff_t{set.count} * objectives;
    if (std::equal(values.begin() + objectives, end, values.begin())) {
        std::fill_n(ranks, set.count, 0);
        return 1;
    }
    if (objectives == 2) {
        return planar_.rank(set.values.data(), set.count, minimised, ranks);
    }
    sorted_.sort(set.values.data(), set.count, objectives, minimised);
    rank_distinct(sorted_, distinct_ranks_);
    std::int32_t last = kUnranked;
    for (std::int32_t i = 0; i < set.count; ++i) {
        const std::int32_t d = sorted_.distinct_of[static_cast<std::size_t>(i)];
        ranks[i] = distinct_ranks_[static_cast<std::size_t>(d)];
        last = std::max(last, ranks[i]);
    }
    return last + 1;
}

template <typename Scalar>
void Ranker::thin_out(const Present<Scalar>& set, std::int32_t objectives,
                      std::uint64_t minimised) {
    constexpr std::int32_t kManySampled = 256;
    constexpr std::int32_t kMaxSampled = 2048;
    const std::int32_t sampled =
        std::min(set.count / 8, std::clamp(set.count / 32, kManySampled, kMaxSampled));
    survivors_.resize(static_cast<std::size_t>(set.count));
    std::iota(survivors_.begin(), survivors_.end(), 0);
    if (sampled < 2 * kPivots || !fits_lanes(1, objectives)) return;

    std::vector<std::int32_t> sample;
    Present<Scalar> small;
    const auto take = [&](std::int32_t count) {
        sample.resize(static_cast<std::size_t>(count));
        for (std::int32_t k = 0; k < count; ++k) {
            sample[static_cast<std::size_t>(k)] =
                static_cast<std::int32_t>(std::int64_t{set.count} * k / count);
        }
        small.take(set, sample, objectives);
    };
    constexpr std::int32_t kFew = 64;
    // A few points show whether nearly all are on one front, so that none would be dropped.
    if (sampled > kFew) {
        take(kFew);
        std::array<std::uint8_t, kFew> in_front;
        kernels().sets.of<Scalar>().find_nondominated(small.values.data(), kFew, objectives,
                                                      minimised, true, in_front.data());
        if (std::count(in_front.begin(), in_front.end(), std::uint8_t{1}) > kFew - kFew / 8) return;
    }
    take(sampled);
    sorted_.sort(small.values.data(), sampled, objectives, minimised);
    std::vector<std::pair<std::int64_t, std::int32_t>> score(sample.size());  // low codes are good
    for (std::int32_t k = 0; k < sampled; ++k) {
        const auto d = static_cast<std::size_t>(sorted_.distinct_of[static_cast<std::size_t>(k)]);
        std::int64_t sum = 0;
        for (const std::vector<std::int32_t>& column : sorted_.codes) sum += column[d];
        score[static_cast<std::size_t>(k)] = {sum, sample[static_cast<std::size_t>(k)]};
    }
    std::partial_sort(score.begin(), score.begin() + kPivots, score.end());
    std::array<std::int32_t, kPivots> pivots;
    for (std::size_t p = 0; p < kPivots; ++p) pivots[p] = score[p].second;

    const std::int32_t left = kernels().pivots.of<Scalar>().drop_dominated(
        set.values.data(), set.count, objectives, minimised, pivots.data(), kPivots,
        survivors_.data());
    if (left < set.count - set.count / 4) {
        survivors_.resize(static_cast<std::size_t>(left));
    } else {
        std::iota(survivors_.begin(), survivors_.end(), 0);
    }
}

template <typename Scalar>
void Ranker::find_nondominated(const Present<Scalar>& set, std::int32_t objectives,
                               std::uint64_t minimised, bool keep_weakly,
                               std::uint8_t* nondominated) {
    if (set.count <= most_filtered_in_rows<Scalar>(objectives)) {
        return kernels().sets.of<Scalar>().find_nondominated(
            set.values.data(), set.count, objectives, minimised, keep_weakly, nondominated);
    }
    // If most points are dominated, a few good ones show it before the sort.
    thin_out(set, objectives, minimised);
    std::fill_n(nondominated, set.count, std::uint8_t{0});
    const auto count = static_cast<std::int32_t>(survivors_.size());
    if (count < set.count) {
        Present<Scalar> thinned;
        thinned.take(set, survivors_, objectives);
        sorted_.sort(thinned.values.data(), count, objectives, minimised);
    } else {
        sorted_.sort(set.values.data(), count, objectives, minimised);
    }
    find_distinct_nondominated(sorted_, distinct_nondominated_);
    for (std::int32_t k = 0; k < count; ++k) {
        const auto d = static_cast<std::size_t>(sorted_.distinct_of[static_cast<std::size_t>(k)]);
        const bool is_kept = keep_weakly || sorted_.first_of[d] == k;
        nondominated[survivors_[static_cast<std::size_t>(k)]] =
            is_kept && distinct_nondominated_[d] != 0;
    }
}

namespace {

// The groups first..end, of at most kMaxInRows points each.
template <typename Scalar>
void rank_part(const Batch<Scalar>& batch, std::int64_t first, std::int64_t end,
               std::int32_t* ranks) {
    if (Compacted<Scalar> few; few.take(batch, first, end)) {
        std::vector<std::int32_t> own(few.size());
        rank_part(few.batch(), 0, few.groups(), own.data());
        return few.spread(own.data(), kUnranked, ranks);
    }
    const Kernels& kernel = kernels();
    const bool uses_lanes = are_for_lanes(batch, end - first, kernel.tuning.most_ranked_in_lanes);
    (uses_lanes ? kernel.groups.of<Scalar>().rank : kernel.sets.of<Scalar>().rank_each)(
        batch, first, end, ranks);
}

template <typename Scalar>
void filter_part(const Batch<Scalar>& batch, std::int64_t first, std::int64_t end, bool keep_weakly,
                 std::uint8_t* nondominated) {
    if (Compacted<Scalar> few; few.take(batch, first, end)) {
        std::vector<std::uint8_t> own(few.size());
        filter_part(few.batch(), 0, few.groups(), keep_weakly, own.data());
        return few.spread(own.data(), std::uint8_t{0}, nondominated);
    }
    const Kernels& kernel = kernels();
    const bool uses_lanes = are_for_lanes(batch, end - first, kernel.tuning.most_filtered_in_lanes);
    (uses_lanes ? kernel.groups.of<Scalar>().find_nondominated
                : kernel.sets.of<Scalar>().find_nondominated_of_each)(batch, first, end,
                                                                      keep_weakly, nondominated);
}

}  // namespace

template <typename Scalar>
void pareto_rank(Batch<Scalar> batch, std::int32_t* ranks) {
    if (batch.is_empty()) return;
    if (batch.points <= most_ranked_in_rows<Scalar>(batch.objectives) ||
        are_for_lanes(batch, batch.groups, kernels().tuning.most_ranked_in_lanes)) {
        return for_each_part(batch, [=](std::int64_t first, std::int64_t end) {
            rank_part(batch, first, end, ranks);
        });
    }
    std::vector<std::int32_t> own(static_cast<std::size_t>(batch.points));
    const auto work = [=, set = Present<Scalar>(), ranker = Ranker(),
                       own = std::move(own)](std::int64_t g) mutable {
        set.take(batch, g);
        ranker.rank(set, batch.objectives, batch.minimised, own.data());
        std::int32_t* out = ranks + g * batch.points;
        std::fill_n(out, batch.points, kUnranked);
        for (std::int32_t k = 0; k < set.count; ++k) {
            out[set.index[static_cast<std::size_t>(k)]] = own[static_cast<std::size_t>(k)];
        }
    };
    for_each_group(batch.groups, ranking_cost(batch.points, batch.objectives), work);
}

template <typename Scalar>
void is_nondominated(Batch<Scalar> batch, bool keep_weakly, std::uint8_t* nondominated) {
    if (batch.is_empty()) return;
    if (batch.points <= most_filtered_in_rows<Scalar>(batch.objectives) ||
        are_for_lanes(batch, batch.groups, kernels().tuning.most_filtered_in_lanes)) {
        return for_each_part(batch, [=](std::int64_t first, std::int64_t end) {
            filter_part(batch, first, end, keep_weakly, nondominated);
        });
    }
    if (batch.objectives == 2 || batch.objectives == 3) {
        const auto work = [=, sweep = FilterSweep()](std::int64_t g) mutable {
            sweep.find_nondominated(batch, g, keep_weakly, nondominated + g * batch.points);
        };
        return for_each_group(batch.groups, ranking_cost(batch.points, batch.objectives), work);
    }
    std::vector<std::uint8_t> own(static_cast<std::size_t>(batch.points));
    const auto work = [=, set = Present<Scalar>(), ranker = Ranker(),
                       own = std::move(own)](std::int64_t g) mutable {
        set.take(batch, g);
        ranker.find_nondominated(set, batch.objectives, batch.minimised, keep_weakly, own.data());
        std::uint8_t* out = nondominated + g * batch.points;
        std::fill_n(out, batch.points, std::uint8_t{0});
        for (std::int32_t k = 0; k < set.count; ++k) {
            out[set.index[static_cast<std::size_t>(k)]] = own[static_cast<std::size_t>(k)];
        }
    };
    for_each_group(batch.groups, ranking_cost(batch.points, batch.objectives), work);
}

template std::int32_t Ranker::rank(const Present<float>&, std::int32_t, std::uint64_t,
                                   std::int32_t*);
template std::int32_t Ranker::rank(const Present<double>&, std::int32_t, std::uint64_t,
                                   std::int32_t*);
template void Ranker::find_nondominated(const Present<float>&, std::int32_t, std::uint64_t, bool,
                                        std::uint8_t*);
template void Ranker::find_nondominated(const Present<double>&, std::int32_t, std::uint64_t, bool,
                                        std::uint8_t*);
template void pareto_rank(Batch<float>, std::int32_t*);
template void pareto_rank(Batch<double>, std::int32_t*);
template void is_nondominated(Batch<float>, bool, std::uint8_t*);
template void is_nondominated(Batch<double>, bool, std::uint8_t*);

}  // namespace paretopo::cpu
