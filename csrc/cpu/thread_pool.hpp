// Threads that stay from call to call, asleep in between: to wake one costs a few microseconds, to
// start one costs many. They end with the process; a forked child starts its own.
#pragma once

#include <functional>

namespace paretopo::cpu {

// Calls `task` in this thread and at once in up to `others` more, and returns when every call has.
// The task divides its work among however many calls there are, and does not throw; a thread that
// comes too late is not waited for. Any thread may call this at any time, a task too.
void share(int others, const std::function<void()>& task);

}  // namespace paretopo::cpu
