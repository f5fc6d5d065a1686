#include "cpu/archive/archive.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

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
      signs_(signs, signs + objectives),
      ref_(width_),
      side_(width_) {
    for (std::size_t m = 0; m < width_; ++m) ref_[m] = signs_[m] * ref[m];
    members_ = new_members();
}

Archive::Archive(Archive&& other) noexcept
    : width_(other.width_),
      most_(other.most_),
      least_(other.least_),
      is_wide_(other.is_wide_),
      signs_(std::move(other.signs_)),
      ref_(std::move(other.ref_)),
      side_(std::move(other.side_)),
      members_(std::move(other.members_)) {}

std::unique_ptr<ArchiveMembers> Archive::new_members() const {
    if (width_ == 2) return std::make_unique<ArchiveStaircase>(ref_.data());
    return std::unique_ptr<ArchiveMembers>(kernels().archives.make(static_cast<int>(width_)));
}

Archive::Addition Archive::add(const double* given, std::int64_t arrival) {
    const std::lock_guard<Turns> hold(turns_);
    const IeeeArithmetic scope;
    const std::vector<double> point = turned(given);
    if (members_->covers(point.data())) return {0.0, false};
    const bool is_inside = measure(point.data());
    const double gain = gain_of(point.data(), is_inside);
    take(point.data(), is_inside, arrival);
    return {gain, true};
}

void Archive::take(const double* point, bool is_inside, std::int64_t arrival) {
    members_->add(point, is_inside ? side_.data() : nullptr, arrival);
    if (!is_inside) return;
    for (const double side : side_) is_wide_ = is_wide_ || side > most_;
}

double Archive::gain(const double* given) {
    const std::lock_guard<Turns> hold(turns_);
    const IeeeArithmetic scope;
    const std::vector<double> point = turned(given);
    if (members_->covers(point.data())) return 0.0;
    return gain_of(point.data(), measure(point.data()));
}

std::vector<double> Archive::turned(const double* given) const {
    std::vector<double> point(width_);
    for (std::size_t m = 0; m < width_; ++m) point[m] = signs_[m] * given[m];
    return point;
}

double Archive::gain_of(const double* point, bool is_inside) {
    if (!is_inside) return 0.0;
    const auto fits = [this](double side) { return side <= most_ && side >= least_; };
    const bool needs_no_scale = !is_wide_ && std::all_of(side_.begin(), side_.end(), fits);
    return needs_no_scale ? members_->gain(point, side_.data()) : scaled_gain(point);
}

std::size_t Archive::size() {
    const std::lock_guard<Turns> hold(turns_);
    return members_->size();
}

Archive::Members Archive::members() {
    const std::lock_guard<Turns> hold(turns_);
    Members members{std::vector<double>(members_->size() * width_),
                    std::vector<std::int64_t>(members_->size())};
    members_->copy(members.rows.data(), members.arrivals.data());
    for (std::size_t i = 0; i < members.rows.size(); i += width_) {
        for (std::size_t m = 0; m < width_; ++m) members.rows[i + m] *= signs_[m];
    }
    return members;
}

void Archive::load(const Members& members) {
    const std::lock_guard<Turns> hold(turns_);
    const IeeeArithmetic scope;
    is_wide_ = false;
    members_ = new_members();
    for (std::size_t i = 0; i < members.arrivals.size(); ++i) {
        check_interrupt();
        const std::vector<double> point = turned(&members.rows[i * width_]);
        take(point.data(), measure(point.data()), members.arrivals[i]);
    }
}

bool Archive::measure(const double* point) {
    bool is_inside = true;
    for (std::size_t m = 0; m < width_; ++m) {
        side_[m] = point[m] - ref_[m];
        if (side_[m] > kLargestSide) {
            throw std::domain_error(
                "point lies so far from ref that float64 cannot hold the distance");
        }
        is_inside = is_inside && side_[m] > 0.0;
    }
    return is_inside;
}

// Sides whose products leave the range of doubles: measured and scaled from scratch.
double Archive::scaled_gain(const double* point) {
    std::vector<double> rows(members_->size() * width_);
    std::vector<std::int64_t> arrivals(members_->size());
    members_->copy(rows.data(), arrivals.data());
    rows.insert(rows.end(), point, point + width_);
    const auto points = static_cast<std::int32_t>(rows.size() / width_);
    const Batch<double> batch{
        rows.data(), nullptr, 1, points, static_cast<std::int32_t>(width_), 0};
    double gain = 0.0;
    hypervolume_gain(batch, ref_.data(), &gain);
    return gain;
}

}  // namespace paretopo::cpu
