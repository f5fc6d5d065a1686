// The minima of a growing planar set: x ascends, y strictly descends. Steps live in short sorted
// chunks, so that an insertion moves at most one chunk however long the staircase gets.
//
// Source of the idea: Kung, Luccio, Preparata, 1975, "On finding the maxima of a set of vectors".
#pragma once

#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "cpu/sorting/count_leading.hpp"

namespace paretopo::cpu {

template <typename Number>
class StaircaseOfMinima {
  public:
    struct Step {
        Number x;
        Number y;
    };

    // Is there a step at or left of x that is at or below y?
    bool covers(Number x, Number y) const {
        const Step* left = step_at_or_left(x);
        return left != nullptr && left->y <= y;
    }

    // Adds (x, y), which must not be covered, and removes the steps that it covers: `removed` is
    // called for each of them, from left to right. Returns the next step to the right.
    template <typename Removed>
    std::optional<Step> insert(Number x, Number y, Removed removed) {
        if (chunks_.empty()) {
            chunks_.push_back({{x, y}});
            return std::nullopt;
        }
        std::size_t c = chunk_of(x);
        const std::vector<Step>& steps = chunks_[c];
        auto at = chunks_[c].begin() +
                  offset(count_leading(steps.size(), [&](auto i) { return steps[i].x < x; }));

        // Covered steps are a run that starts here and may reach into later chunks.
        auto end = at;
        while (end != chunks_[c].end() && end->y >= y) removed(*end++);
        const bool run_goes_on = end == chunks_[c].end();
        if (end != at) {
            *at = {x, y};
            chunks_[c].erase(std::next(at), end);
        } else {
            at = chunks_[c].insert(at, {x, y});
        }
        if (run_goes_on) drop_covered_after(c, y, removed);

        std::optional<Step> right;
        if (std::next(at) != chunks_[c].end()) {
            right = *std::next(at);
        } else if (c + 1 < chunks_.size()) {
            right = chunks_[c + 1].front();
        }
        if (chunks_[c].size() > kChunk) split(c);
        return right;
    }

    // The last step that is not right of x, or null.
    const Step* step_at_or_left(Number x) const {
        if (chunks_.empty()) return nullptr;
        const std::vector<Step>& steps = chunks_[chunk_of(x)];
        const std::size_t right =
            count_leading(steps.size(), [&](std::size_t i) { return steps[i].x <= x; });
        return right == 0 ? nullptr : &steps[right - 1];
    }

    void clear() { chunks_.clear(); }

  private:
    static constexpr std::size_t kChunk = 256;

    static std::ptrdiff_t offset(std::size_t i) { return static_cast<std::ptrdiff_t>(i); }

    // The last chunk that begins at or left of x, or the first chunk.
    std::size_t chunk_of(Number x) const {
        return count_leading(chunks_.size() - 1,
                             [&](std::size_t c) { return chunks_[c + 1].front().x <= x; });
    }

    template <typename Removed>
    void drop_covered_after(std::size_t c, Number y, Removed removed) {
        std::size_t next = c + 1;
        while (next < chunks_.size()) {
            std::vector<Step>& chunk = chunks_[next];
            auto end = chunk.begin();
            while (end != chunk.end() && end->y >= y) removed(*end++);
            if (end != chunk.end()) {
                chunk.erase(chunk.begin(), end);
                break;
            }
            ++next;
        }
        chunks_.erase(chunks_.begin() + offset(c + 1), chunks_.begin() + offset(next));
    }

    void split(std::size_t c) {
        const std::ptrdiff_t half = offset(chunks_[c].size() / 2);
        std::vector<Step> right(chunks_[c].begin() + half, chunks_[c].end());
        chunks_[c].erase(chunks_[c].begin() + half, chunks_[c].end());
        chunks_.insert(chunks_.begin() + offset(c + 1), std::move(right));
    }

    std::vector<std::vector<Step>> chunks_;  // none is empty
};

}  // namespace paretopo::cpu
