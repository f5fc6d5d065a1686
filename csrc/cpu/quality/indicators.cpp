// Every indicator here is one pass: the least gap from each row of one set to any row of another,
// then the mean or the maximum of these gaps. R2 with all weights of two objectives has a closed
// form.
#include "cpu/quality/indicators.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "cpu/lanes/isa.hpp"
#include "cpu/lanes/quality.hpp"
#include "cpu/runtime/for_each_group.hpp"
#include "cpu/runtime/interrupt.hpp"
#include "cpu/volume/sides.hpp"

namespace paretopo::cpu {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kRowsAtATime = 256;  // compared by one thread at a time
constexpr std::size_t kFirstBlock = 16;     // rows to compare with before finished rows are dropped
constexpr std::size_t kBlock = 1024;        // rows to compare with before the next poll
constexpr int kSafe = 400;                  // powers of two whose squares stay in range
constexpr int kFine = 450;  // the difference of smaller values may have a square that vanishes
constexpr double kSure = 0x1p-900;   // squares from here on are exact enough
constexpr double kWide = 0x1p960;    // sums of such large gaps may overflow
constexpr int kDown = 64;            // exponent by which such gaps are scaled down
constexpr std::int64_t kNoSet = -1;  // no set is loaded
static_assert(kRowsAtATime % kMaxRowsAtOnce == 0);

// Squares and square roots have the same bits on every machine; other powers depend on the C
// library.
double raise(double base, double exponent) {
    if (exponent == 2.0) return base * base;
    if (exponent == 0.5) return std::sqrt(base);
    return std::pow(base, exponent);
}

// The transformation of a value.
enum class Form {
    kOriented,  // smaller is better
    kBeyond,    // the excess over the ideal
    kPart,      // of a ratio: the value, or its inverse if larger is better
    kInverse    // the inverse of kPart
};

// The values that a form accepts: finite ones; for a ratio only positive normal ones, because the
// inverse of a smaller one would overflow. Tests bits without a branch: the highest bit is the
// answer.
class Limits {
  public:
    explicit Limits(Form form) {
        if (form != Form::kPart && form != Form::kInverse) return;
        kept_ = ~std::uint64_t{0};
        least_ = std::bit_cast<std::uint64_t>(std::numeric_limits<double>::min());
    }

    std::uint64_t outside(double value) const {
        const std::uint64_t bits = std::bit_cast<std::uint64_t>(value) & kept_;
        return (bits - least_) | (kMax - bits);
    }
    static bool are_taken(std::uint64_t outside) { return (outside & kSign) == 0; }

  private:
    static constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
    static constexpr std::uint64_t kMax =
        std::bit_cast<std::uint64_t>(std::numeric_limits<double>::max());

    std::uint64_t kept_ = ~kSign;
    std::uint64_t least_ = 0;
};

// The source of rows: one side of a comparison.
struct Source {
    const AnyBatch* sets = nullptr;
    const std::int64_t* of_group = nullptr;
    Form form = Form::kOriented;
    bool is_turned = false;  // with opposite signs: larger is better
    const References* ideal = nullptr;

    std::int64_t set_of(std::int64_t g) const {
        if (of_group) return of_group[g];
        return count() == 1 ? 0 : g;
    }
    std::int64_t count() const {
        return std::visit([](const auto& batch) { return batch.groups; }, *sets);
    }
    std::int32_t points() const {
        return std::visit([](const auto& batch) { return batch.points; }, *sets);
    }
    std::int32_t objectives() const {
        return std::visit([](const auto& batch) { return batch.objectives; }, *sets);
    }
};

// The present points first..end of one set, as doubles, in rows or in columns of `stride`.
struct Rows {
    std::vector<double> values;
    std::size_t count = 0;
    std::size_t stride = 0;  // 0: in rows

    // Reads the points; false if a value is refused.
    bool take(const Source& source, std::int64_t set, std::int32_t first, std::int32_t end,
              FirstRefused& refused) {
        return std::visit(
            [&](const auto& batch) {
                const bool is_fine = take_from(batch, source, set, first, end);
                return is_fine ||
                       !refused.note(batch, set, find_refused(batch, source, set, first, end));
            },
            *source.sets);
    }

