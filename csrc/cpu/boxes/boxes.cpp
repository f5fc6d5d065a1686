// Box decompositions by local upper bounds (Lacour, Klamroth and Fonseca, 2017).
//
// One objective is swept from its best value to the reference. A point newly dominates, in the
// other objectives, the boxes of the local upper bounds above it, clipped at the point. In the
// swept objective such a box is undominated before the point and dominated from it on. This yields
// the whole dominated region. The rest of the undominated region is the part that no point ever
// dominates in the other objectives: the same task with one objective less.
//
// Values are replaced by their ranks in each objective, with ties in the order of the points,
// because the theory needs general position. Mapped back to values, boxes still neither overlap nor
// leave a gap; boxes without volume are dropped. The points are sorted lexicographically first, so
// that dominated points stay dominated.
#include "cpu/boxes/boxes.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "cpu/runtime/for_each_group.hpp"
#include "cpu/runtime/interrupt.hpp"
#include "cpu/volume/sides.hpp"

namespace paretopo::cpu {
namespace {

// The local upper bounds of the points so far, in some of the objectives: a point is undominated if
// it lies strictly below one of them. Numbers are ranks, smaller is better.
class LocalUpperBounds {
  public:
    // The single bound of an empty set: `corner` in each objective, with a defining row for each.
    void begin(std::size_t width, std::int32_t corner, const std::int32_t* defining) {
        width_ = width;
        columns_.resize(std::max(columns_.size(), width));
        for (std::size_t j = 0; j < width; ++j) columns_[j].assign(1, corner);
        defining_.assign(defining, defining + width);
        count_ = 1;
    }

    std::size_t size() const { return count_; }

    // The bounds that lie strictly above a point.
    const std::vector<std::size_t>& above(const std::int32_t* point) {
        above_.clear();
        std::array<std::int32_t, kBlock> is_above;
        for (std::size_t first = 0; first < count_; first += kBlock) {
            const std::size_t size = std::min(kBlock, count_ - first);
            std::int32_t any = width_ == 0 ? 1 : 0;
            is_above.fill(1);
            for (std::size_t j = 0; j < width_; ++j) {
                const std::int32_t* column = columns_[j].data() + first;
                const std::int32_t own = point[j];
                for (std::size_t i = 0; i < size; ++i) is_above[i] &= own < column[i];
            }
            for (std::size_t i = 0; i < size; ++i) any |= is_above[i];
            for (std::size_t i = 0; any && i < size; ++i) {
                if (is_above[i]) above_.push_back(first + i);
            }
        }
        return above_;
    }

    std::int32_t at(std::size_t bound, std::size_t j) const { return columns_[j][bound]; }
    const std::int32_t* defining(std::size_t bound) const {
        return defining_.data() + bound * width_;
    }

    // Adds a copy of bound `like`, clipped in objective j at the point with index `row`.
    void add(std::size_t like, std::size_t j, std::int32_t corner, std::int32_t row) {
        for (std::size_t k = 0; k < width_; ++k) {
            columns_[k].push_back(k == j ? corner : columns_[k][like]);
            defining_.push_back(k == j ? row : defining_[like * width_ + k]);
        }
        ++count_;
    }

    // Removes the bounds that above() found; the last ones fill the gaps.
    void remove_above() {
        for (std::size_t at = above_.size(); at-- > 0;) {
            const std::size_t gap = above_[at];
            --count_;
            for (std::size_t k = 0; k < width_; ++k) {
                columns_[k][gap] = columns_[k][count_];
                columns_[k].pop_back();
                defining_[gap * width_ + k] = defining_[count_ * width_ + k];
            }
            defining_.resize(count_ * width_);
        }
        above_.clear();
    }

  private:
    static constexpr std::size_t kBlock = 64;

