// The archive, call by call, against a list of its members and the definition of the gain. Wild
// values only test for crashes and membership.
#include <algorithm>
#include <limits>
#include <memory>
#include <stdexcept>

#include "cpu/archive/recorded_archive.hpp"
#include "definitions.hpp"
#include "target.hpp"

namespace paretopo::fuzz {

using cpu::RecordedArchive;

// An archive and the list of members that it should hold. Rows are points of the input.
template <typename Scalar>
class Checked {
  public:
    Checked(const Input<Scalar>& in, const std::vector<double>& ref, bool is_wild,
            bool keeps_history)
        : in_(in), ref_(ref), is_wild_(is_wild), keeps_history_(keeps_history), archive_(make()) {}

    void add(int i) {
        const Row row = row_of(i);
        const bool is_new = !is_covered(i);
        if (is_new && is_too_far(i)) {
            expect_error(i, [&] { archive_->add(row.data()); });
            return;
        }
        const double gain = is_new ? defined_gain(i) : 0.0;
        const cpu::Archive::Addition added = archive_->add(row.data());
        if (added.has_joined != is_new) {
            mismatch(in_, "joining", 0, i, added.has_joined, is_new);
        }
        expect("gain", i, added.gain, gain);
        if (is_new) {
            std::erase_if(members_, [&](const Member& member) { return covers(i, member.point); });
            members_.push_back({i, additions_});
        }
        ++additions_;
        history_.insert(history_.end(), row.begin(), row.end());
    }

    void gain(int i) {
        const Row row = row_of(i);
        if (!is_covered(i) && is_too_far(i)) {
            expect_error(i, [&] { archive_->gain(row.data()); });
        } else {
            expect("asked gain", i, archive_->gain(row.data()), defined_gain(i));
        }
    }

    void remove(int i) {
        const auto at = std::find_if(members_.begin(), members_.end(), [&](const Member& member) {
            return are_equal(member.point, i);
        });
        const bool is_member = at != members_.end();
        if (is_member) members_.erase(at);
        const bool is_removed = archive_->remove(row_of(i).data());
        if (is_removed != is_member) mismatch(in_, "removal", 0, i, is_removed, is_member);
    }

    // Merges as Python does: adds the members of the other one by one.
    void merge(const Checked& other) {
        const std::vector<Member> given = other.members_;
        for (const Member& member : given) add(member.point);
    }

    void save_and_load() {
        auto copy = make();
        copy->load(archive_->state());
        if (copy->volume() != archive_->volume()) {
            mismatch(in_, "loaded hypervolume", 0, -1, copy->volume(), archive_->volume());
        }
        archive_ = std::move(copy);
    }

    void check_state() {
        RecordedArchive::State expected{{}, additions_, 0.0, keeps_history_ ? history_ : Row{}};
        Rows sides;
        for (const Member& member : members_) {
            const Row row = row_of(member.point);
            std::vector<double>& rows = expected.contents.members.rows;
            rows.insert(rows.end(), row.begin(), row.end());
            expected.contents.members.arrivals.push_back(member.arrival);
            sides.push_back(sides_of(in_, ref_.data(), 0, member.point));
        }
        const RecordedArchive::State state = archive_->state();
        if (state.contents.members.rows != expected.contents.members.rows ||
            state.contents.members.arrivals != expected.contents.members.arrivals ||
            state.additions != expected.additions || state.history != expected.history) {
            mismatch(in_, "the state, by its members,", 0, -1,
                     static_cast<double>(archive_->size()), static_cast<double>(members_.size()));
        }
        std::erase(sides, Row{});
        expect("hypervolume", -1, state.volume, is_wild_ ? 0.0 : volume_of(sides));
    }

    int member(int of) const {
        return members_.empty() ? -1
                                : members_[static_cast<std::size_t>(of) % members_.size()].point;
    }

  private:
    struct Member {
        int point;
        std::int64_t arrival;
    };

