// Turns a fuzzer's bytes into a batch: a shape, a mask, and values that tie, overflow or are
// special.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "batch.hpp"

namespace paretopo::fuzz {

// After the last byte, a generator seeded by all bytes takes over: a few bytes make a large set.
class Bytes {
  public:
    Bytes(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {
        for (std::size_t i = 0; i < size; ++i) state_ = (state_ ^ data[i]) * 0x100000001b3;
        state_ |= 1;
    }

    std::uint8_t next() {
        if (at_ < size_) return data_[at_++];
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return static_cast<std::uint8_t>(state_ >> 32);
    }
    int next(int low, int high) {
        const int range = high - low + 1;
        const int byte = next();
        return low + (range <= 256 ? byte : 256 * byte + next()) % range;
    }

    // A byte is a small integer, a special value, or the first byte of an arbitrary float.
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

    // From -2 to below 2, in steps so small that few values tie.
    template <typename Scalar>
    Scalar spread_value() {
        return static_cast<Scalar>(next(0, 65535)) / 16384 - 2;
    }

  private:
    const std::uint8_t* data_;
    std::size_t size_;
    std::size_t at_ = 0;
    std::uint64_t state_ = 0xcbf29ce484222325;
};

// Both ends are included.
struct Range {
    int least, most;
};
struct Sizes {
    Range groups, points, objectives;
};

// Usually `few`, a few groups; otherwise enough groups to fill the lanes of a vector, or large
// sets.
inline Sizes choose_sizes(Bytes& bytes, const Sizes& few) {
    const int chosen = bytes.next() % 16;
    if (chosen == 0) return {{1, 2}, {33, 300}, {2, 6}};
    if (chosen <= 3) return {{4, 40}, {1, 33}, {1, 5}};
    return few;
}

// Owns the memory of a batch.
template <typename Scalar>
struct Input {
    std::vector<Scalar> values;
    std::vector<std::uint8_t> mask;
    Batch<Scalar> batch{};

    Input(Bytes& bytes, const Sizes& sizes, bool finite) {
        batch.groups = bytes.next(sizes.groups.least, sizes.groups.most);
        batch.points = bytes.next(sizes.points.least, sizes.points.most);
        batch.objectives = bytes.next(sizes.objectives.least, sizes.objectives.most);
        for (int byte = 0; byte < 3; ++byte) batch.minimised = batch.minimised << 8 | bytes.next();
        batch.minimised &= (std::uint64_t{1} << batch.objectives) - 1;
        const bool is_masked = bytes.next() % 2 == 0;
        values.resize(rows() * objectives());
        fill(bytes, finite);
        mask.resize(rows(), 1);
        if (is_masked) {
            for (std::uint8_t& each : mask) each = bytes.next() % 4 != 0;
        }
        batch.values = values.data();
        batch.mask = is_masked ? mask.data() : nullptr;
    }

    std::size_t groups() const { return static_cast<std::size_t>(batch.groups); }
    std::size_t objectives() const { return static_cast<std::size_t>(batch.objectives); }
    std::size_t rows() const { return groups() * static_cast<std::size_t>(batch.points); }
    const Scalar* row(std::size_t at) const { return values.data() + at * objectives(); }
    double sign(int objective) const { return batch.is_minimised(objective) ? -1.0 : 1.0; }

  private:
    // Values that tie, values that rarely tie, or values whose sum is equal for all points, so that
    // most points do not dominate one another.
    void fill(Bytes& bytes, bool finite) {
        const int kind = bytes.next() % 3;
        const int last = batch.objectives - 1;
        Scalar rest = 0;
        int m = 0;
        for (Scalar& value : values) {
            const bool may_tie = kind == 0 || bytes.next() % 16 == 0;
            value = may_tie ? bytes.value<Scalar>(finite) : bytes.spread_value<Scalar>();
            const auto direction = static_cast<Scalar>(sign(m));
            if (kind == 2 && m == last && !may_tie) value = -rest * direction;
            rest += value * direction;
            m = m == last ? 0 : m + 1;
            if (m == 0) rest = 0;
        }
    }
};

// One number for each objective of `count` groups, below most of the values above.
template <typename Scalar>
std::vector<double> read_references(Bytes& bytes, const Input<Scalar>& in, std::size_t count = 1) {
    std::vector<double> refs;
    for (; count > 0; --count) {
        for (int m = 0; m < in.batch.objectives; ++m) {
            refs.push_back(in.sign(m) * (bytes.next() % 4 == 0 ? bytes.next(-2, 1) : -2));
        }
    }
    return refs;
}

}  // namespace paretopo::fuzz
