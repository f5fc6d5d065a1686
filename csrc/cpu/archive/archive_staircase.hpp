// The members of an archive of 2 objectives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/lanes/volume.hpp"
#include "cpu/volume/staircase_of_maxima.hpp"

namespace paretopo::cpu {

// A sorted staircase; each step has its position in the order of arrival. A point costs a binary
// search, O(log members), and one step to the left for each member that it covers.
class ArchiveStaircase final : public ArchiveMembers {
  public:
    explicit ArchiveStaircase(const double* ref) : ref_x_(ref[0]), ref_y_(ref[1]) {}

    std::size_t size() const override { return arrived_.size() - gone_; }
    bool covers(const double* point) const override;
    double gain(const double* point, const double* side) override;
    void add(const double* point, const double* side, std::int64_t arrival,
             Departures departures) override;
    void copy(double* rows, std::int64_t* arrivals) const override;

  private:
    static constexpr std::int64_t kGone = -1;  // replaces the arrival of a removed member
    struct Arrived {
        double x, y;
        std::int64_t arrival;
    };

    void forget_gone();

    double ref_x_, ref_y_;
    StaircaseOfMaxima steps_;       // their ids are positions in arrived_
    std::vector<Arrived> arrived_;  // members, and at most as many removed ones
    std::size_t gone_ = 0;          // number of removed ones
};

}  // namespace paretopo::cpu
