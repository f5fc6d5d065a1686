#include "cpu/archive/recorded_archive.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <mutex>
#include <new>
#include <utility>

#include "cpu/ranking/epsilon_boxes.hpp"
#include "cpu/runtime/floating_point.hpp"
#include "ops.hpp"

namespace paretopo::cpu {
namespace {

std::ptrdiff_t offset(std::size_t i) { return static_cast<std::ptrdiff_t>(i); }

void erase(Archive::Members& members, std::size_t width, std::size_t i) {
    const auto at = members.rows.begin() + offset(i * width);
    members.rows.erase(at, at + offset(width));
    members.arrivals.erase(members.arrivals.begin() + offset(i));
}

}  // namespace

RecordedArchive::RecordedArchive(int objectives, const double* signs, const double* ref,
                                 bool keeps_history, ArchiveBounds bounds)
    : width_(static_cast<std::size_t>(objectives)),
      signs_(signs, signs + objectives),
      ref_(ref, ref ? ref + objectives : ref),
      keeps_history_(keeps_history),
      bounds_(std::move(bounds)),
      archive_(new_archive()) {}

// Does everything slow first, then the change, which is quick. Payloads are released after the
// lock, because their destructors may run any code, even a call of this archive.
Archive::Addition RecordedArchive::add(const double* row, Payload payload) {
    Payloads released;
    const std::lock_guard<Turns> hold(turns_);
    Outcome outcome = outcome_of(row);
    const auto [gain, has_joined] = outcome.added;
    std::unique_ptr<Archive> next;
    if (!outcome.is_plain) {
        next = new_archive();
        next->load(outcome.next);
    }
    // Adds those who leave to `released`.
    std::pair<RecordedArchive*, Payloads*> leaving{this, &released};
    const ArchiveMembers::Departures departures{[](void* owner, std::int64_t arrival) {
                                                    const auto& [archive, payloads] =
                                                        *static_cast<decltype(leaving)*>(owner);
                                                    archive->release(arrival, *payloads);
                                                },
                                                &leaving};
    {
        const Turns::Change change(turns_);
        if (keeps_history_) history_.insert(history_.end(), row, row + width_);
        try {
            if (payload && has_joined) payloads_.emplace(additions_, std::move(payload));
            if (next) {
                archive_.swap(next);
                volume_ = outcome.volume;
                for (const std::int64_t arrival : outcome.left) release(arrival, released);
            } else if (has_joined) {
                archive_->add_weighed(additions_, departures);
                volume_ += gain;
            }
        } catch (...) {
            if (keeps_history_) history_.resize(history_.size() - width_);
            release(additions_, released);
            throw;
        }
        ++additions_;
    }
    if (ref_.empty()) outcome.added.gain = std::numeric_limits<double>::quiet_NaN();
    return outcome.added;
}

// Allocates no memory, so that it cannot fail.
void RecordedArchive::release(std::int64_t arrival, Payloads& released) {
    released.insert(payloads_.extract(arrival));
}

// With bounds, O(n log n) for n members of 2 objectives; with more objectives, the cost of their
// contributions or volume.
RecordedArchive::Outcome RecordedArchive::outcome_of(const double* row) {
    Outcome outcome;
    if (!is_bounded()) {
        outcome.added = archive_->weigh(row);
        return outcome;
    }
    const IeeeArithmetic scope;
    const Archive::Members members = archive_->members();
    std::vector<double> own, box;
    append_box(row, own);
    Archive::Members& next = outcome.next;
    bool is_within_rule = true;  // no member leaves because of a box
    for (std::size_t i = 0; i < members.arrivals.size(); ++i) {
        const double* member = &members.rows[i * width_];
        if (covers(member, row)) return {};
        bool leaves = covers(row, member);
        if (!leaves && !own.empty()) {
            box.clear();
            append_box(member, box);
            const bool is_best = std::equal(own.begin(), own.end(), box.begin(), std::less_equal{});
            const bool is_worst =
                std::equal(own.begin(), own.end(), box.begin(), std::greater_equal{});
            if (is_worst && !(is_best && is_nearer(row, member))) return {};
            leaves = is_best;
            is_within_rule = is_within_rule && !leaves;
        }
        if (leaves) {
            outcome.left.push_back(members.arrivals[i]);
        } else {
            next.rows.insert(next.rows.end(), member, member + width_);
            next.arrivals.push_back(members.arrivals[i]);
        }
    }
    outcome.added = archive_->weigh(row);
    outcome.is_plain = is_within_rule;
    next.rows.insert(next.rows.end(), row, row + width_);
    next.arrivals.push_back(additions_);
    if (bounds_.capacity > 0 && next.arrivals.size() > bounds_.capacity) {
        const std::size_t i = place_to_leave(next.rows);
        if (next.arrivals[i] == additions_) return {};  // it is itself the surplus member
        outcome.left.push_back(next.arrivals[i]);
        erase(next, width_, i);
        outcome.is_plain = false;
    }
    if (outcome.is_plain) return outcome;
    outcome.volume = volume_of(next.rows);
    const bool is_same = outcome.volume == volume_;  // both may be infinite
    outcome.added.gain = is_same ? 0.0 : outcome.volume - volume_;
    if (is_within_rule && bounds_.keep == Keep::kContribution) {  // it only falls by rounding
        outcome.added.gain = std::max(0.0, outcome.added.gain);
    }
    return outcome;
}

// For points that do not cover each other; among equal ones the last.
std::size_t RecordedArchive::place_to_leave(const std::vector<double>& rows) const {
    const std::size_t count = rows.size() / width_;
    const std::vector<double> values = turned(rows);
    const Batch<double> batch{values.data(),
                              nullptr,
                              1,
                              static_cast<std::int32_t>(count),
                              static_cast<std::int32_t>(width_),
                              0};
    std::vector<double> worth(count);
    if (bounds_.keep == Keep::kContribution) {
        hypervolume_contributions(batch, turned(ref_).data(), true, worth.data());
    } else {
        const std::vector<std::int32_t> ranks(count, 0);
        crowding_distance(batch, ranks.data(), worth.data());
    }
    const auto least = std::min_element(worth.rbegin(), worth.rend());
    return count - 1 - static_cast<std::size_t>(least - worth.rbegin());
}

bool RecordedArchive::covers(const double* a, const double* b) const {
    for (std::size_t m = 0; m < width_; ++m) {
        if (signs_[m] * a[m] < signs_[m] * b[m]) return false;
    }
    return true;
}

// Indices of boxes, smaller is better; empty without epsilon.
void RecordedArchive::append_box(const double* row, std::vector<double>& box) const {
    for (std::size_t m = 0; m < bounds_.epsilon.size(); ++m) {
        const InBox place = place_in_box(-signs_[m] * row[m], bounds_.epsilon[m]);
        box.push_back(place.box);
        box.push_back(place.own);
    }
}

// Compares two points in one box: nearer to its best corner in units of epsilon, or equally near
// and better in the first objective that differs. A point that covers another is nearer.
bool RecordedArchive::is_nearer(const double* a, const double* b) const {
    const auto distance = [this](const double* row) {
        double sum = 0.0;
        for (std::size_t m = 0; m < width_; ++m) {
            const double part = place_in_box(-signs_[m] * row[m], bounds_.epsilon[m]).part;
            sum += part * part;
        }
        return sum;
    };
    const double ours = distance(a);
    const double theirs = distance(b);
    if (ours != theirs) return ours < theirs;
    for (std::size_t m = 0; m < width_; ++m) {
        if (a[m] != b[m]) return signs_[m] * a[m] > signs_[m] * b[m];
    }
    return false;
}

double RecordedArchive::gain(const double* row) {
    const std::lock_guard<Turns> hold(turns_);
    return outcome_of(row).added.gain;
}

bool RecordedArchive::remove(const double* row) {
    Payloads released;
    const std::lock_guard<Turns> hold(turns_);
    Archive::Members members = archive_->members();
    std::size_t i = 0;
    while (i < members.arrivals.size() &&
           !std::equal(row, row + width_, &members.rows[i * width_])) {
        ++i;
    }
    if (i == members.arrivals.size()) return false;
    const std::int64_t arrival = members.arrivals[i];
    erase(members, width_, i);
    auto archive = new_archive();
    archive->load(members);
    const double volume = volume_of(members.rows);
    const Turns::Change change(turns_);
    archive_.swap(archive);
    volume_ = volume;
    release(arrival, released);
    return true;
}

RecordedArchive::State RecordedArchive::state() {
    const std::lock_guard<Turns> hold(turns_);
    return {contents_now(), additions_, volume_, history_};
}

void RecordedArchive::load(const State& state) {
    const auto& [members, payloads] = state.contents;
    auto archive = new_archive();
    archive->load(members);
    std::vector<double> history = state.history;
    Payloads released;
    for (std::size_t i = 0; i < payloads.size(); ++i) {
        if (payloads[i]) released.emplace(members.arrivals[i], payloads[i]);
    }
    const std::lock_guard<Turns> hold(turns_);
    const Turns::Change change(turns_);
    archive_.swap(archive);
    payloads_.swap(released);
    history_.swap(history);
    additions_ = state.additions;
    volume_ = state.volume;
}

std::size_t RecordedArchive::size() {
    const std::lock_guard<Turns> hold(turns_);
    return archive_->size();
}

RecordedArchive::Contents RecordedArchive::contents() {
    const std::lock_guard<Turns> hold(turns_);
    return contents_now();
}

RecordedArchive::Contents RecordedArchive::contents_now() {
    Contents contents{archive_->members(), {}};
    if (payloads_.empty()) return contents;
    for (const std::int64_t arrival : contents.members.arrivals) {
        const auto found = payloads_.find(arrival);
        contents.payloads.push_back(found == payloads_.end() ? Payload{} : found->second);
    }
    return contents;
}

std::vector<double> RecordedArchive::members() {
    const std::lock_guard<Turns> hold(turns_);
    return archive_->members().rows;
}

double RecordedArchive::volume() {
    const std::lock_guard<Turns> hold(turns_);
    return volume_;
}

std::int64_t RecordedArchive::additions() {
    const std::lock_guard<Turns> hold(turns_);
    return additions_;
}

std::unique_ptr<Archive> RecordedArchive::new_archive() const {
    return std::make_unique<Archive>(static_cast<int>(width_), signs_.data(),
                                     ref_.empty() ? nullptr : ref_.data());
}

// Flips signs so that larger is better in every objective.
std::vector<double> RecordedArchive::turned(const std::vector<double>& rows) const {
    std::vector<double> values(rows);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] *= signs_[i % width_];
    return values;
}

double RecordedArchive::volume_of(const std::vector<double>& rows) const {
    double volume = 0.0;
    if (ref_.empty()) return volume;
    const std::vector<double> values = turned(rows);
    hypervolume(
        Batch<double>{values.data(), nullptr, 1, static_cast<std::int32_t>(rows.size() / width_),
                      static_cast<std::int32_t>(width_), 0},
        turned(ref_).data(), &volume);
    return volume;
}

}  // namespace paretopo::cpu