  private:
    // Reads the values; false if a present value is refused.
    template <typename Scalar>
    bool take_from(const Batch<Scalar>& batch, const Source& source, std::int64_t set,
                   std::int32_t first, std::int32_t end) {
        const Scalar* group = batch.group(set);
        const std::uint8_t* mask = batch.group_mask(set);
        const auto width = static_cast<std::size_t>(batch.objectives);
        const double* ideal = source.ideal ? source.ideal->of(set, batch.objectives) : nullptr;
        const auto most = static_cast<std::size_t>(end - first);
        // Rows whose objectives all have one sense are handled as one objective of more points.
        const std::uint64_t all = ~std::uint64_t{0};
        const bool is_alike =
            !mask && !ideal && stride == 0 &&
            (batch.minimised == 0 || (width <= 64 && batch.minimised == all >> (64 - width)));
        const std::size_t columns = is_alike ? 1 : width;
        const std::size_t rows = is_alike ? most * width : most;
        const std::size_t step = stride > 0 ? 1 : columns;
        const std::size_t across = stride > 0 ? stride : 1;
        values.assign((stride > 0 ? stride : most) * width, 0.0);
        count = 0;
        if (most == 0) return true;
        std::size_t kept = 0;
        const Limits limits(source.form);
        std::uint64_t outside = 0;
        for (std::size_t m = 0; m < columns; ++m) {
            const bool is_minimised = batch.is_minimised(static_cast<int>(m));
            const double sign = is_minimised != source.is_turned ? 1.0 : -1.0;
            const bool is_inverted = is_minimised == (source.form == Form::kInverse);
            const double corner = ideal ? sign * ideal[m] : 0.0;
            const Scalar* from = group + static_cast<std::size_t>(first) * width + m;
            double* to = values.data() + m * across;
            const auto fill = [&](const auto& form) {
                if (!mask) {
                    kept = most;
                    const auto take_all = [&](auto from_step, auto to_step) {
                        for (std::size_t i = 0; i < rows; ++i) {
                            const double value = static_cast<double>(from[i * from_step]);
                            outside |= limits.outside(value);
                            to[i * to_step] = form(value);
                        }
                    };
                    // A constant step of 1 lets the compiler vectorise.
                    constexpr std::integral_constant<std::size_t, 1> one;
                    is_alike ? take_all(one, one) : take_all(columns, step);
                    return;
                }
                kept = 0;
                for (std::size_t i = 0; i < most; ++i) {
                    if (mask[static_cast<std::size_t>(first) + i] == 0) continue;
                    const double value = static_cast<double>(from[i * width]);
                    outside |= limits.outside(value);
                    to[kept++ * step] = form(value);
                }
            };
            if (source.form == Form::kOriented) {
                fill([=](double value) { return sign * value; });
            } else if (source.form == Form::kBeyond) {  // better than the ideal counts as equal
                fill([=](double value) { return std::max(sign * value - corner, 0.0); });
            } else if (is_inverted) {
                fill([](double value) { return 1.0 / value; });
            } else {
                fill([](double value) { return value; });
            }
        }
        count = kept;
        return Limits::are_taken(outside);
    }

    template <typename Scalar>
    std::int64_t find_refused(const Batch<Scalar>& batch, const Source& source, std::int64_t set,
                              std::int32_t first, std::int32_t end) {
        const Scalar* group = batch.group(set);
        const std::uint8_t* mask = batch.group_mask(set);
        const Limits limits(source.form);
        for (std::int64_t i = first; i < end; ++i) {
            if (mask && mask[i] == 0) continue;
            for (std::int64_t at = i * batch.objectives; at < (i + 1) * batch.objectives; ++at) {
                const auto value = static_cast<double>(group[at]);
                if (!Limits::are_taken(limits.outside(value))) return at;
            }
        }
        return std::int64_t{first} * batch.objectives;  // another thread has since changed it
    }
};

// The magnitudes of finite values, by their bits: the largest, and the smallest that is not 0.
struct Magnitudes {
    std::uint64_t largest = 0;
    std::uint64_t least = ~std::uint64_t{0};  // minus one

    Magnitudes() = default;
    explicit Magnitudes(const std::vector<double>& values) {
        for (const double value : values) {
            const std::uint64_t bits = std::bit_cast<std::uint64_t>(value) << 1 >> 1;
            largest = std::max(largest, bits);
            least = std::min(least, bits - 1);
        }
    }

