// expected_hypervolume and hypervolume_advantage. Small groups are compared with means over all
// subsets; others only for draws of one point or of all, where the result is known. Wild values
// only test for crashes. The emulated GPU gives the same bits.
#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "definitions.hpp"
#include "emulated.hpp"
#include "target.hpp"

namespace paretopo::fuzz {

constexpr int kFew = 6;         // points; all their subsets are measured
constexpr int kMaxOnGpu = 100;  // points; a GPU refuses groups that are much larger

// Grids of large sets: C(points + objectives - 1, objectives) cells are a few million at most.
Sizes choose_grids(Bytes& bytes) {
    constexpr Sizes kLarge[] = {{{1, 2}, {33, 300}, {1, 2}},
                                {{1, 2}, {33, 200}, {3, 3}},
                                {{1, 2}, {33, 80}, {4, 4}},
                                {{1, 2}, {33, 45}, {5, 5}},
                                {{1, 2}, {33, 33}, {6, 6}}};
    const int chosen = bytes.next() % 16;
    if (chosen == 0) return kLarge[bytes.next() % 5];
    if (chosen <= 3) return {{4, 40}, {1, 33}, {1, 3}};
    return {{0, 3}, {0, kFew}, {1, 5}};
}

// The results by definition: for centre "exact" or "none", for every row. A row without sides
// belongs to a point that is not better than the reference.
struct Defined {
    double volume;
    std::vector<double> advantages;
};

template <typename Chosen>
double volume_where(const Rows& rows, Chosen chosen) {
    Rows counted;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (!rows[i].empty() && chosen(i)) counted.push_back(rows[i]);
    }
    return volume_of(counted);
}

// The mean over the subsets of `size` points that exclude those of `without`, each joined with
// those of `with`. Subsets are bit sets.
double mean_of(const std::vector<double>& volumes, int size, std::size_t without,
               std::size_t with) {
    double sum = 0.0;
    int count = 0;
    for (std::size_t subset = 0; subset < volumes.size(); ++subset) {
        if (std::popcount(subset) != size || (subset & without) != 0) continue;
        sum += volumes[subset | with];
        ++count;
    }
    return sum / count;
}

Defined over_all_subsets(const Rows& rows, int drawn, bool is_exact) {
    std::vector<double> volumes(std::size_t{1} << rows.size());
    for (std::size_t subset = 0; subset < volumes.size(); ++subset) {
        volumes[subset] = volume_where(rows, [&](std::size_t i) { return subset >> i & 1; });
    }
    Defined defined{mean_of(volumes, drawn, 0, 0), {}};
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::size_t own = std::size_t{1} << i;
        const double fewer = mean_of(volumes, drawn - 1, own, 0);
        double advantage = mean_of(volumes, drawn - 1, own, own) - fewer;
        if (is_exact && std::cmp_less(drawn, rows.size())) {
            advantage -= mean_of(volumes, drawn, own, 0) - fewer;
        }
        defined.advantages.push_back(advantage);
    }
    return defined;
}

Defined where_one_is_drawn(const Rows& rows, bool is_exact) {
    Defined defined{0.0, {}};
    const auto count = static_cast<double>(rows.size());
    for (const Row& row : rows) {
        defined.advantages.push_back(row.empty() ? 0.0 : box_of(row));
        defined.volume += defined.advantages.back() / count;
    }
    for (double& advantage : defined.advantages) {
        const double others = (count * defined.volume - advantage) / (count - 1.0);
        if (is_exact) advantage -= others;
    }
    return defined;
}

Defined where_all_are_drawn(const Rows& rows) {
    Defined defined{volume_where(rows, [](std::size_t) { return true; }), {}};
    for (std::size_t i = 0; i < rows.size(); ++i) {
        Rows others = rows;
        others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
        std::erase(others, Row{});
        defined.advantages.push_back(rows[i].empty() ? 0.0 : gain_of(rows[i], others));
    }
    return defined;
}