    std::size_t width_ = 0;
    std::size_t count_ = 0;
    std::vector<std::vector<std::int32_t>> columns_;  // per objective, a column of all bounds
    std::vector<std::int32_t> defining_;              // (count, width), rows of points
    std::vector<std::size_t> above_;
};

// Counts the boxes of all groups, and stops all threads when there are too many.
class Allowance {
  public:
    Allowance(std::int64_t most_bytes, std::int32_t objectives)
        : most_(most_bytes / (2 * std::int64_t{sizeof(double)} * objectives)) {}

    void take(std::int64_t boxes) {
        if (taken_.fetch_add(boxes, std::memory_order_relaxed) + boxes > most_) {
            throw TooManyBoxes{};
        }
    }
    // Also limits rows that are not boxes but take at most as much memory each.
    void check(std::size_t rows) const {
        if (static_cast<std::int64_t>(rows) > most_) throw TooManyBoxes{};
    }

  private:
    std::int64_t most_;
    std::atomic<std::int64_t> taken_{0};
};

template <typename Scalar>
class GroupBoxes {
  public:
    GroupBoxes(Batch<Scalar> batch, References ref, Region region, std::vector<Boxes>* boxes,
               Allowance* allowance, FirstRefused* refused)
        : batch_(batch),
          ref_(ref),
          region_(region),
          boxes_(boxes),
          allowance_(allowance),
          refused_(refused),
          width_(static_cast<std::size_t>(batch.objectives)) {
        for (std::int32_t m = 0; m < batch.objectives; ++m) {
            signs_.push_back(batch.is_minimised(m) ? -1.0 : 1.0);
        }
    }

    void operator()(std::int64_t g) {
        if (refused_->note(batch_, g, take(g))) return;
        out_ = &(*boxes_)[static_cast<std::size_t>(g)];
        worse_.resize(width_);
        better_.resize(width_);
        for (std::size_t m = 0; m < width_; ++m) unbound(m);
        if (count_ == 0) {
            if (region_ == Region::kNondominated) emit();
            return;
        }
        order();
        // The rest of the undominated region is unbounded in the objectives swept so far.
        const std::size_t sweeps = region_ == Region::kNondominated ? width_ : 1;
        for (std::size_t swept = 0; swept < sweeps; ++swept) {
            sweep(swept);
            unbound(swept);
        }
    }

  private:
    // The points that are better than the reference in every objective, oriented.
    std::int64_t take(std::int64_t g) {
        const Scalar* group = batch_.group(g);
        const std::uint8_t* mask = batch_.group_mask(g);
        const double* ref = ref_.of(g, batch_.objectives);
        corner_.resize(width_);
        for (std::size_t m = 0; m < width_; ++m) corner_[m] = signs_[m] * ref[m];
        values_.clear();
        for (std::int32_t i = 0; i < batch_.points; ++i) {
            if (mask && mask[i] == 0) continue;
            bool is_inside = true;
            const std::int64_t first = std::int64_t{i} * batch_.objectives;
            for (std::size_t m = 0; m < width_; ++m) {
                const std::int64_t at = first + static_cast<std::int64_t>(m);
                const double value = signs_[m] * static_cast<double>(group[at]);
                if (!(value <= kLargestSide)) return at;
                is_inside = is_inside && value > corner_[m];
                values_.push_back(value);
            }
            if (!is_inside) values_.resize(values_.size() - width_);
        }
        count_ = values_.size() / width_;
        // The data of each point, and of the reference in each objective, has to fit, too.
        allowance_->check(count_ + width_);
        return kNoneRefused;
    }

