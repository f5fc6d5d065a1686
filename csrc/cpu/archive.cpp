#include "cpu/archive.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "cpu/floating_point.hpp"
#include "cpu/lanes/interrupt.hpp"
#include "formulas/sides.hpp"
#include "ops.hpp"

namespace paretopo::cpu {

Archive::Archive(int objectives, const double* signs, const double* ref)
    : width_(static_cast<std::size_t>(objectives)),
      most_(std::ldexp(1.0, safe_power(objectives))),
      least_(std::ldexp(1.0, -safe_power(objectives))),
      signs_(signs, signs + objectives),
      ref_(width_),
      side_(width_),
      kernel_(kernels().new_archive(objectives)) {
    for (std::size_t m = 0; m < width_; ++m) ref_[m] = signs_[m] * ref[m];
}

Archive::Archive(Archive&& other) noexcept
    : width_(other.width_),
      most_(other.most_),
      least_(other.least_),
      is_wide_(other.is_wide_),
      signs_(std::move(other.signs_)),
      ref_(std::move(other.ref_)),
      side_(std::move(other.side_)),
      kernel_(std::move(other.kernel_)) {}

Archive::Addition Archive::add(const double* given) {
    const std::lock_guard<Turns> hold(turns_);
    const IeeeArithmetic scope;
    const std::vector<double> point = turned(given);
    if (kernel_->is_covered(point.data())) return {0.0, false};
    const bool is_inside = measure(point.data());
    const double gain = gain_of(point.data(), is_inside);
    kernel_->add_member(point.data());
    if (is_inside) {
        for (const double side : side_) is_wide_ = is_wide_ || side > most_;
        kernel_->add_side(side_.data());
    }
    return {gain, true};
}

double Archive::gain(const double* given) {
    const std::lock_guard<Turns> hold(turns_);
    const IeeeArithmetic scope;
    const std::vector<double> point = turned(given);
    if (kernel_->is_covered(point.data())) return 0.0;
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
    return needs_no_scale ? kernel_->gain(side_.data()) : scaled_gain(point);
}

std::size_t Archive::size() {
    const std::lock_guard<Turns> hold(turns_);
    return kernel_->members();
}

std::vector<double> Archive::members() {
    const std::lock_guard<Turns> hold(turns_);
    std::vector<double> rows(kernel_->members() * width_);
    for (std::size_t m = 0; m < width_; ++m) {
        const double* column = kernel_->member_column(static_cast<int>(m));
        for (std::size_t i = 0; i < kernel_->members(); ++i) {
            rows[i * width_ + m] = signs_[m] * column[i];
        }
    }
    return rows;
}

void Archive::load(const double* rows, std::size_t count) {
    const std::lock_guard<Turns> hold(turns_);
    const IeeeArithmetic scope;
    is_wide_ = false;
    kernel_->clear();
    std::vector<double> member(width_);
    for (std::size_t i = 0; i < count; ++i) {
        check_interrupt();
        for (std::size_t m = 0; m < width_; ++m) member[m] = signs_[m] * rows[i * width_ + m];
        kernel_->add_member(member.data());
        if (!measure(member.data())) continue;
        for (const double side : side_) is_wide_ = is_wide_ || side > most_;
        kernel_->add_side(side_.data());
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
    std::vector<double> rows;
    for (std::size_t i = 0; i < kernel_->members(); ++i) {
        for (std::size_t m = 0; m < width_; ++m) {
            rows.push_back(kernel_->member_column(static_cast<int>(m))[i]);
        }
    }
    rows.insert(rows.end(), point, point + width_);
    const auto points = static_cast<std::int32_t>(rows.size() / width_);
    const Batch<double> batch{
        rows.data(), nullptr, 1, points, static_cast<std::int32_t>(width_), 0};
    double gain = 0.0;
    hypervolume_gain(batch, ref_.data(), &gain);
    return gain;
}

}  // namespace paretopo::cpu