template <typename Scalar>
void run(Bytes& bytes) {
    const bool is_wild = bytes.next() % 4 == 0;
    const Input<Scalar> in(bytes, choose_grids(bytes), !is_wild);
    const auto groups = static_cast<std::size_t>(in.batch.groups);
    const auto points = static_cast<std::size_t>(in.batch.points);
    const bool per_group = bytes.next() % 2 == 0;
    std::vector<double> ref;
    for (std::size_t g = 0; g < (per_group ? std::max<std::size_t>(groups, 1) : 1); ++g) {
        append_reference(bytes, in, ref);
    }
    const int all = std::max(in.batch.points, 1);
    const int any = bytes.next(1, all);
    const std::uint8_t draws = bytes.next();
    const int k = draws % 4 == 0 ? 1 : draws % 4 == 1 ? all : any;
    const auto centre = static_cast<Centre>(bytes.next() % 5);
    std::vector<double> volumes(groups), gpu_volumes(groups);
    std::vector<Scalar> advantages(groups * points), gpu_advantages(groups * points);
    const std::int64_t refused =
        cpu::expected_hypervolume(in.batch, ref.data(), per_group, k, volumes.data());
    cpu::hypervolume_advantage(in.batch, ref.data(), per_group, k, centre, advantages.data());
    const bool fits_gpu = in.batch.points <= kMaxOnGpu;
    if (fits_gpu) {
        OnGpu<Scalar> device(in.batch, bytes);
        gpu::expected_hypervolume(device.place(gpu::expected_hypervolume_scratch), in.batch,
                                  ref.data(), per_group, k, gpu_volumes.data());
        gpu::hypervolume_advantage(device.place(gpu::hypervolume_advantage_scratch), in.batch,
                                   ref.data(), per_group, k, centre, gpu_advantages.data());
    }
    if (refused != kNoneRefused || is_wild) return;

    for (std::int64_t g = 0; g < in.batch.groups; ++g) {
        const auto at = static_cast<std::size_t>(g);
        if (fits_gpu && std::memcmp(&volumes[at], &gpu_volumes[at], sizeof(double)) != 0) {
            mismatch(in, "expected hypervolume on a GPU", g, -1, gpu_volumes[at], volumes[at]);
        }
        for (std::size_t i = at * points; fits_gpu && i < (at + 1) * points; ++i) {
            if (advantages[i] == gpu_advantages[i]) continue;
            mismatch(in, "advantage on a GPU", g, static_cast<int>(i - at * points),
                     gpu_advantages[i], advantages[i]);
        }
        const double* corner = ref.data() + (per_group ? g * in.batch.objectives : 0);
        std::vector<int> present;
        Rows rows;
        for (int i = 0; i < in.batch.points; ++i) {
            if (!in.is_present(g, i)) continue;
            present.push_back(i);
            rows.push_back(sides_of(in, corner, g, i));
        }
        const int count = static_cast<int>(rows.size());
        const int drawn = std::min(k, count);
        const bool is_exact = centre == Centre::kExact;
        if (count > kFew && drawn != 1 && drawn != count) continue;
        const Defined defined = count <= kFew ? over_all_subsets(rows, drawn, is_exact)
                                : drawn == 1  ? where_one_is_drawn(rows, is_exact)
                                              : where_all_are_drawn(rows);
        if (!near(volumes[at], defined.volume, 1.0)) {
            mismatch(in, "expected hypervolume", g, -1, volumes[at], defined.volume);
        }
        if (!is_exact && centre != Centre::kNone) continue;
        double scale = 1.0;
        for (const Row& row : rows) scale += row.empty() ? 0.0 : box_of(row);
        const double digits = sizeof(Scalar) == 4 ? 1e-6 : 1e-10;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const double ours = advantages[at * points + static_cast<std::size_t>(present[i])];
            if (std::fabs(ours - defined.advantages[i]) > digits * scale) {
                mismatch(in, "advantage", g, present[i], ours, defined.advantages[i]);
            }
        }
    }
}

}  // namespace paretopo::fuzz
