#include "cpu/ranking/fronts.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <utility>

#include "cpu/lanes/isa.hpp"
#include "cpu/lanes/ranking.hpp"
#include "cpu/ranking/filter_sweep.hpp"
#include "cpu/runtime/compacted.hpp"
#include "cpu/runtime/for_each_group.hpp"
#include "cpu/runtime/interrupt.hpp"
#include "cpu/tuning/instruction_sets.hpp"
#include "ops.hpp"

namespace paretopo::cpu {
namespace {

// The largest set, by number of objectives, for which rows of bits are faster than sorting.
template <typename Scalar>
std::int32_t most_ranked_in_rows(std::int32_t objectives) {
    return objectives <= 2 ? kMaxFlatInRows : kernels().tuning.most_in_rows<Scalar>();
}

}  // namespace

template <typename Scalar>
std::int32_t Ranker::rank(const Scalar* values, std::int32_t count, std::int32_t objectives,
                          std::uint64_t minimised, std::int32_t* ranks) {
    if (count <= most_ranked_in_rows<Scalar>(objectives)) {
        return kernels().sets.of<Scalar>().rank(values, count, objectives, minimised, ranks);
    }
    // This scan stops at once unless all points are equal.
    if (std::equal(values + objectives, values + std::int64_t{count} * objectives, values)) {
        std::fill_n(ranks, count, 0);
        return 1;
    }
    if (objectives == 2) return planar_.rank(values, count, minimised, ranks);
    const Tuning& tuning = kernels().tuning;
    const auto most_paired = [&] {
        return looks_like_a_front(values, count, objectives, minimised)
                   ? tuning.most_paired_of_front
                   : tuning.most_paired_of_3;
    };
    if (objectives == 3 && count > tuning.most_paired_of_front && count > most_paired()) {
        if (!sorted_.sort_cells(values, count, minimised)) {
            return spatial_.rank(values, count, minimised, ranks);
        }
    } else {
        sorted_.sort(values, count, objectives, minimised);
    }
    rank_distinct(sorted_, distinct_ranks_);
    std::int32_t last = kUnranked;
    for (std::int32_t i = 0; i < count; ++i) {
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
    constexpr int kPivots = 8;
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
    std::array<std::int32_t, std::size_t{kPivots}> pivots;
    for (std::size_t p = 0; p < pivots.size(); ++p) pivots[p] = score[p].second;

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
                               std::uint64_t minimised, bool keep_duplicates,
                               std::uint8_t* nondominated) {
    if (set.count <= most_filtered_in_rows<Scalar>(objectives)) {
        return kernels().sets.of<Scalar>().find_nondominated(
            set.values.data(), set.count, objectives, minimised, keep_duplicates, nondominated);
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
        const bool is_kept = keep_duplicates || sorted_.first_of[d] == k;
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

// True if the filter sweeps each set by itself.
template <typename Scalar>
bool is_swept(const Batch<Scalar>& batch) {
    return (batch.objectives == 2 || batch.objectives == 3) &&
           batch.points > most_filtered_in_rows<Scalar>(batch.objectives) &&
           !are_for_lanes(batch, batch.groups, kernels().tuning.most_filtered_in_lanes);
}

template <typename Scalar>
void sweep_each(const Batch<Scalar>& batch, Filter filter, std::uint8_t* nondominated) {
    const auto work = [=, sweep = FilterSweep()](std::int64_t g) mutable {
        sweep.find_nondominated(batch, g, filter, nondominated + g * batch.points);
    };
    for_each_group(batch.groups, ranking_cost(batch.points, batch.objectives), work);
}

template <typename Scalar>
void filter_part(const Batch<Scalar>& batch, std::int64_t first, std::int64_t end,
                 bool keep_duplicates, std::uint8_t* nondominated) {
    if (Compacted<Scalar> few; few.take(batch, first, end)) {
        std::vector<std::uint8_t> own(few.size());
        filter_part(few.batch(), 0, few.groups(), keep_duplicates, own.data());
        return few.spread(own.data(), std::uint8_t{0}, nondominated);
    }
    const Kernels& kernel = kernels();
    const bool uses_lanes = are_for_lanes(batch, end - first, kernel.tuning.most_filtered_in_lanes);
    (uses_lanes ? kernel.groups.of<Scalar>().find_nondominated
                : kernel.sets.of<Scalar>().find_nondominated_of_each)(
        batch, first, end, keep_duplicates, nondominated);
}

// Adds the points of one group that no point of its front is better than in every objective. The
// front holds one of each of the points that no other dominates. A few of its members beat most
// points. If that takes too many comparisons, the points that are left are filtered by their ranks.
template <typename Scalar>
class WithinFront {
  public:
    WithinFront(const Batch<Scalar>& batch, bool keep_duplicates, std::uint8_t* kept)
        : batch_(batch),
          keep_duplicates_(keep_duplicates),
          kept_(kept),
          point_(static_cast<std::size_t>(batch.objectives)) {}

    void operator()(std::int64_t g) {
        const std::uint8_t* mask = batch_.group_mask(g);
        std::uint8_t* kept = kept_ + g * batch_.points;
        take_front(g, kept);
        std::int64_t left = kTried * batch_.points;
        Poller poller;
        for (std::int32_t i = 0; i < batch_.points; ++i) {
            if (kept[i] != 0 || (mask && mask[i] == 0)) continue;
            poller.step();
            write(g, i, point_.data());
            kept[i] = left <= 0 || !is_beaten(left);
        }
        if (left <= 0) filter_ranks(g, kept);
        if (!keep_duplicates_) drop_repeats(g, kept);
    }

  private:
    using Key = decltype(best_first(Scalar(0), false));

    static constexpr std::int64_t kTried = 128;  // members for each point, on average
    static constexpr std::int64_t kMiss = 8;     // a search in vain counts as so many

    void write(std::int64_t g, std::int32_t i, Key* keys) const {
        const Scalar* point = batch_.group(g) + std::int64_t{i} * batch_.objectives;
        for (std::int32_t m = 0; m < batch_.objectives; ++m) {
            keys[m] = best_first(point[m], batch_.is_minimised(m));
        }
    }

    void take_front(std::int64_t g, const std::uint8_t* kept) {
        front_.resize(static_cast<std::size_t>(batch_.points) * point_.size());
        order_.clear();
        for (std::int32_t i = 0; i < batch_.points; ++i) {
            if (kept[i] == 0) continue;
            order_.push_back(order_.size() * point_.size());
            write(g, i, front_.data() + order_.back());
        }
    }

    // Members that beat many points move to the front of the order.
    bool is_beaten(std::int64_t& left) {
        for (std::size_t k = 0; k < order_.size(); ++k) {
            const Key* member = front_.data() + order_[k];
            std::size_t m = 0;
            while (m < point_.size() && member[m] < point_[m]) ++m;
            if (m < point_.size()) continue;
            std::swap(order_[k], order_[k / 2]);
            left -= static_cast<std::int64_t>(k);
            return true;
        }
        left -= kMiss * static_cast<std::int64_t>(order_.size());
        return false;
    }

    void sort_kept(std::int64_t g) {
        Batch<Scalar> kept = batch_;
        kept.mask = kept_;
        chosen_.take(kept, g);
        sorted_.sort(chosen_.values.data(), chosen_.count, batch_.objectives, batch_.minimised);
    }

    // Filters the kept points. In each objective, points of equal value get ranks in the opposite
    // of their lexicographic order. A point then has the better ranks exactly if it is better in
    // every objective.
    void filter_ranks(std::int64_t g, std::uint8_t* kept) {
        sort_kept(g);
        const std::int32_t count = sorted_.distinct;
        const std::size_t width = point_.size();
        std::vector<double> ranks(static_cast<std::size_t>(count) * width);  // larger is better
        std::vector<std::int32_t> next;                                      // by code
        for (std::size_t m = 0; m < width; ++m) {
            const std::vector<std::int32_t>& codes = sorted_.codes[m];
            next.assign(codes.size() + 1, 0);
            for (const std::int32_t code : codes) ++next[static_cast<std::size_t>(code) + 1];
            std::partial_sum(next.begin(), next.end(), next.begin());
            for (std::size_t d = codes.size(); d-- > 0;) {
                ranks[d * width + m] = -next[static_cast<std::size_t>(codes[d])]++;
            }
        }
        std::vector<std::uint8_t> stays(static_cast<std::size_t>(count));
        is_nondominated(Batch<double>{ranks.data(), nullptr, 1, count, batch_.objectives, 0}, true,
                        stays.data());
        for_each_kept(kept, [&](std::int32_t, std::size_t d) { return stays[d] != 0; });
    }

    void drop_repeats(std::int64_t g, std::uint8_t* kept) {
        sort_kept(g);
        for_each_kept(kept,
                      [&](std::int32_t k, std::size_t d) { return sorted_.first_of[d] == k; });
    }

    // Sets whether each chosen point k, the distinct point d, is kept.
    template <typename Stays>
    void for_each_kept(std::uint8_t* kept, const Stays& stays) const {
        for (std::int32_t k = 0; k < chosen_.count; ++k) {
            const auto at = static_cast<std::size_t>(k);
            const auto d = static_cast<std::size_t>(sorted_.distinct_of[at]);
            kept[chosen_.index[at]] = stays(k, d);
        }
    }

    Batch<Scalar> batch_;
    bool keep_duplicates_;
    std::uint8_t* kept_;
    std::vector<Key> point_, front_;
    std::vector<std::size_t> order_;  // where the keys of each member begin
    Present<Scalar> chosen_;
    SortedCodes sorted_;
};

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
    const auto work = [=, set = Present<Scalar>(), ranker = Ranker(),
                       own = std::vector<std::int32_t>()](std::int64_t g) mutable {
        std::int32_t* out = ranks + g * batch.points;
        if (!batch.mask) {
            ranker.rank(batch.group(g), batch.points, batch.objectives, batch.minimised, out);
            return;
        }
        set.take(batch, g);
        own.resize(static_cast<std::size_t>(set.count));
        ranker.rank(set.values.data(), set.count, batch.objectives, batch.minimised, own.data());
        std::fill_n(out, batch.points, kUnranked);
        for (std::int32_t k = 0; k < set.count; ++k) {
            out[set.index[static_cast<std::size_t>(k)]] = own[static_cast<std::size_t>(k)];
        }
    };
    for_each_group(batch.groups, ranking_cost(batch.points, batch.objectives), work);
}

template <typename Scalar>
void is_nondominated(Batch<Scalar> batch, bool keep_duplicates, std::uint8_t* nondominated) {
    if (batch.is_empty()) return;
    if (is_swept(batch)) return sweep_each(batch, {keep_duplicates, false}, nondominated);
    if (batch.points <= most_filtered_in_rows<Scalar>(batch.objectives) ||
        are_for_lanes(batch, batch.groups, kernels().tuning.most_filtered_in_lanes)) {
        return for_each_part(batch, [=](std::int64_t first, std::int64_t end) {
            filter_part(batch, first, end, keep_duplicates, nondominated);
        });
    }
    std::vector<std::uint8_t> own(static_cast<std::size_t>(batch.points));
    const auto work = [=, set = Present<Scalar>(), ranker = Ranker(),
                       own = std::move(own)](std::int64_t g) mutable {
        set.take(batch, g);
        ranker.find_nondominated(set, batch.objectives, batch.minimised, keep_duplicates,
                                 own.data());
        std::uint8_t* out = nondominated + g * batch.points;
        std::fill_n(out, batch.points, std::uint8_t{0});
        for (std::int32_t k = 0; k < set.count; ++k) {
            out[set.index[static_cast<std::size_t>(k)]] = own[static_cast<std::size_t>(k)];
        }
    };
    for_each_group(batch.groups, ranking_cost(batch.points, batch.objectives), work);
}

template <typename Scalar>
void filter_strictly(Batch<Scalar> batch, bool keep_duplicates, std::uint8_t* kept) {
    if (batch.is_empty()) return;
    if (is_swept(batch)) return sweep_each(batch, {keep_duplicates, true}, kept);
    is_nondominated(batch, false, kept);
    for_each_group(batch.groups, ranking_cost(batch.points, batch.objectives),
                   WithinFront<Scalar>(batch, keep_duplicates, kept));
}

template std::int32_t Ranker::rank(const float*, std::int32_t, std::int32_t, std::uint64_t,
                                   std::int32_t*);
template std::int32_t Ranker::rank(const double*, std::int32_t, std::int32_t, std::uint64_t,
                                   std::int32_t*);
template void Ranker::find_nondominated(const Present<float>&, std::int32_t, std::uint64_t, bool,
                                        std::uint8_t*);
template void Ranker::find_nondominated(const Present<double>&, std::int32_t, std::uint64_t, bool,
                                        std::uint8_t*);
template void pareto_rank(Batch<float>, std::int32_t*);
template void pareto_rank(Batch<double>, std::int32_t*);
template void is_nondominated(Batch<float>, bool, std::uint8_t*);
template void is_nondominated(Batch<double>, bool, std::uint8_t*);
template void filter_strictly(Batch<float>, bool, std::uint8_t*);
template void filter_strictly(Batch<double>, bool, std::uint8_t*);

}  // namespace paretopo::cpu