    bool are_zero() const { return largest == 0; }
    int largest_power() const { return std::ilogb(std::bit_cast<double>(largest)); }
    int least_power() const { return std::ilogb(std::bit_cast<double>(least + 1)); }
};

Magnitudes of_both(const Magnitudes& one, const Magnitudes& other) {
    Magnitudes both = one;
    both.largest = std::max(one.largest, other.largest);
    both.least = std::min(one.least, other.least);
    return both;
}

// The sum of the least gaps of some rows.
struct Share {
    std::size_t count = 0;
    double largest = -kInfinity;
    double sum = 0.0;  // of the gaps, or of the powers of their ratios to the largest
    int down = 0;      // the gaps are scaled down by this power of two
};

struct Comparison {
    Source from, to;
    Gap gap;
    double p;  // of the mean over `from`; infinite: the maximum
};

bool is_squared(Gap gap) { return gap == Gap::kDistance || gap == Gap::kShortfall; }

// The number of chunks of rows of a group.
std::int64_t chunks_of(const Comparison& how) {
    return std::max<std::int64_t>(1, (how.from.points() + kRowsAtATime - 1) / kRowsAtATime);
}

// A chunk: its group and its rows.
struct Chunk {
    std::int64_t group;
    std::int32_t first, end;
};

Chunk chunk_of(const Comparison& how, std::int64_t part) {
    const std::int64_t first = part % chunks_of(how) * kRowsAtATime;
    const auto end = std::min<std::int64_t>(first + kRowsAtATime, how.from.points());
    return {part / chunks_of(how), static_cast<std::int32_t>(first),
            static_cast<std::int32_t>(end)};
}

std::size_t stride_of(std::size_t columns) {
    return (columns + kMaxRowsAtOnce - 1) / kMaxRowsAtOnce * kMaxRowsAtOnce;
}

// Scratch of one thread.
class Compare {
  public:
    Compare(const Comparison* how, Share* shares, FirstRefused* refused_from,
            FirstRefused* refused_to)
        : how_(how), shares_(shares), refused_from_(refused_from), refused_to_(refused_to) {}

    void operator()(std::int64_t part) {
        const auto [g, first, end] = chunk_of(*how_, part);
        if (const std::int64_t set = how_->to.set_of(g); set != held_) {
            held_ = kNoSet;
            if (!to_.take(how_->to, set, 0, how_->to.points(), *refused_to_)) return;
            if (is_squared(how_->gap)) of_to_ = Magnitudes(to_.values);
            held_ = set;
        }
        from_.stride = stride_of(static_cast<std::size_t>(end - first));
        if (!from_.take(how_->from, how_->from.set_of(g), first, end, *refused_from_)) return;
        choose_scale();
        if (is_unsure_) {
            unscaled_ = from_.values;
            apart_.resize(static_cast<std::size_t>(how_->to.objectives()));
        }
        if (power_ != 0) {
            for (double& value : from_.values) value = std::ldexp(value, -power_);
        }
        pass_rows();
        Share& own = shares_[part];
        own.count = from_.count;
        if (own.count == 0) return;
        own.largest = measure(0);
        if (own.largest > kWide) own.largest = measure(own.down = kDown);
        add_up(own);
    }

  private:
    // power_: the exponent that values are divided by, so that no square overflows. is_unsure_:
    // whether a square may then underflow.
    void choose_scale() {
        power_ = 0;
        is_unsure_ = false;
        if (!is_squared(how_->gap)) return;
        const Magnitudes both = of_both(Magnitudes(from_.values), of_to_);
        if (both.are_zero()) return;
        const int power = both.largest_power();
        if (power > kSafe || power < -kSafe) power_ = power;
        is_unsure_ = both.least_power() - power_ < -kFine;
    }

    // Drops rows as soon as their gap is 0.
    void pass_rows() {
        const auto width = static_cast<std::size_t>(how_->to.objectives());
        const double* rows = to_.values.data();
        if (power_ != 0) {
            scaled_.assign(rows, rows + to_.count * width);
            for (double& value : scaled_) value = std::ldexp(value, -power_);
            rows = scaled_.data();
        }
        nearest_.assign(from_.stride, kInfinity);
        left_ = from_.count;
        const auto meet = [&](std::size_t columns, std::size_t first, std::size_t end) {
            const TwoSets sets{from_.values.data(),  from_.stride, columns,
                               rows + first * width, end - first,  how_->to.objectives()};
            kernels().indicators.find_nearest(how_->gap, sets, nearest_.data());
        };
        std::size_t block = kFirstBlock;
        for (std::size_t first = 0; first < to_.count && left_ > 0;) {
            if (first > 0) check_interrupt();
            const std::size_t end = std::min(first + block, to_.count);
            meet(left_, first, end);
            if (!is_unsure_) leave(width);
            first = end;
            block = std::min(2 * block, kBlock);
        }
    }

