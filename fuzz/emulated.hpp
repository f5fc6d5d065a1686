// What a GPU does, emulated on the CPU, by whichever threads the input chooses.
#pragma once

#include <cstdint>
#include <vector>

#include "ops.hpp"
#include "reading.hpp"

namespace paretopo::fuzz {

template <typename Scalar>
class OnGpu {
  public:
    OnGpu(const Batch<Scalar>& batch, Bytes& bytes)
        : batch_(batch), mapping_(static_cast<Mapping>(bytes.next() % 4)) {}

    // Where an operation runs; the scratch lives until the next one.
    Emulated place(gpu::Operation operation) {
        const std::int64_t size =
            gpu::scratch_bytes(Emulated{mapping_, nullptr}, operation, batch_);
        scratch_.assign(static_cast<std::size_t>(size), '\x7f');
        return {mapping_, scratch_.data()};
    }
    Emulated place() const { return {mapping_, nullptr}; }

  private:
    Batch<Scalar> batch_;
    Mapping mapping_;
    std::vector<char> scratch_;
};

}  // namespace paretopo::fuzz
