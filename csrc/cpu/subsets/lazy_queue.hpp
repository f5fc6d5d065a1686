// Selects the best of many candidates whose values move in one direction only. An earlier value
// therefore bounds the current one, so that each choice measures only a few again. Minoux (1978),
// "Accelerated greedy algorithms for maximizing submodular set functions".
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace paretopo::cpu {

// kLargest: values shrink; takes the largest, among equal ones the first. Otherwise values grow;
// takes the smallest, among equal ones the last.
template <bool kLargest>
class LazyQueue {
  public:
    // values[i]: the current value of candidate i. is_in[i]: 0 leaves candidate i out.
    void begin(const std::vector<double>& values, const std::uint8_t* is_in = nullptr) {
        turn_ = 0;
        heap_.clear();
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (is_in && is_in[i] == 0) continue;
            heap_.push_back({values[i], static_cast<std::uint32_t>(i), 0});
        }
        std::make_heap(heap_.begin(), heap_.end(), is_behind);
    }

    // Removes and returns the best; measure(i) computes the current value of candidate i.
    template <typename Measure>
    std::uint32_t take(const Measure& measure) {
        for (;;) {
            std::pop_heap(heap_.begin(), heap_.end(), is_behind);
            Entry& best = heap_.back();
            if (best.turn == turn_) break;
            best.turn = turn_;
            const double value = measure(best.candidate);
            if (value == best.value) break;
            best.value = value;
            if (heap_.size() == 1 || !is_behind(best, heap_.front())) break;
            std::push_heap(heap_.begin(), heap_.end(), is_behind);
        }
        const std::uint32_t taken = heap_.back().candidate;
        heap_.pop_back();
        ++turn_;
        return taken;
    }

  private:
    struct Entry {
        double value;
        std::uint32_t candidate;
        std::uint32_t turn;  // in which it was measured
    };

    static bool is_behind(const Entry& one, const Entry& other) {
        if (one.value != other.value) {
            return kLargest ? one.value < other.value : one.value > other.value;
        }
        return kLargest ? one.candidate > other.candidate : one.candidate < other.candidate;
    }

    std::uint32_t turn_ = 0;  // changes with each choice
    std::vector<Entry> heap_;
};

}  // namespace paretopo::cpu
