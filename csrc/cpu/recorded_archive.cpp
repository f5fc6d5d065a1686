#include "cpu/recorded_archive.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "ops.hpp"

namespace paretopo::cpu {

RecordedArchive::RecordedArchive(int objectives, const double* signs, const double* ref,
                                 bool keeps_history)
    : width_(static_cast<std::size_t>(objectives)),
      signs_(signs, signs + objectives),
      ref_(ref, ref + objectives),
      keeps_history_(keeps_history),
      archive_(new_archive()) {}

Archive::Addition RecordedArchive::add(const double* row) {
    const std::lock_guard<Turns> hold(turns_);
    const std::size_t recorded = history_.size();
    if (keeps_history_) history_.insert(history_.end(), row, row + width_);
    Archive::Addition added{};
    try {
        added = archive_->add(row, additions_);
    } catch (...) {
        history_.resize(recorded);
        throw;
    }
    volume_ += added.gain;
    ++additions_;
    return added;
}

double RecordedArchive::gain(const double* row) {
    const std::lock_guard<Turns> hold(turns_);
    return archive_->gain(row);
}

bool RecordedArchive::remove(const double* row) {
    const std::lock_guard<Turns> hold(turns_);
    Archive::Members members = archive_->members();
    std::size_t i = 0;
    while (i < members.arrivals.size() &&
           !std::equal(row, row + width_, &members.rows[i * width_])) {
        ++i;
    }
    if (i == members.arrivals.size()) return false;
    const auto at = members.rows.begin() + static_cast<std::ptrdiff_t>(i * width_);
    members.rows.erase(at, at + static_cast<std::ptrdiff_t>(width_));
    members.arrivals.erase(members.arrivals.begin() + static_cast<std::ptrdiff_t>(i));
    auto archive = new_archive();
    archive->load(members);
    volume_ = volume_of(members.rows);
    archive_ = std::move(archive);
    return true;
}

RecordedArchive::State RecordedArchive::state() {
    const std::lock_guard<Turns> hold(turns_);
    return {archive_->members(), additions_, volume_, history_};
}

void RecordedArchive::load(const State& state) {
    auto archive = new_archive();
    archive->load(state.members);
    std::vector<double> history = state.history;
    const std::lock_guard<Turns> hold(turns_);
    archive_ = std::move(archive);
    history_ = std::move(history);
    additions_ = state.additions;
    volume_ = state.volume;
}

std::size_t RecordedArchive::size() {
    const std::lock_guard<Turns> hold(turns_);
    return archive_->size();
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
    return std::make_unique<Archive>(static_cast<int>(width_), signs_.data(), ref_.data());
}

double RecordedArchive::volume_of(const std::vector<double>& rows) const {
    std::vector<double> turned(rows);
    std::vector<double> corner(ref_);
    for (std::size_t i = 0; i < turned.size(); ++i) turned[i] *= signs_[i % width_];
    for (std::size_t m = 0; m < width_; ++m) corner[m] *= signs_[m];
    double volume = 0.0;
    hypervolume(
        Batch<double>{turned.data(), nullptr, 1, static_cast<std::int32_t>(rows.size() / width_),
                      static_cast<std::int32_t>(width_), 0},
        corner.data(), &volume);
    return volume;
}

}  // namespace paretopo::cpu
