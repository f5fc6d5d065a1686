// Cuts a piece of memory into arrays. The same function that cuts tells how much it takes, when it
// starts from nothing.
#pragma once

#include <cstdint>

#include "portability.hpp"

namespace paretopo {

class Carve {
  public:
    PARETOPO_HD explicit Carve(void* start) : at_(reinterpret_cast<std::uintptr_t>(start)) {}

    template <typename T>
    PARETOPO_HD T* take(std::int64_t count) {
        T* array = reinterpret_cast<T*>(at_);
        const auto bytes = static_cast<std::uintptr_t>(count) * sizeof(T);
        at_ += (bytes + kAlign - 1) / kAlign * kAlign;
        return array;
    }

    PARETOPO_HD std::int64_t end() const { return static_cast<std::int64_t>(at_); }

  private:
    static constexpr std::uintptr_t kAlign = 16;
    std::uintptr_t at_;
};

}  // namespace paretopo
