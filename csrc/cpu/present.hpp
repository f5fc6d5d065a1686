// The points of one group that count, copied into memory of our own: what another thread of the
// host program does to its array meanwhile cannot reach the algorithms.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ops.hpp"

namespace paretopo::cpu {

template <typename Scalar>
struct Present {
    std::vector<Scalar> values;       // (count, objectives)
    std::vector<std::int32_t> index;  // where each came from
    std::int32_t count = 0;

    void take(const Batch<Scalar>& batch, std::int64_t g) {
        const Scalar* group = batch.group(g);
        const std::uint8_t* mask = batch.group_mask(g);
        const auto objectives = static_cast<std::size_t>(batch.objectives);
        values.resize(static_cast<std::size_t>(batch.points) * objectives);
        index.resize(static_cast<std::size_t>(batch.points));
        count = 0;
        for (std::int32_t i = 0; i < batch.points; ++i) {
            if (mask && mask[i] == 0) continue;
            std::copy_n(group + i * static_cast<std::int64_t>(objectives), objectives,
                        values.data() + static_cast<std::size_t>(count) * objectives);
            index[static_cast<std::size_t>(count++)] = i;
        }
    }

    // Some points of another set, by their place there.
    void take(const Present& from, const std::vector<std::int32_t>& places,
              std::int32_t objectives) {
        const auto width = static_cast<std::size_t>(objectives);
        values.resize(places.size() * width);
        index = places;
        count = static_cast<std::int32_t>(places.size());
        for (std::size_t k = 0; k < places.size(); ++k) {
            std::copy_n(from.values.data() + static_cast<std::size_t>(places[k]) * width, width,
                        values.data() + k * width);
        }
    }
};

}  // namespace paretopo::cpu
