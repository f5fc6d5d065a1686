#include "cpu/runtime/call.hpp"

#include <utility>

namespace paretopo::cpu {
namespace {

thread_local Call* current = nullptr;
constexpr std::chrono::milliseconds kPollDelay{80};

}  // namespace

Call* current_call() { return current; }

void check_interrupt() {
    if (current && current->is_interrupted()) throw Interrupted{};
}

void poll_interrupt() {
    if (current) current->is_interrupted();
}

Call::Call(StopRequested stop_requested)
    : stop_requested_(stop_requested),
      caller_(std::this_thread::get_id()),
      before_(std::exchange(current, this)) {}

Call::~Call() { current = before_; }

bool Call::is_interrupted() {
    if (stops_.load(std::memory_order_relaxed)) return true;
    if (std::this_thread::get_id() != caller_) return false;
    const auto now = std::chrono::steady_clock::now();
    if (next_ == std::chrono::steady_clock::time_point{}) next_ = now + kPollDelay;
    if (now < next_) return false;
    const bool stops = stop_requested_();
    next_ = std::chrono::steady_clock::now() + kPollDelay;
    if (stops) stops_.store(true, std::memory_order_relaxed);
    return stops;
}

WorkingFor::WorkingFor(Call* call) : before_(std::exchange(current, call)) {}
WorkingFor::~WorkingFor() { current = before_; }

}  // namespace paretopo::cpu
