// The limit on the memory of boxes and of choices, whose number no one knows in advance.
#pragma once

#include <atomic>
#include <cstdint>

namespace paretopo::cpu {

// The most bytes that one call may take for them: 4 GiB, unless Python sets another number.
inline std::atomic<std::int64_t>& most_bytes() {
    static std::atomic<std::int64_t> limit{std::int64_t{1} << 32};
    return limit;
}

}  // namespace paretopo::cpu
