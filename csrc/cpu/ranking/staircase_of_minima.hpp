// The minima of a growing planar set: x ascends, y strictly descends. Steps are in short sorted
// chunks, so that an insertion moves at most one chunk, however long the staircase. A short
// staircase takes little memory, because a set may have a staircase for each of its fronts.
//
// Source of the idea: Kung, Luccio, Preparata, 1975, "On finding the maxima of a set of vectors".
#pragma once

#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "cpu/sorting/count_leading.hpp"
#include "portability.hpp"

namespace paretopo::cpu {

template <typename Number>
class StaircaseOfMinima {
  public:
    // The place at which a point becomes a step.
    struct Place {
        std::size_t chunk = 0;
        std::size_t right = 0;    // the number of steps of the chunk at or left of x
        bool is_covered = false;  // Is there a step at or left of x that is at or below y?
    };

    PARETOPO_INLINE Place find(Number x, Number y) const {
        if (chunks_.empty()) return {};
        const std::size_t c = chunk_of(x);
        const Step* const steps = chunks_[c].data();
        const std::size_t right =
            count_leading(chunks_[c].size(), [&](std::size_t i) { return steps[i].x <= x; });
        return {c, right, right > 0 && steps[right - 1].y <= y};
    }

    // Adds (x, y) at its place, which must not be covered, and removes the steps that it covers.
    // Takes the numbers of the place, not a reference to it, so that they stay in registers.
    void insert(std::size_t c, std::size_t right, Number x, Number y) {
        if (chunks_.empty()) return chunks_.push_back({{x, y}});
        Steps& steps = chunks_[c];
        const bool is_above = right > 0 && steps[right - 1].x == x;
        // Covered steps are a run that starts here and may reach into later chunks.
        const auto at = steps.begin() + offset(right - (is_above ? 1 : 0));
        const auto end = end_of_covered(steps, at, y);
        if (end == steps.end()) drop_covered_after(c, y);
        if (end != at) {
            *at = {x, y};
            steps.erase(std::next(at), end);
        } else {
            steps.insert(at, {x, y});
        }
        if (chunks_[c].size() > kChunk) split(c);
    }

    bool covers(Number x, Number y) const { return find(x, y).is_covered; }

    // Adds (x, y) if it is not covered, and returns true in that case.
    bool enter(Number x, Number y) {
        const Place place = find(x, y);
        if (!place.is_covered) insert(place.chunk, place.right, x, y);
        return !place.is_covered;
    }

    void clear() { chunks_.clear(); }

  private:
    static constexpr std::size_t kChunk = 256;

    struct Step {
        Number x;
        Number y;
    };
    using Steps = std::vector<Step>;

    static std::ptrdiff_t offset(std::size_t i) { return static_cast<std::ptrdiff_t>(i); }

    // The last chunk that begins at or left of x, or the first chunk.
    std::size_t chunk_of(Number x) const {
        return count_leading(chunks_.size() - 1,
                             [&](std::size_t c) { return chunks_[c + 1].front().x <= x; });
    }

    static typename Steps::iterator end_of_covered(Steps& steps, typename Steps::iterator at,
                                                   Number y) {
        while (at != steps.end() && at->y >= y) ++at;
        return at;
    }

    void drop_covered_after(std::size_t c, Number y) {
        std::size_t next = c + 1;
        while (next < chunks_.size() && chunks_[next].back().y >= y) ++next;
        if (next < chunks_.size()) {
            Steps& chunk = chunks_[next];
            chunk.erase(chunk.begin(), end_of_covered(chunk, chunk.begin(), y));
        }
        chunks_.erase(chunks_.begin() + offset(c + 1), chunks_.begin() + offset(next));
    }

    void split(std::size_t c) {
        const std::ptrdiff_t half = offset(chunks_[c].size() / 2);
        Steps right(chunks_[c].begin() + half, chunks_[c].end());
        chunks_[c].erase(chunks_[c].begin() + half, chunks_[c].end());
        chunks_.insert(chunks_.begin() + offset(c + 1), std::move(right));
    }

    std::vector<Steps> chunks_;  // none is empty
};

}  // namespace paretopo::cpu
