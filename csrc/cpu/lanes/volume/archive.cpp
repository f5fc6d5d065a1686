// The members of an archive and their sides, kept between additions.
#include "cpu/lanes/kernels.hpp"
#include "cpu/lanes/volume/hypervolume.hpp"
#include "cpu/lanes/volume/sorted_rows.hpp"

namespace paretopo::cpu::PARETOPO_LANES {
namespace {

PARETOPO_INLINE Mask rows_from(std::size_t i, std::size_t count) {
    const std::size_t left = count - i;
    return lanes_before(left < kLanes ? static_cast<int>(left) : kLanes);
}

class Archive final : public ArchiveMembers {
  public:
    explicit Archive(int objectives) : objectives_(objectives), volume_(objectives) {}

    std::size_t size() const override { return members_.rows.count; }
    bool covers(const double* point) const override;
    double gain(const double* point, const double* side) override;
    void add(const double* point, const double* side, std::int64_t arrival) override;
    void copy(double* rows, std::int64_t* arrivals) const override;

  private:
    void add_side(const double* side);

    int objectives_;
    Hypervolume volume_;
    GrowingColumns sides_;    // of the members that are better than the reference
    GrowingColumns members_;  // with their arrivals as the last column
};

bool Archive::covers(const double* point) const {
    const Columns& rows = members_.rows;
    for (std::size_t i = 0; i < rows.count; i += kLanes) {
        Mask covers = rows_from(i, rows.count);
        for (int m = 0; m < objectives_; ++m) {
            covers = both(covers, reaches(load(rows[m] + i), all(point[m])));
        }
        if (bits(covers)) return true;
    }
    return false;
}

double Archive::gain(const double*, const double* side) {
    std::size_t high = 0;
    return volume_.exact_exclusive_of(objectives_, side, sides_.rows, high);
}

void Archive::add(const double* point, const double* side, std::int64_t arrival) {
    const int columns = objectives_ + 1;
    members_.need_one_more(columns);
    sides_.need_one_more(objectives_);  // so that the sides of a new member always find room
    Columns& rows = members_.rows;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < rows.count; i += kLanes) {
        const Mask present = rows_from(i, rows.count);
        Mask covered = present;
        for (int m = 0; m < objectives_; ++m) {
            covered = both(covered, reaches(all(point[m]), load(rows[m] + i)));
        }
        const Mask stays = without(present, covered);
        if (kept != i || bits(covered)) {
            for (int m = 0; m < columns; ++m) {
                squeeze(rows[m] + kept, stays, load(rows[m] + i));
            }
        }
        kept += static_cast<std::size_t>(count(stays));
    }
    for (int m = 0; m < objectives_; ++m) rows[m][kept] = point[m];
    rows[objectives_][kept] = static_cast<double>(arrival);
    rows.count = kept + 1;
    rows.close(columns);
    if (side) add_side(side);
}

void Archive::add_side(const double* side) {
    std::size_t high = 0;
    const Doubles key = all(side[objectives_ - 1]);
    for (;;) {  // ends at the zeros after the rows, because sides are positive
        const int reach = count(reaches(load(sides_.rows[objectives_ - 1] + high), key));
        high += static_cast<std::size_t>(reach);
        if (reach < kLanes) break;
    }
    insert(sides_.rows, side, objectives_, high);
}

void Archive::copy(double* rows, std::int64_t* arrivals) const {
    const auto width = static_cast<std::size_t>(objectives_);
    for (std::size_t i = 0; i < size(); ++i) {
        for (int m = 0; m < objectives_; ++m) {
            rows[i * width + static_cast<std::size_t>(m)] = members_.rows[m][i];
        }
        arrivals[i] = static_cast<std::int64_t>(members_.rows[objectives_][i]);
    }
}

ArchiveMembers* make_archive(int objectives) { return new Archive(objectives); }

}  // namespace

const ArchiveKernels kArchiveKernels{.make = make_archive};

}  // namespace paretopo::cpu::PARETOPO_LANES
