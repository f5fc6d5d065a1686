// hypervolume, hypervolume_gradient, hypervolume_contributions (both meanings) and hypervolume_gain
// against their definitions, on the CPU and on the emulated GPU. Wild values only test for crashes.
#include <algorithm>

#include "definitions.hpp"
#include "emulated.hpp"
#include "target.hpp"

namespace paretopo::fuzz {

constexpr int kMaxOnGpu = 240;  // points; a GPU refuses larger sets of 6 objectives

// One set, and the values of its points by definition.
template <typename Scalar>
class Defined {
  public:
    Defined(const Input<Scalar>& in, const double* ref, std::int64_t g) : in_(in) {
        for (int i = 0; i < in.batch.points; ++i) {
            sides_.push_back(in.is_present(g, i) ? sides_of(in, ref, g, i) : Row{});
            is_dominated_.push_back(false);
            for (int j = 0; j < in.batch.points && !is_dominated_.back(); ++j) {
                is_dominated_.back() = in.is_present(g, j) && dominates(in, g, j, i);
            }
        }
    }

    double volume() const {
        return volume_of(sides_where([](int) { return true; }));
    }

    double contribution(int i, bool ignore_dominated) const {
        if (sides_at(i).empty() || (ignore_dominated && is_dominated(i))) return 0.0;
        return gain_of(sides_at(i), sides_where([&](int j) {
                           return j != i && !(ignore_dominated && is_dominated(j));
                       }));
    }

    // The volume, in the other objectives, that the point adds to the points before it in objective
    // m.
    double slope(int i, int m) const {
        const Row& own = sides_at(i);
        if (own.empty()) return 0.0;
        const auto at = static_cast<std::size_t>(m);
        Rows before = sides_where([&](int j) {
            const double other = sides_at(j).empty() ? 0.0 : sides_at(j)[at];
            return j != i && (other > own[at] || (other == own[at] && j < i));
        });
        const auto leave_out = [m](Row row) {
            row.erase(row.begin() + m);
            return row;
        };
        std::transform(before.begin(), before.end(), before.begin(), leave_out);
        return in_.sign(m) * gain_of(leave_out(own), before);
    }

  private:
    const Row& sides_at(int i) const { return sides_[static_cast<std::size_t>(i)]; }

    bool is_dominated(int i) const { return is_dominated_[static_cast<std::size_t>(i)]; }

    template <typename Chosen>
    Rows sides_where(Chosen chosen) const {
        Rows rows;
        for (int i = 0; i < in_.batch.points; ++i) {
            if (!sides_at(i).empty() && chosen(i)) rows.push_back(sides_at(i));
        }
        return rows;
    }

    const Input<Scalar>& in_;
    Rows sides_;
    std::vector<bool> is_dominated_;
};

template <typename Scalar>
void run(Bytes& bytes) {
    const bool is_wild = bytes.next() % 4 == 0;
    const Input<Scalar> in(bytes, choose_sizes(bytes, {{0, 3}, {0, 9}, {1, 7}}), !is_wild);
    std::vector<double> ref;
    append_reference(bytes, in, ref);
    const auto groups = static_cast<std::size_t>(in.batch.groups);
    const auto points = static_cast<std::size_t>(in.batch.points);
    const auto objectives = static_cast<std::size_t>(in.batch.objectives);
    std::vector<std::uint8_t> is_wanted(groups * points, 1);
    const bool are_chosen = bytes.next() % 2 == 0;
    if (are_chosen) {
        const int of = bytes.next(1, 20);
        for (std::uint8_t& each : is_wanted) each = bytes.next() % of == 0;
    }
    const std::uint8_t* wanted = are_chosen ? is_wanted.data() : nullptr;

    std::vector<double> volumes(groups), gains(groups), parts(groups * points),
        shadowed(groups * points), slopes(groups * points * objectives);
    const std::int64_t refused = cpu::hypervolume(in.batch, ref.data(), volumes.data());
    cpu::hypervolume_contributions(in.batch, ref.data(), true, parts.data());
    cpu::hypervolume_contributions(in.batch, ref.data(), false, shadowed.data());
    cpu::hypervolume_gain(in.batch, ref.data(), gains.data());
    cpu::hypervolume_gradient(in.batch, ref.data(), wanted, slopes.data());
    const bool fits_gpu = in.batch.points <= kMaxOnGpu;
    std::vector<double> gpu_volumes(groups), gpu_parts(groups * points),
        gpu_shadowed(groups * points), gpu_slopes(groups * points * objectives);
    if (fits_gpu) {
        OnGpu<Scalar> device(in.batch, bytes);
        gpu::hypervolume(device.place(gpu::hypervolume_scratch), in.batch, ref.data(),
                         gpu_volumes.data());
        gpu::hypervolume_contributions(device.place(gpu::hypervolume_contributions_scratch),
                                       in.batch, ref.data(), true, gpu_parts.data());
        gpu::hypervolume_contributions(device.place(gpu::hypervolume_contributions_scratch),
                                       in.batch, ref.data(), false, gpu_shadowed.data());
        gpu::hypervolume_gradient(device.place(gpu::hypervolume_gradient_scratch), in.batch,
                                  ref.data(), wanted, gpu_slopes.data());
    }
    if (refused != kNoneRefused || is_wild) return;

    // Checks only a few of many points; the input chooses them.
    const std::size_t step = 1 + groups * points / 32;
    const std::size_t first = bytes.next() % step;
    for (std::int64_t g = 0; g < in.batch.groups; ++g) {
        const Defined<Scalar> defined(in, ref.data(), g);
        const double whole = defined.volume();
        const auto expect = [&](const char* what, int i, double ours, double expected) {
            if (!near(ours, expected, 1.0 + whole)) mismatch(in, what, g, i, ours, expected);
        };
        expect("hypervolume", -1, volumes[static_cast<std::size_t>(g)], whole);
        const auto expect_on_gpu = [&](const char* what, int i, double theirs, double ours) {
            if (fits_gpu) expect(what, i, theirs, ours);
        };
        expect_on_gpu("hypervolume on a GPU", -1, gpu_volumes[static_cast<std::size_t>(g)], whole);
        const int last = in.batch.points - 1;
        if (last >= 0) {
            const double gain = in.is_present(g, last) ? defined.contribution(last, false) : 0.0;
            expect("gain", last, gains[static_cast<std::size_t>(g)], gain);
        }
        for (int i = 0; i < in.batch.points; ++i) {
            const auto at = static_cast<std::size_t>(g * in.batch.points + i);
            expect_on_gpu("contribution on a GPU", i, gpu_shadowed[at], shadowed[at]);
            expect_on_gpu("contribution among the best on a GPU", i, gpu_parts[at], parts[at]);
            const bool is_checked = at % step == first;
            if (is_checked) {
                expect("contribution", i, shadowed[at], defined.contribution(i, false));
                expect("contribution among the best", i, parts[at], defined.contribution(i, true));
            }
            for (int m = 0; m < in.batch.objectives; ++m) {
                const std::size_t of = at * objectives + static_cast<std::size_t>(m);
                expect_on_gpu("slope on a GPU", i, gpu_slopes[of], slopes[of]);
                if (is_checked) {
                    expect("slope", i, slopes[of], is_wanted[at] ? defined.slope(i, m) : 0.0);
                }
            }
        }
    }
}

}  // namespace paretopo::fuzz
