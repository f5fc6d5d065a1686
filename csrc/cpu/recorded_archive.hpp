// The archive, and the record of how its members came in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cpu/archive.hpp"

namespace paretopo::cpu {

// Every call is done as a whole or not at all, whoever else calls, and wherever Ctrl-C meets it.
class RecordedArchive {
  public:
    struct State {
        Archive::Members members;  // their arrivals: how many points came before
        std::int64_t additions = 0;
        double volume = 0.0;
        std::vector<double> history;  // (additions, objectives), if it is kept
    };

    RecordedArchive(int objectives, const double* signs, const double* ref, bool keeps_history);

    Archive::Addition add(const double* row);
    double gain(const double* row);
    bool remove(const double* row);  // false: no member equals it
    State state();
    void load(const State& state);
    std::size_t size();
    std::vector<double> members();
    double volume();
    std::int64_t additions();

    std::size_t width() const { return width_; }
    bool keeps_history() const { return keeps_history_; }

  private:
    std::unique_ptr<Archive> new_archive() const;
    double volume_of(const std::vector<double>& rows) const;

    std::size_t width_;
    std::vector<double> signs_, ref_;
    bool keeps_history_;
    std::unique_ptr<Archive> archive_;
    std::vector<double> history_;
    std::int64_t additions_ = 0;
    double volume_ = 0.0;
    Turns turns_;
};

}  // namespace paretopo::cpu