    void leave(std::size_t width) {
        staying_.clear();
        for (std::size_t i = 0; i < left_; ++i) {
            if (nearest_[i] > 0.0) staying_.push_back(i);
        }
        if (staying_.size() == left_) return;
        left_ = staying_.size();
        for (std::size_t i = 0; i < left_; ++i) nearest_[i] = nearest_[staying_[i]];
        for (std::size_t m = 0; m < width; ++m) {
            double* column = from_.values.data() + m * from_.stride;
            for (std::size_t i = 0; i < left_; ++i) column[i] = column[staying_[i]];
        }
    }

    // gaps_: of the remaining rows, scaled down by a power of two; dropped rows have gap 0. Returns
    // the largest.
    double measure(int down) {
        gaps_.resize(left_);
        double largest = 0.0;
        for (std::size_t i = 0; i < left_; ++i) {
            gaps_[i] = gap_of(i, down);
            largest = std::max(largest, gaps_[i]);
        }
        return largest;
    }

    double gap_of(std::size_t i, int down) {
        const double found = nearest_[i];
        if (!is_squared(how_->gap)) return down == 0 ? found : std::ldexp(found, -down);
        if (is_unsure_ && !(found >= kSure)) return find_exactly(i, down);
        return std::ldexp(std::sqrt(found), power_ - down);
    }

    // The least length of a row's gaps, each measured at its own scale.
    double find_exactly(std::size_t i, int down) {
        const auto width = static_cast<std::size_t>(how_->to.objectives());
        const double scale = std::ldexp(1.0, -down);
        double best = kInfinity;
        for (std::size_t j = 0; j < to_.count && best > 0.0; ++j) {
            poller_.step();
            double widest = 0.0;
            for (std::size_t m = 0; m < width; ++m) {
                const double x = unscaled_[m * from_.stride + i] * scale;
                const double y = to_.values[j * width + m] * scale;
                apart_[m] = how_->gap == Gap::kDistance ? x - y : std::max(y - x, 0.0);
                widest = std::max(widest, std::fabs(apart_[m]));
            }
            if (widest < best) best = std::min(best, length(widest));
        }
        return best;
    }

    double length(double widest) const {
        if (widest == 0.0) return 0.0;
        int power = std::ilogb(widest);
        if (power <= kSafe && power >= -kSafe) power = 0;
        double sum = 0.0;
        for (const double gap : apart_) {
            const double part = std::ldexp(gap, -power);
            sum += part * part;
        }
        return std::ldexp(std::sqrt(sum), power);
    }

    void add_up(Share& own) const {
        if (how_->p == 1.0) {
            for (std::size_t i = 0; i < left_; ++i) own.sum += gaps_[i];
        } else if (!std::isinf(how_->p) && own.largest > 0.0 && own.largest < kInfinity) {
            for (std::size_t i = 0; i < left_; ++i) {
                own.sum += raise(gaps_[i] / own.largest, how_->p);
            }
        }
    }

    const Comparison* how_;
    Share* shares_;
    FirstRefused* refused_from_;
    FirstRefused* refused_to_;
    Rows from_, to_;
    std::int64_t held_ = kNoSet;  // the set that `to_` holds
    Magnitudes of_to_;
    int power_ = 0;
    bool is_unsure_ = false;
    std::vector<double> unscaled_, scaled_, nearest_, gaps_, apart_;
    Poller poller_;
    std::vector<std::size_t> staying_;
    std::size_t left_ = 0;  // rows not yet dropped
};

// Scratch of one thread for the case that only the largest gap is needed, and it is no square.
class FindFarthest {
  public:
    FindFarthest(const Comparison* how, Share* shares, FirstRefused* refused_from,
                 FirstRefused* refused_to)
        : how_(how), shares_(shares), refused_from_(refused_from), refused_to_(refused_to) {}

