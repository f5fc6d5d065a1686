// The maxima of a growing planar set: x ascends, y strictly descends. Steps are in short sorted
// chunks, so that an insertion moves at most one chunk, however long the staircase.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace paretopo::cpu {

class StaircaseOfMaxima {
  public:
    struct Step {
        double x, y;
        std::uint32_t id;
    };
    struct Place {
        std::size_t chunk, step;
    };
    struct Neighbours {
        const Step* left;  // null at the ends
        const Step* right;
    };

    void clear() {
        order_.clear();
        last_x_.clear();
        free_.clear();
        used_ = 0;
    }

    std::size_t bytes() const { return chunks_.capacity() * sizeof(Chunk); }

    // Makes room, so that the next insertion cannot fail.
    void reserve_one() {
        const std::size_t chunks = order_.size() + 2;
        if (free_.empty() && used_ == chunks_.size()) chunks_.emplace_back();
        if (order_.capacity() < chunks) order_.reserve(2 * chunks);
        if (last_x_.capacity() < chunks) last_x_.reserve(2 * chunks);
        if (free_.capacity() < chunks_.size()) free_.reserve(2 * chunks_.size());
    }

    // The first step that is not left of x: the highest that could cover a point there.
    Place first_not_left_of(double x) const {
        const std::size_t c = search(last_x_.data(), last_x_.size(), x);
        if (c == order_.size()) return {c, 0};
        const Chunk& chunk = chunks_[order_[c]];
        std::size_t first = 0;
        for (std::size_t left = chunk.size; left > 0;) {
            const std::size_t half = left / 2;
            const bool is_left = chunk.steps[first + half].x < x;
            first = is_left ? first + half + 1 : first;
            left = is_left ? left - half - 1 : half;
        }
        return {c, first};
    }

    const Step* at(Place place) const {
        if (place.chunk >= order_.size()) return nullptr;
        return &chunks_[order_[place.chunk]].steps[place.step];
    }
    const Step* after(Place place) const {
        if (place.step + 1 < chunks_[order_[place.chunk]].size) {
            return at({place.chunk, place.step + 1});
        }
        return at({place.chunk + 1, 0});
    }

    // The step left of a position, which becomes the position; null if there is none.
    const Step* before(Place& place) const {
        if (place.step == 0) {
            if (place.chunk == 0) return nullptr;
            place.step = chunks_[order_[--place.chunk]].size;
        }
        --place.step;
        return at(place);
    }

    // Adds a step that no other covers; `place` is first_not_left_of(step.x). Calls `removed` for
    // the steps that it covers, from right to left. The neighbours are valid until the next call.
    template <typename Removed>
    Neighbours insert(Place place, const Step& step, Removed removed) {
        if (order_.empty()) {
            order_.push_back(new_chunk());
            last_x_.push_back(step.x);
            chunks_[order_[0]].steps[0] = step;
            chunks_[order_[0]].size = 1;
            return {nullptr, nullptr};
        }
        std::size_t c = place.chunk;
        std::size_t end = place.step;
        if (c == order_.size()) {
            --c;
            end = chunks_[order_[c]].size;
        }
        Chunk* chunk = &chunks_[order_[c]];
        if (end < chunk->size && chunk->steps[end].x == step.x) ++end;  // below the new step
        std::size_t first = end;
        while (first > 0 && chunk->steps[first - 1].y <= step.y) removed(chunk->steps[--first]);
        if (first == 0 && c > 0) {
            c = drop_covered_before(c, step.y, removed);
            chunk = &chunks_[order_[c]];
        }
        if (first == end && chunk->size == kMax) {
            split(c);
            chunk = &chunks_[order_[c]];
            if (end > chunk->size) {
                first = end = end - chunk->size;
                chunk = &chunks_[order_[++c]];
            }
        }
        move(*chunk, end, first + 1);
        chunk->steps[first] = step;
        last_x_[c] = chunk->steps[chunk->size - 1].x;
        Neighbours found{nullptr, nullptr};
        if (first > 0) {
            found.left = &chunk->steps[first - 1];
        } else if (c > 0) {
            const Chunk& before = chunks_[order_[c - 1]];
            found.left = &before.steps[before.size - 1];
        }
        if (first + 1 < chunk->size) {
            found.right = &chunk->steps[first + 1];
        } else if (c + 1 < order_.size()) {
            found.right = &chunks_[order_[c + 1]].steps[0];
        }
        return found;
    }

