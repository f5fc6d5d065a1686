// Fibers that ThreadSanitizer takes for threads: each has a stack of its own and runs until it
// waits in a meeting. They run one at a time, so that every run is the same; yet what one wrote
// and another read counts as a race unless they have met between the two.
//
// Nothing in here is instrumented: what it does itself must order nothing.
#pragma once

#include <sanitizer/tsan_interface.h>
#include <ucontext.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#define PARETOPO_UNSEEN __attribute__((no_sanitize("thread"), noinline))

namespace paretopo::emulated {

// Where the lanes of a team wait for each other, time after time.
class Meeting {
  public:
    static constexpr int kMostLanes = 32;

    explicit Meeting(int lanes) : lanes_(lanes) {}

    // What a lane tells all others in the meeting that comes next; 64 bits of anything.
    PARETOPO_UNSEEN void tell(int lane, std::uint64_t answer) {
        answers_[round_ % 2][lane] = answer;
    }
    // What lane `lane` told in the meeting that came last.
    PARETOPO_UNSEEN std::uint64_t told(int lane) const { return answers_[(round_ + 1) % 2][lane]; }

  private:
    friend class Fibers;
    int lanes_;
    int arrived_ = 0;
    std::uint64_t round_ = 0;
    // Of this round and of the one before, as no lane can be further ahead. With one for all
    // rounds, a lane that is late to leave a meeting would seem to have seen what the others did
    // since.
    char orders_[2] = {};
    std::uint64_t answers_[2][kMostLanes] = {};
};

class Fibers {
  public:
    static constexpr int kMost = 256;

    // work(k), for each k < count, all at once.
    template <typename Work>
    static void run(int count, const Work& work) {
        const auto call = [](const void* at, int k) { (*static_cast<const Work*>(at))(k); };
        run_all(count, call, &work);
    }

    // Waits until all lanes have come; if `orders`, each then sees what the others wrote before.
    PARETOPO_UNSEEN static void meet(Meeting& at, bool orders) {
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
    static constexpr unsigned kNoOrder = 1;  // a switch is no meeting
    static constexpr std::size_t kStackBytes = 1 << 18;

    struct Fiber {
        ucontext_t context;
        void* known;  // to the sanitizer; null before the first use
        Call call;
        const void* work;
        int index;
        bool is_done;
        Meeting* waits_in;
        std::uint64_t round;

        PARETOPO_UNSEEN bool can_run() const {
            return !is_done && (!waits_in || waits_in->round_ != round);
        }
    };

    PARETOPO_UNSEEN static void leave(Fiber* own) {
        __tsan_switch_to_fiber(home_known_, kNoOrder);
        swapcontext(&own->context, &home_);
    }
    PARETOPO_UNSEEN static void enter(Fiber& fiber) {
        running_ = &fiber;
        fiber.waits_in = nullptr;
        __tsan_switch_to_fiber(fiber.known, kNoOrder);
        swapcontext(&home_, &fiber.context);
    }
    PARETOPO_UNSEEN static void live() {
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
        makecontext(&fiber.context, live, 0);
        fiber.known = __tsan_create_fiber(0);
    }
    // Every round in another order, the same ones in every run of the program.
    PARETOPO_UNSEEN static void run_all(int count, Call call, const void* work) {
        if (count > kMost) die("more lanes at once than there are fibers");
        home_known_ = __tsan_get_current_fiber();
        __tsan_release(&begin_);
        for (int k = 0; k < count; ++k) {
            Fiber& fiber = fibers_[k];
            if (!fiber.known) make(fiber);
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

    static inline Fiber fibers_[kMost];
    static inline Fiber* running_ = nullptr;
    static inline ucontext_t home_;
    static inline void* home_known_ = nullptr;
    static inline char begin_, end_;  // what happened before a run, and in it
    static inline std::uint64_t chance_ = 1;
};

}  // namespace paretopo::emulated
