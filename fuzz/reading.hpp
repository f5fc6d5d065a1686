// From a fuzzer's bytes to a batch: a shape, a mask, and values that tie, overflow and break.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "cpu/isa.hpp"
#include "ops.hpp"

namespace paretopo::fuzz {

class Bytes {
  public:
    Bytes(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

    std::uint8_t next() { return at_ < size_ ? data_[at_++] : std::uint8_t{0}; }
    int next(int low, int high) { return low + next() % (high - low + 1); }

    // A byte is a small integer, a special value, or the first of a float taken as it is.
    template <typename Scalar>
    Scalar value(bool finite) {
        const std::uint8_t byte = next();
        if (byte < 160) return static_cast<Scalar>(byte % 8) / 2 - 1;
        if (byte < 200) return static_cast<Scalar>(byte) * Scalar(1e-3);
        if (finite) return static_cast<Scalar>(next()) / 16;
        switch (byte % 8) {
            case 0:
                return std::numeric_limits<Scalar>::quiet_NaN();
            case 1:
                return std::numeric_limits<Scalar>::infinity();
            case 2:
                return -std::numeric_limits<Scalar>::infinity();
            case 3:
                return Scalar(-0.0);
            case 4:
                return std::numeric_limits<Scalar>::denorm_min() * Scalar(byte % 5);
            case 5:
                return std::numeric_limits<Scalar>::max();
            default: {
                std::uint8_t raw[sizeof(Scalar)];
                for (std::uint8_t& each : raw) each = next();
                Scalar scalar;
                std::memcpy(&scalar, raw, sizeof scalar);
                return scalar;
            }
        }
    }

  private:
    const std::uint8_t* data_;
    std::size_t size_;
    std::size_t at_ = 0;
};

// Owns what a batch points to.
template <typename Scalar>
struct Input {
    std::vector<Scalar> values;
    std::vector<std::uint8_t> mask;
    Batch<Scalar> batch{};

    Input(Bytes& bytes, int most_points, int most_objectives, bool finite) {
        batch.groups = bytes.next(0, 3);
        batch.points = bytes.next(0, most_points);
        batch.objectives = bytes.next(1, most_objectives);
        for (int byte = 0; byte < 3; ++byte) batch.minimised = batch.minimised << 8 | bytes.next();
        batch.minimised &= (std::uint64_t{1} << batch.objectives) - 1;
        const bool is_masked = bytes.next() % 2 == 0;
        cpu::set_threads(1 + bytes.next() % 2);
        cpu::set_isa(static_cast<cpu::Isa>(bytes.next() % (static_cast<int>(cpu::best_isa()) + 1)));
        const std::size_t rows = static_cast<std::size_t>(batch.groups * batch.points);
        values.resize(rows * static_cast<std::size_t>(batch.objectives));
        for (Scalar& value : values) value = bytes.value<Scalar>(finite);
        mask.resize(rows, 1);
        if (is_masked) {
            for (std::uint8_t& each : mask) each = bytes.next() % 4 != 0;
        }
        batch.values = values.data();
        batch.mask = is_masked ? mask.data() : nullptr;
    }

    bool is_present(std::int64_t g, int i) const {
        return mask[static_cast<std::size_t>(g * batch.points + i)] != 0;
    }
    const Scalar* point(std::int64_t g, int i) const {
        return batch.group(g) + std::int64_t{i} * batch.objectives;
    }
};

}  // namespace paretopo::fuzz
