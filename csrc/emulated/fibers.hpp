// Fibers that ThreadSanitizer treats as threads. Each has its own stack and runs until it waits at
// a barrier. They run one at a time, so that every run is the same. A write by one fiber and a read
// by another still count as a race unless a barrier separates them.
//
// Nothing in this file is instrumented, because its own memory accesses must not order anything.
#pragma once

#include <sanitizer/tsan_interface.h>
#include <ucontext.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#define PARETOPO_UNSEEN __attribute__((no_sanitize("thread"), noinline))

namespace paretopo::emulated {

// A reusable barrier of the lanes of a team.
class Barrier {
  public:
    static constexpr int kMaxLanes = 32;

    explicit Barrier(int lanes) : lanes_(lanes) {}

    // Publishes 64 bits to all lanes at the next barrier.
    PARETOPO_UNSEEN void publish(int lane, std::uint64_t answer) {
        answers_[round_ % 2][lane] = answer;
    }
    // The bits that `lane` published at the last barrier.
    PARETOPO_UNSEEN std::uint64_t published(int lane) const {
        return answers_[(round_ + 1) % 2][lane];
    }

  private:
    friend class Fibers;
    int lanes_;
    int arrived_ = 0;
    std::uint64_t round_ = 0;
    // For this round and the one before, because no lane can be further ahead. With one variable
    // for all rounds, a lane that leaves a barrier late would seem to see the later writes of other
    // lanes.
    char orders_[2] = {};
    std::uint64_t answers_[2][kMaxLanes] = {};
};

class Fibers {
  public:
    static constexpr int kMax = 256;

    // Runs work(k) for each k < count, all concurrently.
    template <typename Work>
    static void run(int count, const Work& work) {
        const auto call = [](const void* at, int k) { (*static_cast<const Work*>(at))(k); };
        run_all(count, call, &work);
    }

    // Waits until all lanes have arrived; if `orders`, each lane then sees the earlier writes of
    // the others.
    PARETOPO_UNSEEN static void arrive(Barrier& at, bool orders) {
        char* order = &at.orders_[at.round_ % 2];
        if (orders) __tsan_release(order);
        Fiber* own = running_;
        own->waits_in = &at;
        own->round = at.round_;
        if (++at.arrived_ == at.lanes_) {
            at.arrived_ = 0;
            ++at.round_;
        }
        leave(own);
        if (orders) __tsan_acquire(order);
    }

  private:
    using Call = void (*)(const void*, int);
    static constexpr unsigned kNoOrder = 1;  // a switch is no synchronisation
    static constexpr std::size_t kStackBytes = 1 << 18;

    struct Fiber {
        ucontext_t context;
        void* handle;  // ThreadSanitizer's; null before the first use
        Call call;
        const void* work;
        int index;
        bool is_done;
        Barrier* waits_in;
        std::uint64_t round;

        PARETOPO_UNSEEN bool can_run() const {
            return !is_done && (!waits_in || waits_in->round_ != round);
        }
    };

    PARETOPO_UNSEEN static void leave(Fiber* own) {
        __tsan_switch_to_fiber(home_handle_, kNoOrder);
        swapcontext(&own->context, &home_);
    }
    PARETOPO_UNSEEN static void enter(Fiber& fiber) {
        running_ = &fiber;
        fiber.waits_in = nullptr;
        __tsan_switch_to_fiber(fiber.handle, kNoOrder);
        swapcontext(&home_, &fiber.context);
    }
    PARETOPO_UNSEEN static void run_tasks() {
        while (true) {
            Fiber* own = running_;
            __tsan_acquire(&begin_);
            own->call(own->work, own->index);
            __tsan_release(&end_);
            own->is_done = true;
            leave(own);
        }
    }
    PARETOPO_UNSEEN static void make(Fiber& fiber) {
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = std::malloc(kStackBytes);
        fiber.context.uc_stack.ss_size = kStackBytes;
        fiber.context.uc_link = nullptr;
        makecontext(&fiber.context, run_tasks, 0);
        fiber.handle = __tsan_create_fiber(0);
    }
    // Every round uses another order; every run of the program uses the same orders.
    PARETOPO_UNSEEN static void run_all(int count, Call call, const void* work) {
        if (count > kMax) die("more lanes at once than there are fibers");
        home_handle_ = __tsan_get_current_fiber();
        __tsan_release(&begin_);
        for (int k = 0; k < count; ++k) {
            Fiber& fiber = fibers_[k];
            if (!fiber.handle) make(fiber);
            fiber.call = call;
            fiber.work = work;
            fiber.index = k;
            fiber.is_done = false;
            fiber.waits_in = nullptr;
        }
        for (int left = count; left > 0;) {
            chance_ = chance_ * 6364136223846793005U + 1442695040888963407U;
            const int first = static_cast<int>((chance_ >> 33) % static_cast<unsigned>(count));
            const int step = (chance_ >> 32 & 1) != 0 ? 1 : count - 1;
            bool has_moved = false;
            for (int k = first, tried = 0; tried < count; ++tried, k = (k + step) % count) {
                if (!fibers_[k].can_run()) continue;
                enter(fibers_[k]);
                left -= fibers_[k].is_done;
                has_moved = true;
            }
            if (!has_moved) die("lanes wait for lanes that never come");
        }
        __tsan_acquire(&end_);
    }
    [[noreturn]] static void die(const char* why) {
        std::fprintf(stderr, "fibers: %s\n", why);
        std::abort();
    }

    static inline Fiber fibers_[kMax];
    static inline Fiber* running_ = nullptr;
    static inline ucontext_t home_;
    static inline void* home_handle_ = nullptr;
    static inline char begin_, end_;  // order the writes before a run, and during it
    static inline std::uint64_t chance_ = 1;
};

}  // namespace paretopo::emulated
