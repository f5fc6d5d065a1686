// An archive with payloads of its members, a limit on their number, and a record of all additions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "cpu/archive/archive.hpp"
#include "cpu/archive/turns.hpp"

namespace paretopo::cpu {

// The rule for a full archive: drop the member with the smallest contribution, or the most crowded
// one.
enum class Keep { kContribution, kCrowding };

struct ArchiveBounds {
    std::size_t capacity = 0;  // members; 0: any number
    Keep keep = Keep::kContribution;
    std::vector<double> epsilon;  // (objectives,), the box sizes; one member per box; or empty
};

// Every call takes effect completely or not at all, with other threads calling and wherever Ctrl-C
// interrupts it.
class RecordedArchive {
  public:
    using Payload = std::shared_ptr<void>;  // the caller's object for a point; null: none

    struct Contents {
        Archive::Members members;       // arrivals: the number of points added before
        std::vector<Payload> payloads;  // one per member; empty: no member has one
    };
    struct State {
        Contents contents;
        std::int64_t additions = 0;
        double volume = 0.0;
        std::vector<double> history;  // (additions, objectives), if it is kept
    };

    // ref: null for an archive without volume, which cannot keep by contribution.
    RecordedArchive(int objectives, const double* signs, const double* ref, bool keeps_history,
                    ArchiveBounds bounds = {});

    // The gain is the change of the volume: negative if the bounds cost more than the point adds,
    // NaN without a reference.
    Archive::Addition add(const double* row, Payload payload = {});
    double gain(const double* row);
    bool remove(const double* row);  // false: no member equals it
    State state();
    void load(const State& state);
    std::size_t size();
    Contents contents();
    std::vector<double> members();
    double volume();
    std::int64_t additions();

    std::size_t width() const { return width_; }
    bool keeps_history() const { return keeps_history_; }

  private:
    using Payloads = std::map<std::int64_t, Payload>;  // by arrival

    // The result of adding a point.
    struct Outcome {
        Archive::Addition added{};
        bool is_plain = true;   // only covered members leave, or nothing changes
        Archive::Members next;  // otherwise
        std::vector<std::int64_t> left;
        double volume = 0.0;
    };

    bool is_bounded() const { return bounds_.capacity > 0 || !bounds_.epsilon.empty(); }
    Outcome outcome_of(const double* row);
    std::size_t place_to_leave(const std::vector<double>& rows) const;
    bool covers(const double* a, const double* b) const;
    bool is_nearer(const double* a, const double* b) const;
    void append_box(const double* row, std::vector<double>& box) const;
    Contents contents_now();
    void release(std::int64_t arrival, Payloads& released);
    std::unique_ptr<Archive> new_archive() const;
    std::vector<double> turned(const std::vector<double>& rows) const;
    double volume_of(const std::vector<double>& rows) const;

    std::size_t width_;
    std::vector<double> signs_, ref_;  // no reference: empty
    bool keeps_history_;
    ArchiveBounds bounds_;
    std::unique_ptr<Archive> archive_;
    Payloads payloads_;
    std::vector<double> history_;
    std::int64_t additions_ = 0;
    double volume_ = 0.0;
    Turns turns_;
};

}  // namespace paretopo::cpu