    void operator()(std::int64_t part) {
        const auto [g, first, end] = chunk_of(*how_, part);
        if (g != group_) {
            group_ = g;
            enough_ = -kInfinity;
        }
        if (const std::int64_t set = how_->to.set_of(g); set != held_) {
            held_ = kNoSet;
            to_.stride = stride_of(static_cast<std::size_t>(how_->to.points()));
            if (!to_.take(how_->to, set, 0, how_->to.points(), *refused_to_)) return;
            repeat_first();
            held_ = set;
        }
        if (!from_.take(how_->from, how_->from.set_of(g), first, end, *refused_from_)) return;
        if (from_.count > 0) {
            const TwoSets sets{to_.values.data(),   to_.stride,  to_.count,
                               from_.values.data(), from_.count, how_->to.objectives()};
            enough_ = to_.count > 0 ? kernels().indicators.find_farthest(how_->gap, sets, enough_)
                                    : kInfinity;
        }
        shares_[part] = {from_.count, enough_, 0.0, 0};
    }

  private:
    // Fills the unused columns with copies of the first row, so that they are no nearer than
    // others.
    void repeat_first() {
        if (to_.count == 0) return;
        for (std::size_t at = 0; at < to_.values.size(); at += to_.stride) {
            double* column = to_.values.data() + at;
            std::fill(column + to_.count, column + to_.stride, column[0]);
        }
    }

    const Comparison* how_;
    Share* shares_;
    FirstRefused* refused_from_;
    FirstRefused* refused_to_;
    Rows from_, to_;
    std::int64_t held_ = kNoSet;   // the set that `to_` holds
    std::int64_t group_ = kNoSet;  // the current group
    double enough_ = 0.0;          // rows nearer than this cannot be the farthest
};

// The mean or the maximum of all shares, added in their order, so that the result does not depend
// on the number of threads.
double mean_of(const Share* shares, std::int64_t count, double p) {
    Share all;
    for (std::int64_t c = 0; c < count; ++c) all.down = std::max(all.down, shares[c].down);
    const auto held = [&all](double gap, const Share& share) {
        return share.down == all.down ? gap : std::ldexp(gap, share.down - all.down);
    };
    for (std::int64_t c = 0; c < count; ++c) {
        all.count += shares[c].count;
        all.largest = std::max(all.largest, held(shares[c].largest, shares[c]));
    }
    if (all.count == 0) return std::numeric_limits<double>::quiet_NaN();
    const auto rows = static_cast<double>(all.count);
    double mean = all.largest;
    if (p == 1.0) {
        for (std::int64_t c = 0; c < count; ++c) all.sum += held(shares[c].sum, shares[c]);
        mean = all.sum / rows;
    } else if (!std::isinf(p) && all.largest > 0.0 && !std::isinf(all.largest)) {
        for (std::int64_t c = 0; c < count; ++c) {
            if (shares[c].count > 0) {
                const double largest = held(shares[c].largest, shares[c]);
                all.sum += shares[c].sum * raise(largest / all.largest, p);
            }
        }
        mean = all.largest * raise(all.sum / rows, 1.0 / p);
    }
    return std::ldexp(mean, all.down);
}

void compare(const Comparison& how, std::int64_t groups, FirstRefused& refused_from,
             FirstRefused& refused_to, double* values) {
    const std::int64_t chunks = chunks_of(how);
    std::vector<Share> shares(static_cast<std::size_t>(groups * chunks));
    const double rows =
        static_cast<double>(std::min<std::int64_t>(kRowsAtATime, how.from.points()));
    const double cost = 100.0 + 0.2 * rows * how.to.points() * how.from.objectives();
    if (std::isinf(how.p) && !is_squared(how.gap)) {
        const FindFarthest work(&how, shares.data(), &refused_from, &refused_to);
        for_each_group(groups * chunks, cost, work);
    } else {
        const Compare work(&how, shares.data(), &refused_from, &refused_to);
        for_each_group(groups * chunks, cost, work);
    }
    for (std::int64_t g = 0; g < groups; ++g) {
        values[g] = mean_of(shares.data() + g * chunks, chunks, how.p);
    }
}

Gap gap_of(Indicator which) {
    switch (which) {
        case Indicator::kGdPlus:
        case Indicator::kIgdPlus:
            return Gap::kShortfall;
        case Indicator::kEpsilonAdditive:
            return Gap::kExcess;
        case Indicator::kEpsilonMult:
            return Gap::kProduct;
        default:
            return Gap::kDistance;
    }
}

}  // namespace

