// The non-dominated points met so far, and what a new one adds to their hypervolume.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "cpu/lanes/isa.hpp"

namespace paretopo::cpu {

// One thread at a time. A signal handler that runs in the middle of a call of its own thread would
// wait for ever: it gets std::runtime_error.
class Turns {
  public:
    void lock() {
        if (holder_.load() == std::this_thread::get_id()) {
            throw std::runtime_error("the archive is in the middle of another call");
        }
        lock_.lock();
        holder_.store(std::this_thread::get_id());
    }
    void unlock() {
        holder_.store({});
        lock_.unlock();
    }

  private:
    std::mutex lock_;
    std::atomic<std::thread::id> holder_;
};

class Archive {
  public:
    // signs: (objectives,), 1 where larger is better, -1 where smaller. ref: (objectives,), finite.
    Archive(int objectives, const double* signs, const double* ref);
    Archive(Archive&& other) noexcept;

    struct Addition {
        double gain;  // in hypervolume
        bool has_joined;
    };

    struct Members {
        std::vector<double> rows;            // (members, objectives), in the order of their arrival
        std::vector<std::int64_t> arrivals;  // as they were given to `add`
    };

    // Adds a finite point unless a member is as good everywhere; members as good nowhere better
    // leave. `arrival` is larger than those before. Throws std::domain_error where the distance
    // from the reference overflows. O(log members) with 2 objectives. Otherwise the sides of the
    // members are kept in the order that the gain needs, O(members * objectives) with 3; from 4 the
    // volume of what limits the point comes on top.
    Addition add(const double* point, std::int64_t arrival);
    double gain(const double* point);  // what `add` would return

    std::size_t width() const { return width_; }
    std::size_t size();
    Members members();
    void load(const Members& members);

  private:
    // `point` here: larger is better in every objective.
    std::vector<double> turned(const double* given) const;
    double gain_of(const double* point, bool is_inside);
    bool measure(const double* point);  // into side_; is it better than the reference?
    void take(const double* point, bool is_inside, std::int64_t arrival);
    std::unique_ptr<ArchiveMembers> new_members() const;
    double scaled_gain(const double* point);

    std::size_t width_;
    double most_, least_;   // sides within need no scaling
    bool is_wide_ = false;  // a side beyond `most_` is among the members
    std::vector<double> signs_, ref_, side_;
    std::unique_ptr<ArchiveMembers> members_;
    Turns turns_;
};

}  // namespace paretopo::cpu