    template <typename Visit>
    void for_each(Visit visit) {
        for (const std::size_t c : order_) {
            for (std::size_t i = 0; i < chunks_[c].size; ++i) visit(chunks_[c].steps[i]);
        }
    }

  private:
    static constexpr std::size_t kMax = 64;

    struct Chunk {
        std::size_t size = 0;
        std::array<Step, kMax> steps;
    };

    static std::size_t search(const double* keys, std::size_t size, double x) {
        std::size_t first = 0;
        for (std::size_t left = size; left > 0;) {
            const std::size_t half = left / 2;
            const bool is_left = keys[first + half] < x;
            first = is_left ? first + half + 1 : first;
            left = is_left ? left - half - 1 : half;
        }
        return first;
    }

    // Moves the steps from `from` on to `to`.
    static void move(Chunk& chunk, std::size_t from, std::size_t to) {
        const auto begin = chunk.steps.begin();
        const auto offset = [](std::size_t i) { return static_cast<std::ptrdiff_t>(i); };
        if (to < from) {
            std::copy(begin + offset(from), begin + offset(chunk.size), begin + offset(to));
        } else if (to > from) {
            std::copy_backward(begin + offset(from), begin + offset(chunk.size),
                               begin + offset(chunk.size + to - from));
        }
        chunk.size = chunk.size + to - from;
    }

    // Removes covered steps at the ends of the chunks before c; returns the new index of c.
    template <typename Removed>
    std::size_t drop_covered_before(std::size_t c, double y, Removed removed) {
        std::size_t kept = c;
        while (kept > 0) {
            Chunk& chunk = chunks_[order_[kept - 1]];
            while (chunk.size > 0 && chunk.steps[chunk.size - 1].y <= y) {
                removed(chunk.steps[--chunk.size]);
            }
            if (chunk.size > 0) {
                last_x_[kept - 1] = chunk.steps[chunk.size - 1].x;
                break;
            }
            free_.push_back(order_[--kept]);
        }
        const auto offset = [](std::size_t i) { return static_cast<std::ptrdiff_t>(i); };
        order_.erase(order_.begin() + offset(kept), order_.begin() + offset(c));
        last_x_.erase(last_x_.begin() + offset(kept), last_x_.begin() + offset(c));
        return kept;
    }

    void split(std::size_t c) {
        const std::size_t right = new_chunk();  // may move all chunks
        Chunk& from = chunks_[order_[c]];
        Chunk& to = chunks_[right];
        const std::size_t half = from.size / 2;
        std::copy(from.steps.begin() + static_cast<std::ptrdiff_t>(half), from.steps.end(),
                  to.steps.begin());
        to.size = from.size - half;
        from.size = half;
        order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(c + 1), right);
        last_x_.insert(last_x_.begin() + static_cast<std::ptrdiff_t>(c + 1), last_x_[c]);
        last_x_[c] = from.steps[half - 1].x;
    }

    std::size_t new_chunk() {
        if (!free_.empty()) {
            const std::size_t chunk = free_.back();
            free_.pop_back();
            return chunk;
        }
        if (used_ == chunks_.size()) chunks_.emplace_back();
        return used_++;
    }

    std::vector<Chunk> chunks_;
    std::size_t used_ = 0;
    std::vector<std::size_t> order_, free_;  // chunks from left to right; empty ones
    std::vector<double> last_x_;             // of the chunks in order
};

}  // namespace paretopo::cpu
