#include "cpu/ranking/epsilon_boxes.hpp"

#include <atomic>
#include <bit>
#include <cstddef>
#include <vector>

#include "cpu/runtime/for_each_group.hpp"
#include "cpu/runtime/interrupt.hpp"
#include "cpu/runtime/scratch_array.hpp"
#include "formulas/dominance.hpp"
#include "ops.hpp"

namespace paretopo::cpu {
namespace {

// Sorts NaN after all numbers.
bool is_before(double a, double b) { return a < b || (b != b && a == a); }

// Orients a value: smaller is better, and both zeros are equal.
template <typename Scalar>
double turned(const Batch<Scalar>& batch, Scalar value, std::int32_t m) {
    const auto wide = static_cast<double>(value);
    return (batch.is_minimised(m) ? wide : -wide) + 0.0;
}

// Keeps the best of the points of one group that share a box.
template <typename Scalar>
class OneInEachBox {
  public:
    // boxes: their numbers for each point, (groups, points, width), smaller is better.
    OneInEachBox(const Batch<Scalar>& batch, const Batch<double>& boxes, const double* distances,
                 std::uint8_t* kept)
        : batch_(batch), boxes_(boxes), distances_(distances), kept_(kept) {}

    void operator()(std::int64_t g) {
        std::uint8_t* kept = kept_ + g * batch_.points;
        std::size_t count = 0;
        for (std::int32_t i = 0; i < batch_.points; ++i) count += kept[i];
        if (count < 2) return;
        slots_.assign(std::bit_ceil(2 * count), kEmpty);
        for (std::int32_t i = 0; i < batch_.points; ++i) {
            if (kept[i] == 0) continue;
            check_interrupt();
            std::int32_t& held = slot_of(g, i);
            if (held == kEmpty) {
                held = i;
            } else if (is_better(g, i, held)) {
                kept[held] = 0;
                held = i;
            } else {
                kept[i] = 0;
            }
        }
    }

  private:
    static constexpr std::int32_t kEmpty = -1;

    Key<double> number(std::int64_t g, std::int32_t i, std::int32_t m) const {
        return key_of(boxes_.group(g)[std::int64_t{i} * boxes_.objectives + m], false);
    }

    // The hash slot of the box of point i.
    std::int32_t& slot_of(std::int64_t g, std::int32_t i) {
        std::uint64_t mixed = 0;
        for (std::int32_t m = 0; m < boxes_.objectives; ++m) {
            mixed = (mixed ^ static_cast<std::uint64_t>(number(g, i, m))) * 0x9e3779b97f4a7c15u;
            mixed ^= mixed >> 32;
        }
        const std::size_t most = slots_.size() - 1;
        for (std::size_t at = mixed & most;; at = (at + 1) & most) {
            if (slots_[at] == kEmpty || is_same_box(g, i, slots_[at])) return slots_[at];
        }
    }

    bool is_same_box(std::int64_t g, std::int32_t i, std::int32_t j) const {
        for (std::int32_t m = 0; m < boxes_.objectives; ++m) {
            if (number(g, i, m) != number(g, j, m)) return false;
        }
        return true;
    }

    // True if point j comes before point i.
    bool is_better(std::int64_t g, std::int32_t i, std::int32_t j) const {
        const double* distances = distances_ + g * batch_.points;
        if (is_before(distances[i], distances[j])) return true;
        if (is_before(distances[j], distances[i])) return false;
        const Scalar* group = batch_.group(g);
        for (std::int32_t m = 0; m < batch_.objectives; ++m) {
            const auto width = static_cast<std::int64_t>(batch_.objectives);
            const double one = turned(batch_, group[i * width + m], m);
            const double other = turned(batch_, group[j * width + m], m);
            if (is_before(one, other)) return true;
            if (is_before(other, one)) return false;
        }
        return false;
    }

    Batch<Scalar> batch_;
    Batch<double> boxes_;
    const double* distances_;
    std::uint8_t* kept_;
    std::vector<std::int32_t> slots_;
};

}  // namespace

template <typename Scalar>
void filter_boxes(Batch<Scalar> batch, const double* sides, std::uint8_t* kept) {
    if (batch.is_empty()) return;
    const auto points = static_cast<std::size_t>(batch.groups * batch.points);
    ScratchArray<double> numbers;
    ScratchArray<double> distances;
    distances.resize(points);
    const double cost = 2.0 * batch.points * batch.objectives;
    // Negative, for larger is better: then any number of objectives can be compared.
    const auto number_boxes = [&](std::int32_t columns) {
        const std::int32_t width = columns * batch.objectives;
        std::atomic<bool> has_own{false};
        numbers.resize(points * static_cast<std::size_t>(width));
        for_each_group(batch.groups, cost, [&](std::int64_t g) {
            const Scalar* at = batch.group(g);
            double* number = numbers.data() + g * batch.points * width;
            double* distance = distances.data() + g * batch.points;
            for_each_item(static_cast<std::size_t>(batch.points), [&](std::size_t i) {
                double sum = 0.0;
                for (std::int32_t m = 0; m < batch.objectives; ++m) {
                    const InBox place = place_in_box(turned(batch, *at++, m), sides[m]);
                    sum += place.part * place.part;
                    *number++ = -place.box;
                    if (columns == 2) *number++ = -place.own;
                    if (place.own != 0.0) has_own.store(true, std::memory_order_relaxed);
                }
                distance[i] = sum;
            });
        });
        return has_own.load();
    };
    std::int32_t columns = 1;
    if (number_boxes(columns)) number_boxes(columns = 2);
    const Batch<double> boxes{
        numbers.data(), batch.mask, batch.groups, batch.points, columns * batch.objectives, 0};
    is_nondominated(boxes, true, kept);
    for_each_group(batch.groups, 10.0 * batch.points,
                   OneInEachBox<Scalar>(batch, boxes, distances.data(), kept));
}

template void filter_boxes(Batch<float>, const double*, std::uint8_t*);
template void filter_boxes(Batch<double>, const double*, std::uint8_t*);

}  // namespace paretopo::cpu
