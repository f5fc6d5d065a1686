// Memory for numbers that are written before they are read. It is not cleared, and most of it is on
// huge pages: to clear and map 100 MB page by page takes as long as sorting its contents.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "system.hpp"

namespace paretopo::cpu {

template <typename T>
class ScratchArray {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    ScratchArray() = default;
    ScratchArray(const ScratchArray&) {}  // each thread has its own: a copy is empty
    ScratchArray& operator=(const ScratchArray&) = delete;

    // Discards the contents if the array grows beyond its capacity.
    void resize(std::size_t size) {
        if (size > capacity_) {
            items_.reset();
            capacity_ = 0;
            items_ = allocate(size);
            capacity_ = size;
        }
        size_ = size;
    }

    std::size_t size() const { return size_; }
    std::size_t capacity() const { return capacity_; }
    T* data() { return items_.get(); }
    const T* data() const { return items_.get(); }
    T& operator[](std::size_t i) { return items_[i]; }
    const T& operator[](std::size_t i) const { return items_[i]; }
    T* begin() { return data(); }
    T* end() { return data() + size_; }
    void swap(ScratchArray& other) noexcept {
        std::swap(items_, other.items_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
    }

  private:
    static constexpr std::size_t kPage = std::size_t{2} << 20;   // bytes
    static constexpr std::size_t kLarge = std::size_t{4} << 20;  // bytes

    struct Free {
        std::size_t bytes = 0;
        void operator()(T* items) const {
            // Don't use ?: here: clang 14 and 22 then call both overloads.
            if (bytes < kLarge) {
                ::operator delete(items);
            } else {
                ::operator delete(items, std::align_val_t{kPage});
            }
        }
    };
    using Items = std::unique_ptr<T[], Free>;

    static Items allocate(std::size_t size) {
        std::size_t bytes = size * sizeof(T);
        if (bytes < kLarge) return Items(static_cast<T*>(::operator new(bytes)), Free{bytes});
        bytes = (bytes + kPage - 1) / kPage * kPage;
        void* memory = ::operator new(bytes, std::align_val_t{kPage});
        prefer_huge_pages(memory, bytes);
        return Items(static_cast<T*>(memory), Free{bytes});
    }

    Items items_;
    std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace paretopo::cpu
