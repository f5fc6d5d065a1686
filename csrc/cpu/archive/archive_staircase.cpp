#include "cpu/archive/archive_staircase.hpp"

#include <algorithm>

namespace paretopo::cpu {

bool ArchiveStaircase::covers(const double* point) const {
    const StaircaseOfMaxima::Step* step = steps_.at(steps_.first_not_left_of(point[0]));
    return step && step->y >= point[1];
}

// The area between the staircase and the point, column by column, from right to left.
double ArchiveStaircase::gain(const double* point, const double*) {
    const double x = point[0];
    const double y = point[1];
    StaircaseOfMaxima::Place place = steps_.first_not_left_of(x);
    const StaircaseOfMaxima::Step* step = steps_.at(place);
    double floor = step ? std::max(step->y, ref_y_) : ref_y_;
    double edge = x;
    double area = 0.0;
    while ((step = steps_.before(place)) && step->y <= y && step->x > ref_x_) {
        area += (edge - step->x) * (y - floor);
        edge = step->x;
        floor = std::max(step->y, ref_y_);
    }
    const double end = step ? std::max(step->x, ref_x_) : ref_x_;
    return area + (edge - end) * (y - floor);
}

void ArchiveStaircase::add(const double* point, const double*, std::int64_t arrival,
                           Departures departures) {
    if (gone_ > size() + 64) forget_gone();
    steps_.reserve_one();
    const auto place = static_cast<std::uint32_t>(arrived_.size());
    arrived_.push_back({point[0], point[1], arrival});
    steps_.insert(steps_.first_not_left_of(point[0]), {point[0], point[1], place},
                  [&](const StaircaseOfMaxima::Step& covered) {
                      std::int64_t& gone = arrived_[covered.id].arrival;
                      departures.leave(departures.owner, gone);
                      gone = kGone;
                      ++gone_;
                  });
}

void ArchiveStaircase::forget_gone() {
    std::vector<std::uint32_t> place_of(arrived_.size());
    std::uint32_t kept = 0;
    for (std::size_t i = 0; i < arrived_.size(); ++i) {
        place_of[i] = kept;
        kept += arrived_[i].arrival == kGone ? 0 : 1;
    }
    steps_.for_each([&](StaircaseOfMaxima::Step& step) { step.id = place_of[step.id]; });
    std::erase_if(arrived_, [](const Arrived& point) { return point.arrival == kGone; });
    gone_ = 0;
}

void ArchiveStaircase::copy(double* rows, std::int64_t* arrivals) const {
    for (const Arrived& point : arrived_) {
        if (point.arrival == kGone) continue;
        *rows++ = point.x;
        *rows++ = point.y;
        *arrivals++ = point.arrival;
    }
}

}  // namespace paretopo::cpu
