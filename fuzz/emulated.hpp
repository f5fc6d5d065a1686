// The GPU's operations, emulated on the CPU, with the mapping that the input chooses.
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

    // The place for an operation, with the scratch that it needs; valid until the next call.
    Emulated place(std::int64_t (*scratch_of)(Emulated, Batch<Scalar>)) {
        scratch_.assign(static_cast<std::size_t>(scratch_of(place(), batch_)), '\x7f');
        return {mapping_, scratch_.data()};
    }
    Emulated place() const { return {mapping_, nullptr}; }

  private:
    Batch<Scalar> batch_;
    Mapping mapping_;
    std::vector<char> scratch_;
};

}  // namespace paretopo::fuzz
