// The non-dominated points met so far, and what a new one adds to their hypervolume.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "cpu/isa.hpp"
#include "cpu/planar_members.hpp"

namespace paretopo::cpu {

class Archive {
  public:
    // signs: (objectives,), 1 where larger is better, -1 where smaller. ref: (objectives,), finite.
    Archive(int objectives, const double* signs, const double* ref);
    Archive(Archive&& other) noexcept;

    // Adds a finite point unless a member is as good everywhere; members as good nowhere better
    // leave. Returns the gain in hypervolume. With 2 objectives O(log members). Otherwise the sides
    // of the members are kept in the order that the gain needs, O(members * objectives) with 3
    // objectives; from 4 the volume of what limits the point comes on top.
    double add(const double* point);

    std::size_t size();
    std::vector<double> members();  // (size, objectives), in the order of their arrival
    void load(const double* rows, std::size_t count);

  private:
    // `point` here: larger is better in every objective.
    double add_planar(const double* point);
    bool measure(const double* point);  // into side_; is it better than the reference?
    double scaled_gain(const double* point);

    std::size_t width_;
    double most_, least_;   // sides within need no scaling
    bool is_wide_ = false;  // a side beyond `most_` is among the members
    std::vector<double> signs_, ref_, side_;
    std::unique_ptr<PlanarMembers> planar_;  // of 2 objectives
    std::unique_ptr<ArchiveKernel> kernel_;  // of others
    std::mutex busy_;
};

}  // namespace paretopo::cpu
