#include "cpu/thread_pool.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "cpu/interrupt.hpp"

namespace paretopo::cpu {
namespace {

// Signals are the host program's: one that a thread of ours took would not wake the host's.
class SignalsBlocked {
  public:
    SignalsBlocked() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

  private:
    sigset_t before_;
};

class ThreadPool {
  public:
    void share(int others, const std::function<void()>& task) {
        Job job{&task, others};
        {
            const std::lock_guard<std::mutex> hold(lock_);
            hire(others);
            jobs_.push_back(&job);
        }
        for (int k = 0; k < others; ++k) wake_.notify_one();
        task();
        std::unique_lock<std::mutex> hold(lock_);
        std::erase(jobs_, &job);  // who has not come by now finds nothing left to do
        while (!left_.wait_for(hold, kLook, [&job] { return job.present == 0; })) {
            hold.unlock();
            look_for_interrupt();  // whoever works for the same call leaves soon then
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

    void hire(int threads) {
        if (threads <= hired_) return;
        const SignalsBlocked scope;
        try {
            for (; hired_ < threads; ++hired_) std::thread([this] { serve(); }).detach();
        } catch (const std::exception&) {
            // No more threads, or no memory for one: those that run do the work.
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
    int hired_ = 0;
};

// Never deleted: threads sleep in it until the process ends. A child of fork has none of them, and
// finds the pool as it was in the middle of whatever other threads did: it gets a new one.
ThreadPool* pool = new ThreadPool;
[[maybe_unused]] const int renewed =
    pthread_atfork(nullptr, nullptr, [] { pool = new ThreadPool; });

}  // namespace

void share(int others, const std::function<void()>& task) { pool->share(others, task); }

}  // namespace paretopo::cpu
