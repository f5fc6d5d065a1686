#include "cpu/recorded_archive.hpp"

#include <cstring>
#include <mutex>
#include <new>
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
    // What may fail comes first.
    const auto [at, is_new] = index_of_.try_emplace(key_of(row), 0);
    if (keeps_history_) make_room(row, at, is_new);
    Archive::Addition added{};
    try {
        added = archive_->add(row);
    } catch (...) {
        if (is_new) index_of_.erase(at);
        throw;
    }
    if (added.has_joined) {
        at->second = additions_;
    } else if (is_new) {
        index_of_.erase(at);
    }
    volume_ += added.gain;
    ++additions_;
    if (keeps_history_) history_.insert(history_.end(), row, row + width_);
    forget_who_left();
    return added;
}

double RecordedArchive::gain(const double* row) {
    const std::lock_guard<Turns> hold(turns_);
    return archive_->gain(row);
}

bool RecordedArchive::remove(const double* row) {
    const std::lock_guard<Turns> hold(turns_);
    const std::string key = key_of(row);
    const std::vector<double> members = archive_->members();
    std::vector<double> rest;
    for (std::size_t i = 0; i < members.size(); i += width_) {
        if (key_of(&members[i]) == key) continue;
        rest.insert(rest.end(), &members[i], &members[i] + width_);
    }
    if (rest.size() == members.size()) return false;
    auto archive = new_archive();
    archive->load(rest.data(), rest.size() / width_);
    const double volume = volume_of(rest);
    archive_ = std::move(archive);
    volume_ = volume;
    index_of_.erase(key);
    return true;
}

RecordedArchive::State RecordedArchive::state() {
    const std::lock_guard<Turns> hold(turns_);
    State state{archive_->members(), {}, additions_, volume_, history_};
    for (std::size_t i = 0; i < state.members.size(); i += width_) {
        state.indices.push_back(index_of_.at(key_of(&state.members[i])));
    }
    return state;
}

void RecordedArchive::load(const State& state) {
    auto archive = new_archive();
    archive->load(state.members.data(), state.indices.size());
    Indices index_of;
    for (std::size_t i = 0; i < state.indices.size(); ++i) {
        index_of[key_of(&state.members[i * width_])] = state.indices[i];
    }
    std::vector<double> history = state.history;
    const std::lock_guard<Turns> hold(turns_);
    archive_ = std::move(archive);
    index_of_ = std::move(index_of);
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
    return archive_->members();
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

// Equal points have equal keys: -0 is 0.
std::string RecordedArchive::key_of(const double* row) const {
    std::string key(width_ * sizeof(double), '\0');
    for (std::size_t m = 0; m < width_; ++m) {
        const double value = row[m] + 0.0;
        std::memcpy(&key[m * sizeof value], &value, sizeof value);
    }
    return key;
}

void RecordedArchive::make_room(const double* row, Indices::iterator at, bool is_new) {
    try {
        history_.insert(history_.end(), row, row + width_);
    } catch (...) {
        if (is_new) index_of_.erase(at);
        throw;
    }
    history_.resize(history_.size() - width_);  // keeps the memory
}

// Of those that a later member covers, a few stay listed, so that this costs little.
void RecordedArchive::forget_who_left() {
    const std::size_t size = archive_->size();
    if (index_of_.size() <= 2 * size + 64) return;
    try {
        Indices kept;
        const std::vector<double> members = archive_->members();
        for (std::size_t i = 0; i < members.size(); i += width_) {
            const std::string key = key_of(&members[i]);
            kept[key] = index_of_.at(key);
        }
        index_of_ = std::move(kept);
    } catch (const std::bad_alloc&) {
        // Another time.
    }
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
