// The minima of a growing planar set: x ascends, y strictly descends. Steps live in short sorted
// chunks, so that an insertion moves at most one chunk however long the staircase gets.
//
// Source of the idea: Kung, Luccio, Preparata, 1975, "On finding the maxima of a set of vectors".
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

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
        auto at = std::lower_bound(chunks_[c].begin(), chunks_[c].end(), x, is_left_of);

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
        const auto& chunk = chunks_[chunk_of(x)];
        const auto right = std::upper_bound(chunk.begin(), chunk.end(), x, is_right_of);
        return right == chunk.begin() ? nullptr : &*std::prev(right);
    }

    void clear() { chunks_.clear(); }

  private:
    static constexpr std::size_t kChunk = 256;

    static bool is_left_of(const Step& step, Number x) { return step.x < x; }
    static bool is_right_of(Number x, const Step& step) { return x < step.x; }

    // The last chunk that begins at or left of x, or the first chunk.
    std::size_t chunk_of(Number x) const {
        const auto after = std::upper_bound(
            std::next(chunks_.begin()), chunks_.end(), x,
            [](Number value, const std::vector<Step>& chunk) { return value < chunk.front().x; });
        return static_cast<std::size_t>(std::distance(chunks_.begin(), after)) - 1;
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
        chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(c + 1),
                      chunks_.begin() + static_cast<std::ptrdiff_t>(next));
    }

    void split(std::size_t c) {
        const auto half = static_cast<std::ptrdiff_t>(chunks_[c].size() / 2);
        std::vector<Step> right(chunks_[c].begin() + half, chunks_[c].end());
        chunks_[c].erase(chunks_[c].begin() + half, chunks_[c].end());
        chunks_.insert(chunks_.begin() + static_cast<std::ptrdiff_t>(c + 1), std::move(right));
    }

    std::vector<std::vector<Step>> chunks_;  // none is empty
};

}  // namespace paretopo::cpu
