// The entry point for libFuzzer. A target includes this once and defines `run`.
#pragma once

#include "reading.hpp"

namespace paretopo::fuzz {

template <typename Scalar>
void run(Bytes& bytes);

}  // namespace paretopo::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    paretopo::fuzz::Bytes bytes(data, size);
    if (bytes.next() % 2) {
        paretopo::fuzz::run<float>(bytes);
    } else {
        paretopo::fuzz::run<double>(bytes);
    }
    return 0;
}
