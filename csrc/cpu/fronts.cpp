#include "cpu/fronts.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <utility>

#include "cpu/for_each_group.hpp"
#include "cpu/isa.hpp"
#include "ops.hpp"

namespace paretopo::cpu {
namespace {

constexpr std::int32_t kFew = 64;  // points, a bit each

}  // namespace

template <typename Scalar>
const Key<Scalar>* Ranker::keys_of(const Present<Scalar>& set, std::int32_t objectives,
                                   std::uint64_t minimised) {
    auto& keys = std::get<std::vector<Key<Scalar>>>(keys_);
    const auto width = static_cast<std::size_t>(objectives);
    keys.resize(static_cast<std::size_t>(set.count) * width);
    for (std::size_t i = 0, k = 0; i < static_cast<std::size_t>(set.count); ++i) {
        for (std::size_t m = 0; m < width; ++m, ++k) {
            keys[k] = key_of(set.values[k], m < 64 && (minimised >> m & 1) != 0);
        }
    }
    return keys.data();
}

template <typename Scalar>
std::int32_t Ranker::rank_few(const Present<Scalar>& set, std::int32_t objectives,
                              std::uint64_t minimised, std::int32_t* ranks) {
    const Key<Scalar>* keys = keys_of(set, objectives, minimised);
    const auto row = [=](std::int32_t i) { return keys + std::int64_t{i} * objectives; };
    std::array<std::uint64_t, kFew> dominators;  // of each point, a bit for each
    for (std::int32_t i = 0; i < set.count; ++i) {
        std::uint64_t found = 0;
        for (std::int32_t j = 0; j < set.count; ++j) {
            found |= std::uint64_t{dominates(row(j), row(i), objectives)} << j;
        }
        dominators[static_cast<std::size_t>(i)] = found;
    }
    std::uint64_t left = set.count == 0 ? 0 : ~std::uint64_t{0} >> (kFew - set.count);
    std::int32_t fronts = 0;
    for (; left != 0; ++fronts) {
        std::uint64_t behind = 0;
        for (std::uint64_t bits = left; bits != 0; bits &= bits - 1) {
            const std::int32_t i = lowest_bit(bits);
            if ((dominators[static_cast<std::size_t>(i)] & left) == 0) {
                ranks[i] = fronts;
            } else {
                behind |= bits & -bits;
            }
        }
        left = behind;
    }
    return fronts;
}

template <typename Scalar>
void Ranker::find_few_nondominated(const Present<Scalar>& set, std::int32_t objectives,
                                   std::uint64_t minimised, bool keep_weakly,
                                   std::uint8_t* nondominated) {
    const Key<Scalar>* keys = keys_of(set, objectives, minimised);
    const auto row = [=](std::int32_t i) { return keys + std::int64_t{i} * objectives; };
    for (std::int32_t i = 0; i < set.count; ++i) {
        bool is_kept = true;
        for (std::int32_t j = 0; is_kept && j < set.count; ++j) {
            const auto found = compare_one_way<0>(row(j), row(i), objectives);
            const bool is_repeat = !keep_weakly && j < i && found.are_equal();
            is_kept = !found.a_dominates() && !is_repeat;
        }
        nondominated[i] = is_kept;
    }
}

template <typename Scalar>
std::int32_t Ranker::rank(const Present<Scalar>& set, std::int32_t objectives,
                          std::uint64_t minimised, std::int32_t* ranks) {
    if (set.count <= kFew) return rank_few(set, objectives, minimised, ranks);
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
    constexpr std::int32_t kMostSampled = 256;
    constexpr int kPivots = 8;
    const std::int32_t sampled = std::min(kMostSampled, set.count / 8);
    survivors_.resize(static_cast<std::size_t>(set.count));
    std::iota(survivors_.begin(), survivors_.end(), 0);
    if (sampled < 2 * kPivots || !fits_lanes(1, objectives)) return;

    std::vector<std::int32_t> sample(static_cast<std::size_t>(sampled));
    for (std::int32_t k = 0; k < sampled; ++k) {
        sample[static_cast<std::size_t>(k)] =
            static_cast<std::int32_t>(std::int64_t{set.count} * k / sampled);
    }
    Present<Scalar> small;
    small.take(set, sample, objectives);
    sorted_.sort(small.values.data(), sampled, objectives, minimised);
    std::array<std::pair<std::int64_t, std::int32_t>, kMostSampled> score;  // low codes are good
    for (std::int32_t k = 0; k < sampled; ++k) {
        const auto d = static_cast<std::size_t>(sorted_.distinct_of[static_cast<std::size_t>(k)]);
        std::int64_t sum = 0;
        for (const std::vector<std::int32_t>& column : sorted_.codes) sum += column[d];
        score[static_cast<std::size_t>(k)] = {sum, sample[static_cast<std::size_t>(k)]};
    }
    std::partial_sort(score.begin(), score.begin() + kPivots, score.begin() + sampled);
    std::array<std::int32_t, kPivots> pivots;
    for (std::size_t p = 0; p < kPivots; ++p) pivots[p] = score[p].second;

    const std::int32_t left =
        kernels().of<Scalar>().drop_dominated(set.values.data(), set.count, objectives, minimised,
                                              pivots.data(), kPivots, survivors_.data());
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
    if (set.count <= kFew) {
        return find_few_nondominated(set, objectives, minimised, keep_weakly, nondominated);
    }
    // Where most points are dominated, a few good ones show it before anything is sorted.
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

template <typename Scalar>
void pareto_rank(Batch<Scalar> batch, std::int32_t* ranks) {
    if (batch.is_empty()) return;
    if (fits_lanes(batch.points, batch.objectives)) {
        return for_each_part(batch, [=](std::int64_t first, std::int64_t end) {
            kernels().of<Scalar>().rank_groups(batch, first, end, ranks);
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
    if (fits_lanes(batch.points, batch.objectives)) {
        return for_each_part(batch, [=](std::int64_t first, std::int64_t end) {
            kernels().of<Scalar>().find_nondominated(batch, first, end, keep_weakly, nondominated);
        });
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
