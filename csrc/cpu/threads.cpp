#include <atomic>

#include "ops.hpp"

namespace paretopo::cpu {
namespace {

std::atomic<int> limit{1};  // Python sets it at import, from the CPUs this process may use

}  // namespace

void set_threads(int threads) { limit.store(threads); }
int threads() { return limit.load(); }

}  // namespace paretopo::cpu