    // Fills `sorted_`, `rows_` and `places_`.
    void order() {
        rows_.resize(width_ * count_);
        sorted_.resize(width_ * (count_ + 1));
        places_.resize((count_ + width_) * width_);
        unsorted_ = values_;
        std::int32_t* first = rows_.data();
        std::iota(first, first + count_, 0);
        std::sort(first, first + count_, [&](std::int32_t a, std::int32_t b) {
            const double* one = unsorted_.data() + static_cast<std::size_t>(a) * width_;
            const double* other = unsorted_.data() + static_cast<std::size_t>(b) * width_;
            for (std::size_t m = 0; m < width_; ++m) {
                if (one[m] != other[m]) return one[m] > other[m];
            }
            return a < b;
        });
        for (std::size_t i = 0; i < count_; ++i) {
            std::copy_n(unsorted_.data() + static_cast<std::size_t>(first[i]) * width_, width_,
                        values_.data() + i * width_);
        }
        for (std::size_t m = 0; m < width_; ++m) {
            std::int32_t* rows = rows_.data() + m * count_;
            std::iota(rows, rows + count_, 0);
            const auto value = [&, m](std::int32_t row) {
                return values_[static_cast<std::size_t>(row) * width_ + m];
            };
            if (m > 0) {
                std::sort(rows, rows + count_, [&](std::int32_t a, std::int32_t b) {
                    return value(a) != value(b) ? value(a) > value(b) : a < b;
                });
            }
            double* sorted = sorted_.data() + m * (count_ + 1);
            for (std::size_t place = 0; place < count_; ++place) {
                sorted[place] = value(rows[place]);
                places_[static_cast<std::size_t>(rows[place]) * width_ + m] =
                    static_cast<std::int32_t>(place);
            }
            sorted[count_] = corner_[m];
        }
        // One row for each objective, for bounds that only the reference defines.
        for (std::size_t k = 0; k < width_; ++k) {
            for (std::size_t m = 0; m < width_; ++m) {
                places_[(count_ + k) * width_ + m] =
                    k == m ? static_cast<std::int32_t>(count_) : -1;
            }
        }
    }

    const std::int32_t* places(std::int32_t row) const {
        return places_.data() + static_cast<std::size_t>(row) * width_;
    }
    double value(std::size_t m, std::int32_t place) const {
        return sorted_[m * (count_ + 1) + static_cast<std::size_t>(place)];
    }

    // Extends the current box from the reference to infinity.
    void unbound(std::size_t m) {
        worse_[m] = corner_[m];
        better_[m] = std::numeric_limits<double>::infinity();
    }

    void sweep(std::size_t swept) {
        unbound(swept);
        const std::size_t first = swept + 1;
        const std::size_t others = width_ - first;
        defining_.resize(others);
        std::iota(defining_.begin(), defining_.end(), static_cast<std::int32_t>(count_ + first));
        bounds_.begin(others, static_cast<std::int32_t>(count_), defining_.data());
        for (std::size_t place = 0; place < count_ && bounds_.size() > 0; ++place) {
            if (bounds_.size() > kMany) {
                check_interrupt();
            } else {
                poller_.step();
            }
            const std::int32_t row = rows_[swept * count_ + place];
            const std::int32_t* point = places(row) + first;
            const auto& above = bounds_.above(point);
            if (above.empty()) continue;
            const double reached = value(swept, static_cast<std::int32_t>(place));
            if (region_ == Region::kNondominated) {
                worse_[swept] = reached;
            } else {
                better_[swept] = reached;
            }
            for (const std::size_t bound : above) {
                dominate(bound, row, first, others);
            }
            bounds_.remove_above();
            allowance_->check(bounds_.size());
        }
    }

    // Emits the box of a bound, clipped at the point below it, and adds the bounds that replace it.
    void dominate(std::size_t bound, std::int32_t row, std::size_t first, std::size_t others) {
        const std::int32_t* point = places(row) + first;
        bool has_volume = true;
        for (std::size_t j = 0; j < others; ++j) {
            poller_.step();
            const std::int32_t* defining = bounds_.defining(bound);
            std::int32_t before = -1;
            std::int32_t after = -1;
            for (std::size_t k = 0; k < j; ++k) {
                before = std::max(before, places(defining[k])[first + j]);
            }
            for (std::size_t k = j + 1; k < others; ++k) {
                after = std::max(after, places(defining[k])[first + j]);
            }
            const std::size_t m = first + j;
            better_[m] = value(m, std::max(point[j], before));
            worse_[m] = value(m, bounds_.at(bound, j));
            has_volume = has_volume && better_[m] > worse_[m];
            if (point[j] > std::max(before, after)) bounds_.add(bound, j, point[j], row);
        }
        if (has_volume) emit();
    }

