#include "cpu/archive/turns.hpp"

#include <new>
#include <stdexcept>

#include "system.hpp"

namespace paretopo::cpu {

// All locks, and whether the process forks. Never deleted, because archives may outlive static
// objects.
struct Forks {
    std::mutex lock;
    Turns* first = nullptr;
    std::atomic<bool> is_forking{false};

    static Forks& one() {
        static Forks* const forks = [] {
            around_forks([] { one().wait_for_changes(); }, [] { one().go_on(); },
                         [] { one().begin_child(); });
            return new Forks;
        }();
        return *forks;
    }

    void wait_for_changes() {
        lock.lock();
        is_forking = true;
        for (Turns* turns = first; turns; turns = turns->next_) {
            while (turns->changes_) std::this_thread::yield();
        }
    }

    void go_on() {
        is_forking = false;
        lock.unlock();
    }

    // Only the thread that forked exists in the child.
    void begin_child() {
        for (Turns* turns = first; turns; turns = turns->next_) {
            if (turns->holder_.load() == std::this_thread::get_id()) continue;
            turns->holder_ = std::thread::id{};
            new (&turns->lock_) std::mutex;
        }
        is_forking = false;
        new (&lock) std::mutex;
    }
};

Turns::Turns() {
    Forks& forks = Forks::one();
    const std::lock_guard<std::mutex> hold(forks.lock);
    next_ = forks.first;
    place_ = &forks.first;
    if (next_) next_->place_ = &next_;
    forks.first = this;
}

Turns::~Turns() {
    const std::lock_guard<std::mutex> hold(Forks::one().lock);
    *place_ = next_;
    if (next_) next_->place_ = place_;
}

void Turns::lock() {
    if (holder_.load() == std::this_thread::get_id()) {
        throw std::runtime_error("the archive is in the middle of another call");
    }
    lock_.lock();
    holder_.store(std::this_thread::get_id());
}

void Turns::unlock() {
    holder_.store({});
    lock_.unlock();
}

// Each side announces its action first, then checks for the other side's.
Turns::Change::Change(Turns& turns) : turns_(turns) {
    for (;;) {
        turns_.changes_ = true;
        if (!Forks::one().is_forking) return;
        turns_.changes_ = false;
        while (Forks::one().is_forking) std::this_thread::yield();
    }
}

Turns::Change::~Change() { turns_.changes_.store(false, std::memory_order_release); }

}  // namespace paretopo::cpu