    std::unique_ptr<RecordedArchive> make() const {
        Row signs;
        for (int m = 0; m < in_.batch.objectives; ++m) signs.push_back(in_.sign(m));
        return std::make_unique<RecordedArchive>(in_.batch.objectives, signs.data(), ref_.data(),
                                                 keeps_history_);
    }

    Row row_of(int i) const { return Row(in_.point(0, i), in_.point(0, i) + in_.batch.objectives); }
    bool are_equal(int a, int b) const { return row_of(a) == row_of(b); }
    bool covers(int a, int b) const { return dominates(in_, 0, a, b) || are_equal(a, b); }
    bool is_covered(int i) const {
        return std::any_of(members_.begin(), members_.end(),
                           [&](const Member& member) { return covers(member.point, i); });
    }
    bool is_too_far(int i) const {
        for (int m = 0; m < in_.batch.objectives; ++m) {
            const auto value = static_cast<double>(in_.point(0, i)[m]);
            const double side = in_.sign(m) * (value - ref_[static_cast<std::size_t>(m)]);
            if (side > std::numeric_limits<double>::max()) return true;
        }
        return false;
    }
    double defined_gain(int i) const {
        const Row row = sides_of(in_, ref_.data(), 0, i);
        if (is_wild_ || row.empty()) return 0.0;
        Rows others;
        for (const Member& member : members_) {
            others.push_back(sides_of(in_, ref_.data(), 0, member.point));
        }
        std::erase(others, Row{});
        return gain_of(row, others);
    }

    void expect(const char* what, int i, double ours, double expected) const {
        const bool is_right =
            is_wild_ ? ours >= 0.0 : near(ours, expected, 1.0 + archive_->volume());
        if (!is_right) mismatch(in_, what, 0, i, ours, expected);
    }
    template <typename Call>
    void expect_error(int i, Call call) const {
        try {
            call();
        } catch (const std::domain_error&) {
            return;
        }
        mismatch(in_, "no error", 0, i, 0.0, 1.0);
    }

    const Input<Scalar>& in_;
    const std::vector<double>& ref_;
    bool is_wild_, keeps_history_;
    std::unique_ptr<RecordedArchive> archive_;
    std::vector<Member> members_;
    std::vector<double> history_;
    std::int64_t additions_ = 0;
};

template <typename Scalar>
void run(Bytes& bytes) {
    const bool is_wild = bytes.next() % 4 == 0;
    const bool is_large = bytes.next() % 16 == 0;
    const Input<Scalar> in(
        bytes, is_large ? Sizes{{1, 1}, {33, 300}, {2, 6}} : Sizes{{1, 1}, {0, 33}, {1, 7}},
        !is_wild);
    std::vector<double> ref;
    append_reference(bytes, in, ref);
    Checked<Scalar> archive(in, ref, is_wild, bytes.next() % 2 == 0);
    Checked<Scalar> other(in, ref, is_wild, false);
    for (int i = 0; i < in.batch.points; ++i) {
        const Scalar* point = in.point(0, i);
        const auto is_finite = [](Scalar value) { return std::isfinite(value); };
        // Python refuses points that are not finite.
        if (!std::all_of(point, point + in.batch.objectives, is_finite)) continue;
        const std::uint8_t call = bytes.next();
        switch (call % 16) {
            case 0:
                archive.gain(i);
                break;
            case 1:
                archive.remove(i);
                break;
            case 2:
                if (const int member = archive.member(bytes.next()); member >= 0) {
                    archive.remove(member);
                }
                break;
            case 3:
                archive.save_and_load();
                break;
            case 4:
                archive.merge(other);
                break;
            case 5:
            case 6:
            case 7:
                other.add(i);
                break;
            default:
                archive.add(i);
        }
        if (call % 16 < 5 && !is_large) archive.check_state();
    }
    archive.check_state();
    other.check_state();
}

}  // namespace paretopo::fuzz
