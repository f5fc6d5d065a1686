// Sides grouped by objective instead of by point, in columns for vector instructions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "cpu/lanes/simd/doubles.hpp"

namespace paretopo::cpu::PARETOPO_LANES {

// Memory that only grows; contents do not survive growth. (No std::vector here: the linker would
// share its code, compiled for this instruction set, with the whole program.)
template <typename Number>
class Buffer {
  public:
    Buffer() = default;
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() { release(); }

    Number* of(std::size_t size) {
        if (size > size_) {
            release();
            data_ = nullptr;
            size_ = 0;
            const std::size_t room = size + size / 2;
            data_ = static_cast<Number*>(::operator new(room * sizeof(Number), kAlignment));
            size_ = room;
        }
        return data_;
    }

    Number* data() const { return data_; }
    std::size_t bytes() const { return size_ * sizeof(Number); }

    void swap(Buffer& other) {
        Number* const data = data_;
        const std::size_t size = size_;
        data_ = other.data_;
        size_ = other.size_;
        other.data_ = data;
        other.size_ = size;
    }

  private:
    static constexpr std::align_val_t kAlignment{64};
    void release() {
        if (data_) ::operator delete(data_, kAlignment);
    }
    Number* data_ = nullptr;
    std::size_t size_ = 0;
};

// A view: column m holds objective m of every row, followed by kPadding zeros.
struct Columns {
    double* data = nullptr;
    std::size_t stride = 0;
    std::size_t count = 0;

    PARETOPO_INLINE double* operator[](int m) const {
        return data + static_cast<std::size_t>(m) * stride;
    }
    // Restores the zeros after the rows.
    PARETOPO_INLINE void close(int objectives) const {
        for (int m = 0; m < objectives; ++m) {
            std::memset((*this)[m] + count, 0, kPadding * sizeof(double));
        }
    }
};

// Room for `rows` rows and one more.
PARETOPO_INLINE Columns columns_in(Buffer<double>& buffer, int objectives, std::size_t rows) {
    const std::size_t stride = (rows + 1 + 2 * kPadding + 7) / 8 * 8;
    return {buffer.of(stride * static_cast<std::size_t>(objectives)), stride, 0};
}

// Growing columns that keep their rows.
class GrowingColumns {
  public:
    Columns rows;

    void need_one_more(int objectives) {
        if (rows.count < room_) return;
        const std::size_t room = 2 * room_ + 64;
        // If this throws, nothing has changed.
        Columns grown = columns_in(memory_[side_ ^ 1], objectives, room);
        for (int m = 0; m < objectives && rows.count > 0; ++m) {
            std::memcpy(grown[m], rows[m], rows.count * sizeof(double));
        }
        grown.count = rows.count;
        grown.close(objectives);
        rows = grown;
        room_ = room;
        side_ ^= 1;
    }

    void clear(int objectives) {
        rows.count = 0;
        if (room_ > 0) rows.close(objectives);
    }

  private:
    Buffer<double> memory_[2];
    int side_ = 0;
    std::size_t room_ = 0;
};

}  // namespace paretopo::cpu::PARETOPO_LANES
