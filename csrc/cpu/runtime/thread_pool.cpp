// Worker threads that sleep between calls: waking one costs a few microseconds, starting one far
// more. They end with the process; a forked child starts its own.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "cpu/runtime/call.hpp"
#include "cpu/runtime/floating_point.hpp"
#include "cpu/runtime/for_each_group.hpp"
#include "cpu/runtime/interrupt.hpp"
#include "system.hpp"

namespace paretopo::cpu {
namespace {

unsigned generation_of_process = 0;  // changes in a child of fork, which has a single thread

class ThreadPool {
  public:
    // Calls `task` in this thread and concurrently in up to `others` more; returns when every call
    // has returned. The task must divide its work among any number of calls and must not throw.
    // Threads that join too late are not waited for. Any thread may call this, also from a task.
    void run(int others, const std::function<void()>& task) {
        const unsigned generation = generation_of_process;
        Job job{&task, others};
        {
            const std::lock_guard<std::mutex> hold(lock_);
            start(others);
            jobs_.push_back(&job);
        }
        for (int k = 0; k < others; ++k) wake_.notify_one();
        task();
        refuse_child(generation);
        std::unique_lock<std::mutex> hold(lock_);
        std::erase(jobs_, &job);  // threads that have not joined by now would find no work
        while (!left_.wait_for(hold, kLook, [&job] { return job.present == 0; })) {
            hold.unlock();
            poll_interrupt();  // workers of the same call then return soon
            refuse_child(generation);
            hold.lock();
        }
    }

  private:
    static constexpr std::chrono::milliseconds kLook{50};

    struct Job {
        const std::function<void()>* task;
        int wanted;
        int present = 0;
    };

    // A signal handler may fork in the middle of a call. The child then lacks the threads that
    // share the work.
    static void refuse_child(unsigned generation) {
        if (generation == generation_of_process) return;
        throw std::runtime_error(
            "a signal handler has forked the process in the middle of this call, whose threads "
            "only "
            "the parent has: repeat the call");
    }

    void start(int threads) {
        if (threads <= started_) return;
        const SignalsBlocked scope;
        try {
            for (; started_ < threads; ++started_) std::thread([this] { serve(); }).detach();
        } catch (const std::exception&) {
            // No thread or memory is available: the running threads do the work.
        }
    }

    [[noreturn]] void serve() {
        std::unique_lock<std::mutex> hold(lock_);
        for (;;) {
            wake_.wait(hold, [this] { return !jobs_.empty(); });
            Job& job = *jobs_.front();
            ++job.present;
            if (--job.wanted == 0) jobs_.pop_front();
            hold.unlock();
            (*job.task)();
            hold.lock();
            if (--job.present == 0) left_.notify_all();
        }
    }

    std::mutex lock_;
    std::condition_variable wake_, left_;
    std::deque<Job*> jobs_;  // that want more threads, oldest first
    int started_ = 0;
};

// Never deleted, because threads sleep in it until the process ends. A child of fork has none of
// these threads and a pool in an arbitrary state, so it gets a new pool.
ThreadPool* pool = new ThreadPool;
[[maybe_unused]] const int renewed = in_children([] {
    pool = new ThreadPool;
    ++generation_of_process;
});

// Python sets it at import, to the number of CPUs available to this process.
std::atomic<int> limit{1};

}  // namespace

void set_threads(int threads) { limit.store(threads); }
int threads() { return limit.load(); }

SharedGroups::Piece SharedGroups::take() {
    std::int64_t first = next_.load(std::memory_order_relaxed);
    if (one_thread_) {  // a locked addition would cost as much as a small group
        next_.store(first + piece_, std::memory_order_relaxed);
    } else {
        first = next_.fetch_add(piece_);
    }
    if (0 < first && first < groups_) check_interrupt();
    return {first, std::min(first + piece_, groups_)};
}

void SharedGroups::leave_the_rest() { next_.store(groups_); }

void share_groups(std::int64_t groups, double group_cost,
                  const std::function<void(SharedGroups&)>& work) {
    constexpr double kThreadCost = 50e3;  // ns of work that is worth waking a thread for
    constexpr double kPieceCost = 20e3;   // ns of work taken at a time

    const double worth = static_cast<double>(groups) * group_cost / kThreadCost;
    const auto wanted = static_cast<std::int64_t>(std::min(worth, static_cast<double>(threads())));
    const std::int64_t workers = std::min(wanted, groups);
    const std::int64_t most =
        std::max<std::int64_t>(1, groups / (4 * std::max(workers, std::int64_t{1})));
    const std::int64_t piece = std::clamp<std::int64_t>(
        static_cast<std::int64_t>(kPieceCost / std::max(group_cost, 1e-3)), 1, most);
    SharedGroups shared(groups, piece, workers <= 1);
    if (workers <= 1) {
        const IeeeArithmetic scope;
        work(shared);
        return;
    }

    std::exception_ptr failure;
    std::mutex failure_lock;
    pool->run(static_cast<int>(workers - 1), [&, call = current_call()] {
        const WorkingFor working(call);
        const IeeeArithmetic scope;
        try {
            work(shared);
        } catch (...) {
            const std::lock_guard<std::mutex> hold(failure_lock);
            if (!failure) failure = std::current_exception();
            shared.leave_the_rest();
        }
    });
    if (failure) std::rethrow_exception(failure);
}

}  // namespace paretopo::cpu