PairedRefusal indicator(const SetsOfGroups& points, const SetsOfGroups& target, std::int64_t groups,
                        Indicator which, double p, double* values) {
    FirstRefused refused_point;
    FirstRefused refused_target;
    const Gap gap = gap_of(which);
    const bool is_ratio = which == Indicator::kEpsilonMult;
    const bool is_epsilon = is_ratio || which == Indicator::kEpsilonAdditive;
    const auto source = [&](const SetsOfGroups& given, Form part) {
        return Source{&given.sets, given.of_group, is_ratio ? part : Form::kOriented, false,
                      nullptr};
    };
    const auto from_points = [&] {
        Comparison how{source(points, Form::kPart), source(target, Form::kPart), gap, p};
        // The target's distance below a point equals the point's distance above it.
        how.from.is_turned = how.to.is_turned = true;
        compare(how, groups, refused_point, refused_target, values);
    };
    const auto from_target = [&](double* to) {
        const Comparison how{source(target, Form::kInverse), source(points, Form::kPart), gap,
                             is_epsilon ? kInfinity : p};
        compare(how, groups, refused_target, refused_point, to);
    };
    if (which == Indicator::kGd || which == Indicator::kGdPlus) {
        from_points();
    } else {
        from_target(values);
    }
    if (which == Indicator::kAvgHausdorffDist) {
        std::vector<double> inverted(values, values + groups);
        from_points();
        for (std::int64_t g = 0; g < groups; ++g) {
            // Without points one is NaN and the other infinite.
            values[g] = std::fmax(values[g], inverted[static_cast<std::size_t>(g)]);
        }
    }
    return {refused_point.index(), refused_target.index()};
}

namespace {

// The integral over all weights (w, 1 - w) of the least max(w u, (1 - w) v). A ray from the ideal
// in direction (1 / w, 1 / (1 - w)) intersects the staircase of the gaps (u, v), sorted by u. It
// hits the horizontal part of a step, at (1 - w) v, or the vertical part, at w u.
double integrate_weights(std::vector<std::pair<double, double>>& gaps) {
    if (gaps.empty()) return kInfinity;
    Poller poller;
    std::sort(gaps.begin(), gaps.end(), [&poller](const auto& one, const auto& other) {
        poller.step();
        return one < other;
    });
    const auto weight_at = [](double u, double v) {
        // v / (u + v), without a sum that could overflow.
        return v > u ? 1.0 / (1.0 + u / v) : u > 0.0 ? (v / u) / (1.0 + v / u) : 0.5;
    };
    double total = 0.0;
    double before = kInfinity;  // v of the previous step
    for (std::size_t i = 0; i < gaps.size(); ++i) {
        const auto [u, v] = gaps[i];
        if (!(v < before)) continue;
        if (u == 0.0 && v == 0.0) return 0.0;
        std::size_t next = i + 1;
        while (next < gaps.size() && !(gaps[next].second < v)) ++next;
        const double corner = weight_at(u, v);
        const double up = before == kInfinity ? 1.0 : weight_at(u, before);
        const double level = next == gaps.size() ? 0.0 : weight_at(gaps[next].first, v);
        total += u * (0.5 * (up - corner) * (up + corner));
        total += v * (0.5 * (corner - level) * (2.0 - corner - level));
        before = v;
    }
    return total;
}

}  // namespace

std::int64_t r2(const AnyBatch& points, References ideal, const double* weights,
                std::int64_t weight_count, double* values) {
    FirstRefused refused;
    const Source gaps{&points, nullptr, Form::kBeyond, false, &ideal};
    const std::int64_t groups = gaps.count();
    if (weights) {
        FirstRefused refused_weight;  // never set: Python has checked the weights
        const AnyBatch rows = Batch<double>{
            weights, nullptr, 1, static_cast<std::int32_t>(weight_count), gaps.objectives(), 0};
        const Source vectors{&rows, nullptr, Form::kOriented, true, nullptr};
        compare({vectors, gaps, Gap::kProduct, 1.0}, groups, refused_weight, refused, values);
        return refused.index();
    }
    const auto work = [&gaps, &refused, values, rows = Rows(),
                       pairs = std::vector<std::pair<double, double>>()](std::int64_t g) mutable {
        if (!rows.take(gaps, g, 0, gaps.points(), refused)) return;
        pairs.clear();
        for_each_item(rows.count, [&](std::size_t i) {
            pairs.emplace_back(rows.values[2 * i], rows.values[2 * i + 1]);
        });
        values[g] = integrate_weights(pairs);
    };
    for_each_group(groups, 50.0 + 30.0 * gaps.points(), work);
    return refused.index();
}

}  // namespace paretopo::cpu
