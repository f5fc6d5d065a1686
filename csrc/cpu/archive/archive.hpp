// The non-dominated points met so far, and what a new one adds to their hypervolume.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cpu/lanes/isa.hpp"

namespace paretopo::cpu {

class Archive {
  public:
    // signs: (objectives,), 1 where larger is better, -1 where smaller. ref: (objectives,), finite.
    Archive(int objectives, const double* signs, const double* ref);

    struct Addition {
        double gain;  // in hypervolume
        bool has_joined;
    };

    struct Members {
        std::vector<double> rows;            // (members, objectives), in the order of their arrival
        std::vector<std::int64_t> arrivals;  // as they were given to `add`
    };

    // What the addition of a finite point would come to: it joins unless a member is as good
    // everywhere. Throws std::domain_error where the distance from the reference overflows.
    // O(log members) with 2 objectives. Otherwise the sides of the members are kept in the order
    // that the gain needs, O(members * objectives) with 3; from 4 the volume of what limits the
    // point comes on top.
    Addition weigh(const double* point);
    // Adds the point that was weighed last, and that joins; members as good nowhere better leave.
    // `arrival` is larger than those before. Changes nothing if it throws.
    void add_weighed(std::int64_t arrival);

    std::size_t size() const;
    Members members() const;
    void load(const Members& members);

  private:
    void turn(const double* given);  // into point_: larger is better in every objective
    double gain();
    void measure();  // into side_ and is_inside_
    std::unique_ptr<ArchiveMembers> new_members() const;
    double scaled_gain() const;

    std::size_t width_;
    double most_, least_;   // sides within need no scaling
    bool is_wide_ = false;  // a side beyond `most_` is among the members
    std::vector<double> signs_, ref_;
    std::vector<double> point_, side_;  // of the point at hand
    bool is_inside_ = false;            // is it better than the reference?
    std::unique_ptr<ArchiveMembers> members_;
};

}  // namespace paretopo::cpu