    void emit() {
        allowance_->take(1);
        for (std::size_t m = 0; m < width_; ++m) {
            const bool is_turned = signs_[m] < 0.0;
            out_->lower.push_back(is_turned ? -better_[m] : worse_[m]);
            out_->upper.push_back(is_turned ? -worse_[m] : better_[m]);
        }
    }

    static constexpr std::size_t kMany = 512;  // bounds; from here on, polling costs nothing

    Batch<Scalar> batch_;
    References ref_;
    Region region_;
    std::vector<Boxes>* boxes_;
    Allowance* allowance_;
    FirstRefused* refused_;
    Boxes* out_ = nullptr;  // of the current group
    std::size_t width_;
    std::size_t count_ = 0;
    std::vector<double> signs_, corner_;     // (objectives,)
    std::vector<double> worse_, better_;     // (objectives,), the corners of the current box
    std::vector<double> values_, unsorted_;  // (count, objectives), oriented
    std::vector<double> sorted_;             // (objectives, count + 1), best first, then the ref
    std::vector<std::int32_t> rows_;         // (objectives, count), best first
    std::vector<std::int32_t> places_;       // (count + objectives, objectives)
    std::vector<std::int32_t> defining_;
    LocalUpperBounds bounds_;
    Poller poller_;
};

}  // namespace

template <typename Scalar>
std::int64_t find_boxes(Batch<Scalar> batch, References ref, Region region, std::int64_t most_bytes,
                        std::vector<Boxes>& boxes) {
    if (batch.groups > most_bytes / std::int64_t{sizeof(Boxes)}) throw TooManyBoxes{};
    boxes.assign(static_cast<std::size_t>(batch.groups), {});
    FirstRefused refused;
    Allowance allowance(most_bytes, batch.objectives);
    const double n = batch.points;
    const double cost = 200.0 + 50.0 * n * batch.objectives * std::max(1.0, n / 32.0);
    for_each_group(batch.groups, cost,
                   GroupBoxes<Scalar>(batch, ref, region, &boxes, &allowance, &refused));
    return refused.index();
}

std::int64_t padded_boxes(const std::vector<Boxes>& boxes, std::int32_t objectives,
                          std::int64_t most_bytes) {
    std::size_t most = 0;
    for (const Boxes& each : boxes) most = std::max(most, each.lower.size());
    const double bytes =
        2.0 * sizeof(double) * static_cast<double>(boxes.size()) * static_cast<double>(most);
    if (bytes > static_cast<double>(most_bytes)) throw TooManyBoxes{};
    return static_cast<std::int64_t>(most) / objectives;
}

void write_boxes(std::vector<Boxes>& boxes, References ref, std::int64_t padded,
                 std::int32_t objectives, double* lower, double* upper, std::int64_t* counts) {
    const std::int64_t row = padded * objectives;
    const auto write = [=, &boxes](std::int64_t g) {
        const Boxes own = std::exchange(boxes[static_cast<std::size_t>(g)], {});
        const double* corner = ref.of(g, objectives);
        const auto filled = static_cast<std::int64_t>(own.lower.size());
        counts[g] = filled / objectives;
        std::copy(own.lower.begin(), own.lower.end(), lower + g * row);
        std::copy(own.upper.begin(), own.upper.end(), upper + g * row);
        for (std::int64_t at = filled; at < row; ++at) {
            lower[g * row + at] = upper[g * row + at] = corner[at % objectives];
        }
    };
    for_each_group(static_cast<std::int64_t>(boxes.size()), static_cast<double>(row), write);
}

template std::int64_t find_boxes(Batch<float>, References, Region, std::int64_t,
                                 std::vector<Boxes>&);
template std::int64_t find_boxes(Batch<double>, References, Region, std::int64_t,
                                 std::vector<Boxes>&);

}  // namespace paretopo::cpu
