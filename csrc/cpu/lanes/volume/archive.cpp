// The members of an archive and their sides, kept between additions.
#include "cpu/tuning/archive.hpp"

#include "cpu/lanes/kernels.hpp"
#include "cpu/lanes/volume.hpp"
#include "cpu/lanes/volume/hypervolume.hpp"
#include "cpu/lanes/volume/indexed_rows.hpp"
#include "cpu/lanes/volume/sorted_rows.hpp"

namespace paretopo::cpu::PARETOPO_LANES {
namespace {

// The sides of the members that are better than the reference: sorted while they are few, so that
// volumes are measured in place.
template <int kObjectives>
class Sides {
  public:
    explicit Sides(int objectives)
        : objectives_(objectives), indexed_(objectives, objectives), volume_(objectives) {}

    double gain(const double* side);
    void need_one_more();  // if memory runs out, no side changes
    // Adds a side; first removes those that it covers, if it covers any.
    void add(const double* side, bool covers_any);

  private:
    void index_all();
    double gain_near(const double* side);
    template <typename Value>
    Columns sorted(std::size_t count, const Value& value);

    int objectives_;
    bool is_indexed_ = false;
    GrowingColumns sorted_;  // until they are indexed
    IndexedRows<kObjectives> indexed_;
    Hypervolume volume_;
    GrowingColumns near_;
    Buffer<double> corners_, keys_, columns_;
    Buffer<std::uint32_t> rows_, order_, buckets_;
};

template <int kObjectives>
double Sides<kObjectives>::gain(const double* side) {
    if (is_indexed_) return gain_near(side);
    std::size_t high = 0;
    return volume_.exact_exclusive_of(objectives_, side, sorted_.rows, high);
}

// Measures only the rows near the point. If too many digits cancel, the volume is a sum of slices,
// which depend on all rows.
template <int kObjectives>
double Sides<kObjectives>::gain_near(const double* side) {
    const auto width = static_cast<std::size_t>(objectives_);
    double* scratch = corners_.of(width * kLanes);
    auto* corners = reinterpret_cast<Doubles*>(scratch);
    if (!indexed_.pick(side, corners, near_)) return 0.0;
    const Columns& near = near_.rows;
    // Later rows first, among equal ones: as in the order of sorted rows.
    std::size_t high = 0;
    const Hypervolume::Exclusive gain = volume_.try_exclusive_of(
        objectives_, side,
        sorted(near.count, [&](std::size_t i, int m) { return near[m][near.count - 1 - i]; }),
        high);
    if (gain.is_exact) return gain.volume;
    std::size_t count = indexed_.size();
    std::uint32_t* rows = rows_.of(count);
    indexed_.for_each([&](std::size_t i) { rows[--count] = static_cast<std::uint32_t>(i); });
    high = 0;
    return volume_.exact_exclusive_of(
        objectives_, side,
        sorted(indexed_.size(), [&](std::size_t i, int m) { return indexed_.at(rows[i], m); }),
        high);
}

// The rows in descending order of their last objective.
template <int kObjectives>
template <typename Value>
Columns Sides<kObjectives>::sorted(std::size_t count, const Value& value) {
    double* keys = keys_.of(count + kPadding);
    for (std::size_t i = 0; i < count; ++i) keys[i] = value(i, objectives_ - 1);
    std::uint32_t* order = order_.of(count + kPadding);
    descending(keys, count, order, buckets_);
    Columns rows = columns_in(columns_, objectives_, count);
    for (int m = 0; m < objectives_; ++m) {
        for (std::size_t i = 0; i < count; ++i) rows[m][i] = value(order[i], m);
    }
    rows.count = count;
    rows.close(objectives_);
    return rows;
}

template <int kObjectives>
void Sides<kObjectives>::need_one_more() {
    if (!is_indexed_ && sorted_.rows.count >= kMaxSortedInArchive) index_all();
    if (is_indexed_) {
        indexed_.need_one_more();
    } else {
        sorted_.need_one_more(objectives_);
    }
}

// In the order in which equal ones must have arrived.
template <int kObjectives>
void Sides<kObjectives>::index_all() {
    const Columns& rows = sorted_.rows;
    indexed_.clear();
    for (std::size_t i = rows.count; i-- > 0;) {
        indexed_.need_one_more();
        indexed_.append([&](int m) { return rows[m][i]; });
    }
    is_indexed_ = true;
    sorted_.clear(objectives_);
}

// Out of line: clang 20.1.2 (in zig 0.15.1 and 0.15.2) ends with a segmentation fault in code
// generation for AVX-512 if Archive<4>::add or Archive<5>::add contains remove_covered twice, that
// of the members and that of the sides.
template <int kObjectives>
__attribute__((noinline)) void Sides<kObjectives>::add(const double* side, bool covers_any) {
    if (is_indexed_) {
        if (covers_any) indexed_.remove_covered(side, [](std::size_t) {});
        indexed_.append([side](int m) { return side[m]; });
        return;
    }
    std::size_t high = 0;
    const Doubles key = all(side[objectives_ - 1]);
    for (;;) {  // ends at the zeros after the rows, because sides are positive
        const int reach = count(reaches(load(sorted_.rows[objectives_ - 1] + high), key));
        high += static_cast<std::size_t>(reach);
        if (reach < kLanes) break;
    }
    insert(sorted_.rows, side, objectives_, high);
}

template <int kObjectives>
class Archive final : public ArchiveMembers {
  public:
    explicit Archive(int objectives)
        : objectives_(objectives), members_(objectives, objectives + 1), sides_(objectives) {}

    std::size_t size() const override { return members_.size(); }
    bool covers(const double* point) const override { return members_.covers(point); }
    double gain(const double*, const double* side) override { return sides_.gain(side); }
    void add(const double* point, const double* side, std::int64_t arrival,
             Departures departures) override;
    void copy(double* rows, std::int64_t* arrivals) const override;

  private:
    std::int64_t arrival_of(std::size_t i) const {
        return static_cast<std::int64_t>(members_.at(i, objectives_));
    }

    int objectives_;
    IndexedRows<kObjectives> members_;  // with their arrivals as the last column
    Sides<kObjectives> sides_;
};

template <int kObjectives>
void Archive<kObjectives>::add(const double* point, const double* side, std::int64_t arrival,
                               Departures departures) {
    members_.need_one_more();
    if (side) sides_.need_one_more();
    bool covers_any = false;
    members_.remove_covered(point, [&](std::size_t i) {
        covers_any = true;
        departures.leave(departures.owner, arrival_of(i));
    });
    members_.append(
        [&](int m) { return m < objectives_ ? point[m] : static_cast<double>(arrival); });
    if (side) sides_.add(side, covers_any);
}

template <int kObjectives>
void Archive<kObjectives>::copy(double* rows, std::int64_t* arrivals) const {
    members_.for_each([&](std::size_t i) {
        for (int m = 0; m < objectives_; ++m) *rows++ = members_.at(i, m);
        *arrivals++ = arrival_of(i);
    });
}

ArchiveMembers* make_archive(int objectives) {
    switch (objectives) {
        case 3:
            return new Archive<3>(objectives);
        case 4:
            return new Archive<4>(objectives);
        case 5:
            return new Archive<5>(objectives);
        default:
            return new Archive<0>(objectives);
    }
}

}  // namespace

const ArchiveKernels kArchiveKernels{.make = make_archive};

}  // namespace paretopo::cpu::PARETOPO_LANES
