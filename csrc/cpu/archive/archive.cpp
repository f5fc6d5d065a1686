#include "cpu/archive/archive.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "cpu/archive/archive_staircase.hpp"
#include "cpu/runtime/floating_point.hpp"
#include "cpu/runtime/interrupt.hpp"
#include "formulas/sides.hpp"
#include "ops.hpp"

namespace paretopo::cpu {

Archive::Archive(int objectives, const double* signs, const double* ref)
    : width_(static_cast<std::size_t>(objectives)),
      most_(std::ldexp(1.0, safe_power(objectives))),
      least_(std::ldexp(1.0, -safe_power(objectives))),
      has_ref_(ref != nullptr),
      signs_(signs, signs + objectives),
      ref_(width_),
      point_(width_),
      side_(width_) {
    for (std::size_t m = 0; has_ref_ && m < width_; ++m) ref_[m] = signs_[m] * ref[m];
    members_ = new_members();
}

std::unique_ptr<ArchiveMembers> Archive::new_members() const {
    if (width_ == 2) return std::make_unique<ArchiveStaircase>(ref_.data());
    return std::unique_ptr<ArchiveMembers>(kernels().archives.make(static_cast<int>(width_)));
}

Archive::Addition Archive::weigh(const double* given) {
    const IeeeArithmetic scope;
    turn(given);
    if (members_->covers(point_.data())) return {0.0, false};
    measure();
    return {gain(), true};
}

void Archive::add_weighed(std::int64_t arrival, ArchiveMembers::Departures departures) {
    const IeeeArithmetic scope;
    members_->add(point_.data(), is_inside_ ? side_.data() : nullptr, arrival, departures);
    if (!is_inside_) return;
    for (const double side : side_) is_wide_ = is_wide_ || side > most_;
}

void Archive::turn(const double* given) {
    for (std::size_t m = 0; m < width_; ++m) point_[m] = signs_[m] * given[m];
}

double Archive::gain() {
    if (!is_inside_) return 0.0;
    const auto fits = [this](double side) { return side <= most_ && side >= least_; };
    const bool needs_no_scale = !is_wide_ && std::all_of(side_.begin(), side_.end(), fits);
    return needs_no_scale ? members_->gain(point_.data(), side_.data()) : scaled_gain();
}

std::size_t Archive::size() const { return members_->size(); }

Archive::Members Archive::members() const {
    Members members{std::vector<double>(members_->size() * width_),
                    std::vector<std::int64_t>(members_->size())};
    members_->copy(members.rows.data(), members.arrivals.data());
    for (std::size_t i = 0; i < members.rows.size(); i += width_) {
        for (std::size_t m = 0; m < width_; ++m) members.rows[i + m] *= signs_[m];
    }
    return members;
}

void Archive::load(const Members& members) {
    is_wide_ = false;
    members_ = new_members();
    for (std::size_t i = 0; i < members.arrivals.size(); ++i) {
        check_interrupt();
        turn(&members.rows[i * width_]);
        measure();
        add_weighed(members.arrivals[i], {[](void*, std::int64_t) {}, nullptr});
    }
}

void Archive::measure() {
    is_inside_ = has_ref_;
    for (std::size_t m = 0; has_ref_ && m < width_; ++m) {
        side_[m] = point_[m] - ref_[m];
        if (side_[m] > kLargestSide) {
            throw std::domain_error(
                "point lies so far from ref that float64 cannot hold the distance");
        }
        is_inside_ = is_inside_ && side_[m] > 0.0;
    }
}

// Handles sides whose products leave the range of doubles: measures them again, scaled.
double Archive::scaled_gain() const {
    std::vector<double> rows(members_->size() * width_);
    std::vector<std::int64_t> arrivals(members_->size());
    members_->copy(rows.data(), arrivals.data());
    rows.insert(rows.end(), point_.begin(), point_.end());
    const auto points = static_cast<std::int32_t>(rows.size() / width_);
    const Batch<double> batch{
        rows.data(), nullptr, 1, points, static_cast<std::int32_t>(width_), 0};
    double gain = 0.0;
    hypervolume_gain(batch, ref_.data(), &gain);
    return gain;
}

}  // namespace paretopo::cpu
