// One front of a large set. Answers whether any of its points dominates a given point. Points come
// in lexicographic order, so that objective 0 never needs a comparison.
//
// Points are kept in buckets by a coarse code of their other objectives. A few instructions find
// the buckets that may hold a dominator, and the buckets that hold only dominators. Only the former
// are searched, one vector of points at a time. Efficient non-dominated sort after Zhang et al.,
// 2015; buckets after the trees of Gustavsson and Syberfeldt, 2018, in a flat layout.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "cpu/lanes/ranking.hpp"
#include "cpu/lanes/simd/simd.hpp"

namespace paretopo::cpu::PARETOPO_LANES {

// The layout of coarse codes: `fields` objectives of `bits` bits each, with a guard bit above each.
struct Coarse {
    int fields;
    int bits;
    std::uint32_t guards;
    std::uint32_t ones;
    std::vector<std::int64_t> scale;  // code * scale >> 32 is the field

    Coarse(std::int32_t distinct, int objectives) {
        constexpr int kMaxBits = 9;  // a front then has few enough buckets to scan
        const int rest = objectives - 1;
        const int width = std::bit_width(static_cast<unsigned>(distinct));
        const int total = std::clamp(width - 4, 2, kMaxBits);
        bits = std::clamp(total / rest, 1, 3);
        fields = std::min({rest, std::max(1, total / bits), 32 / (bits + 1)});
        // In a large set, halves of each objective are too coarse. With quarters, one front of a
        // million points with 6 objectives takes a third of the time.
        if (bits == 1 && width >= 14 + rest) {
            bits = 2;
            fields = std::min(rest, 32 / (bits + 1));
        }
        guards = ones = 0;
        for (int f = 0; f < fields; ++f) {
            ones |= std::uint32_t{1} << f * (bits + 1);
            guards |= std::uint32_t{1} << (f * (bits + 1) + bits);
        }
    }

    // `highest[m]`: the largest code of objective m.
    void set_ranges(const std::vector<std::int32_t>& highest) {
        scale.clear();
        for (int f = 0; f < fields; ++f) {
            const std::int64_t levels = std::int64_t{1} << bits;
            scale.push_back((levels << 32) /
                            (std::int64_t{highest[static_cast<std::size_t>(f) + 1]} + 1));
        }
    }

    std::uint32_t of(const std::int32_t* rest) const {
        std::uint32_t code = 0;
        for (int f = 0; f < fields; ++f) {
            const auto field =
                static_cast<std::uint32_t>(rest[f] * scale[static_cast<std::size_t>(f)] >> 32);
            code |= field << f * (bits + 1);
        }
        return code;
    }
};

// A point being queried or inserted: its codes for objectives 1 and up, as scalars and as vectors.
struct Query {
    using V = Lanes<float>;

    Query(const Coarse& coarse, int rest)
        : coarse_(coarse),
          codes(static_cast<std::size_t>(rest)),
          vectors(static_cast<std::size_t>(rest)) {}

    void take(const CodeColumns& set, std::int32_t d) {
        for (std::size_t m = 0; m < codes.size(); ++m) {
            codes[m] = set.codes[m + 1][d];
            vectors[m] = V::all_int(codes[m]);
        }
        bucket = coarse_.of(codes.data());
    }

    const Coarse& coarse_;
    std::vector<std::int32_t> codes;
    std::vector<V::I> vectors;
    std::uint32_t bucket = 0;
};

class Front {
    using V = Lanes<float>;
    using I = V::I;
    using Mask = V::Mask;
    static constexpr int kLanes = V::kLanes;

  public:
    bool dominates(const Query& query) const {
        const Coarse& coarse = query.coarse_;
        const I guards = V::all_int(static_cast<std::int32_t>(coarse.guards));
        const I ones = V::all_int(static_cast<std::int32_t>(coarse.ones));
        const I raised = V::all_int(static_cast<std::int32_t>(query.bucket | coarse.guards));
        // A bucket that is lower in every field holds dominators only.
        bool may = false;
        if (coarse.fields == static_cast<int>(query.codes.size())) {
            for (const I& codes : codes_) {
                const I gap = raised - codes;
                if (V::any(V::equal((gap - ones) & guards, guards))) return true;
                may = may || V::any(V::equal(gap & guards, guards));
            }
            if (!may) return false;
        }
        for (std::size_t v = 0; v < codes_.size(); ++v) {
            const Mask mask = V::equal((raised - codes_[v]) & guards, guards);
            if (!V::any(mask)) continue;
            for (unsigned bits = V::bits(mask); bits != 0; bits &= bits - 1) {
                const std::size_t b = v * kLanes + static_cast<std::size_t>(std::countr_zero(bits));
                if (b < buckets_.size() && buckets_[b].dominates(query.vectors)) return true;
            }
        }
        return false;
    }

    void add(const Query& query) {
        const I code = V::all_int(static_cast<std::int32_t>(query.bucket));
        std::size_t v = 0;
        while (v < codes_.size() && !V::any(V::equal(codes_[v], code))) ++v;
        std::size_t b = std::min(v * kLanes, buckets_.size());
        while (b < buckets_.size() && bucket_codes_[b] != query.bucket) ++b;
        if (b == buckets_.size()) {
            buckets_.emplace_back();
            bucket_codes_.push_back(query.bucket);
            if (b % kLanes == 0) {
                // Lanes without a bucket get the highest first field, which no point exceeds.
                codes_.push_back(V::all_int((1 << query.coarse_.bits) - 1));
            }
            codes_.back()[static_cast<int>(b % kLanes)] = static_cast<std::int32_t>(query.bucket);
        }
        buckets_[b].add(query.codes);
    }

  private:
    static constexpr std::int32_t kNowhere = std::numeric_limits<std::int32_t>::max();

    class Bucket {
      public:
        bool dominates(const std::vector<I>& query) const {
            const std::size_t width = query.size();
            for (std::size_t at = 0; at < blocks_.size(); at += width) {
                Mask worse = V::greater(blocks_[at], query[0]);
                for (std::size_t m = 1; m < width; ++m) {
                    worse = V::either(worse, V::greater(blocks_[at + m], query[m]));
                }
                if (!V::every(worse)) return true;
            }
            return false;
        }

        void add(const std::vector<std::int32_t>& point) {
            const std::size_t width = point.size();
            const int lane = static_cast<int>(size_++ % kLanes);
            if (lane == 0) blocks_.resize(blocks_.size() + width, V::all_int(kNowhere));
            I* block = &blocks_[blocks_.size() - width];
            for (std::size_t m = 0; m < width; ++m) block[m][lane] = point[m];
        }

      private:
        std::vector<I> blocks_;  // [block][objective]; empty lanes dominate no point
        std::size_t size_ = 0;
    };

    std::vector<Bucket> buckets_;
    std::vector<std::uint32_t> bucket_codes_;
    std::vector<I> codes_;
};

}  // namespace paretopo::cpu::PARETOPO_LANES
