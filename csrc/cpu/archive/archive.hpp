// The non-dominated points so far, and the hypervolume that a new point adds to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cpu/lanes/isa.hpp"
#include "cpu/lanes/volume.hpp"

namespace paretopo::cpu {

class Archive {
  public:
    // signs: (objectives,), 1 if larger is better, -1 if smaller. ref: (objectives,), finite; null:
    // the archive keeps no volume, and every gain is 0.
    Archive(int objectives, const double* signs, const double* ref);

    struct Addition {
        double gain;  // in hypervolume
        bool has_joined;
    };

    struct Members {
        std::vector<double> rows;            // (members, objectives), in the order of their arrival
        std::vector<std::int64_t> arrivals;  // as they were passed to `add`
    };

    // The effect of adding a finite point: it joins unless a member is at least as good in every
    // objective. Throws std::domain_error if the distance from the reference overflows. O(log
    // members) with 2 objectives. From 3 objectives, an index picks the members to compare; the
    // volume of the members near the point comes on top.
    Addition weigh(const double* point);
    // Adds the last weighed point, which must join, and removes the members that it dominates.
    // `arrival` exceeds all earlier ones. Changes nothing if it throws.
    void add_weighed(std::int64_t arrival, ArchiveMembers::Departures departures);

    std::size_t size() const;
    Members members() const;
    void load(const Members& members);

  private:
    void turn(const double* given);  // writes point_: larger is better in every objective
    double gain();
    void measure();  // writes side_ and is_inside_
    std::unique_ptr<ArchiveMembers> new_members() const;
    double scaled_gain() const;

    std::size_t width_;
    double most_, least_;   // sides in this range need no scaling
    bool is_wide_ = false;  // some member has a side beyond `most_`
    bool has_ref_;
    std::vector<double> signs_, ref_;
    std::vector<double> point_, side_;  // of the current point
    bool is_inside_ = false;            // is it better than the reference?
    std::unique_ptr<ArchiveMembers> members_;
};

}  // namespace paretopo::cpu
