// The members of an archive and their sides, kept from one addition to the next.
#include "cpu/lanes/exports.hpp"
#include "cpu/lanes/hypervolume.hpp"
#include "cpu/lanes/sorted_rows.hpp"

namespace paretopo::cpu::PARETOPO_LANES {
namespace {

PARETOPO_INLINE Mask rows_from(std::size_t i, std::size_t count) {
    const std::size_t left = count - i;
    return lanes_before(left < kLanes ? static_cast<int>(left) : kLanes);
}

class Archive final : public ArchiveKernel {
  public:
    explicit Archive(int objectives) : objectives_(objectives), volume_(objectives) {}

    bool is_covered(const double* point) override;
    void add_member(const double* point) override;
    std::size_t members() override { return members_.rows.count; }
    const double* member_column(int objective) override { return members_.rows[objective]; }
    double gain(const double* side) override;
    void add_side(const double* side) override;
    void clear() override;

  private:
    int objectives_;
    Hypervolume volume_;
    GrowingColumns sides_, members_;
};

double Archive::gain(const double* side) {
    std::size_t high = 0;
    return volume_.exact_exclusive_of(objectives_, side, sides_.rows, high);
}

void Archive::add_side(const double* side) {
    sides_.need_one_more(objectives_);
    std::size_t high = 0;
    const Doubles key = all(side[objectives_ - 1]);
    for (;;) {  // sides are positive: the zeros behind the rows stop it
        const int reach = count(reaches(load(sides_.rows[objectives_ - 1] + high), key));
        high += static_cast<std::size_t>(reach);
        if (reach < kLanes) break;
    }
    insert(sides_.rows, side, objectives_, high);
}

bool Archive::is_covered(const double* point) {
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

void Archive::add_member(const double* point) {
    members_.need_one_more(objectives_);
    sides_.need_one_more(objectives_);  // lest a member come whose sides find no room
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
            for (int m = 0; m < objectives_; ++m) {
                squeeze(rows[m] + kept, stays, load(rows[m] + i));
            }
        }
        kept += static_cast<std::size_t>(count(stays));
    }
    for (int m = 0; m < objectives_; ++m) rows[m][kept] = point[m];
    rows.count = kept + 1;
    rows.close(objectives_);
}

void Archive::clear() {
    sides_.clear(objectives_);
    members_.clear(objectives_);
}

}  // namespace

ArchiveKernel* new_archive(int objectives) { return new Archive(objectives); }

}  // namespace paretopo::cpu::PARETOPO_LANES
