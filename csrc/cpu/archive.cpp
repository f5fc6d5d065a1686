#include "cpu/archive.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "cpu/floating_point.hpp"
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
    if (objectives == 2) {
        planar_ = std::make_unique<PlanarMembers>(ref_.data());
    } else {
        kernel_.reset(kernels().new_archive(objectives));
    }
}

Archive::Archive(Archive&& other) noexcept
    : width_(other.width_),
      most_(other.most_),
      least_(other.least_),
      is_wide_(other.is_wide_),
      signs_(std::move(other.signs_)),
      ref_(std::move(other.ref_)),
      side_(std::move(other.side_)),
      planar_(std::move(other.planar_)),
      kernel_(std::move(other.kernel_)) {}

double Archive::add(const double* given) {
    const std::lock_guard<std::mutex> hold(busy_);
    const IeeeArithmetic scope;
    std::vector<double> point(width_);
    for (std::size_t m = 0; m < width_; ++m) point[m] = signs_[m] * given[m];
    if (planar_) return add_planar(point.data());
    if (kernel_->is_covered(point.data())) return 0.0;

    const bool is_inside = measure(point.data());
    double gain = 0.0;
    if (is_inside) {
        const auto fits = [this](double side) { return side <= most_ && side >= least_; };
        const bool needs_no_scale = !is_wide_ && std::all_of(side_.begin(), side_.end(), fits);
        gain = needs_no_scale ? kernel_->gain(side_.data()) : scaled_gain(point.data());
    }
    kernel_->add_member(point.data());
    if (is_inside) {
        for (const double side : side_) is_wide_ = is_wide_ || side > most_;
        kernel_->add_side(side_.data());
    }
    return gain;
}

double Archive::add_planar(const double* point) {
    if (planar_->is_covered(point[0], point[1])) return 0.0;
    const auto fits = [this](double side) { return side <= most_ && side >= least_; };
    const bool is_inside = measure(point);
    const bool needs_scale =
        is_inside && (is_wide_ || !std::all_of(side_.begin(), side_.end(), fits));
    const double scaled = needs_scale ? scaled_gain(point) : 0.0;
    const double gain = planar_->add_member(point[0], point[1]);
    if (is_inside) {
        for (const double side : side_) is_wide_ = is_wide_ || side > most_;
    }
    return needs_scale ? scaled : gain;
}

std::size_t Archive::size() {
    const std::lock_guard<std::mutex> hold(busy_);
    return planar_ ? planar_->members() : kernel_->members();
}

std::vector<double> Archive::members() {
    const std::lock_guard<std::mutex> hold(busy_);
    if (planar_) {
        std::vector<double> pairs;
        pairs.reserve(planar_->members() * width_);
        planar_->for_each([&](double x, double y) {
            pairs.push_back(signs_[0] * x);
            pairs.push_back(signs_[1] * y);
        });
        return pairs;
    }
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
    const std::lock_guard<std::mutex> hold(busy_);
    const IeeeArithmetic scope;
    is_wide_ = false;
    planar_ ? planar_->clear() : kernel_->clear();
    std::vector<double> member(width_);
    for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t m = 0; m < width_; ++m) member[m] = signs_[m] * rows[i * width_ + m];
        if (planar_ && planar_->is_covered(member[0], member[1])) continue;
        planar_ ? void(planar_->add_member(member[0], member[1]))
                : kernel_->add_member(member.data());
        if (!measure(member.data())) continue;
        for (const double side : side_) is_wide_ = is_wide_ || side > most_;
        if (kernel_) kernel_->add_side(side_.data());
    }
}

bool Archive::measure(const double* point) {
    bool is_inside = true;
    for (std::size_t m = 0; m < width_; ++m) {
        side_[m] = std::min(point[m] - ref_[m], std::numeric_limits<double>::max());
        is_inside = is_inside && side_[m] > 0.0;
    }
    return is_inside;
}

// Sides whose products leave the range of doubles: measured and scaled from scratch.
double Archive::scaled_gain(const double* point) {
    std::vector<double> rows;
    if (planar_) {
        planar_->for_each([&rows](double x, double y) { rows.insert(rows.end(), {x, y}); });
    }
    for (std::size_t i = 0; kernel_ && i < kernel_->members(); ++i) {
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
