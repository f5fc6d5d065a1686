// Empirical attainment surfaces of two and three objectives, smaller is better.
//
// Points come in the order of the third objective. For each run, and for each number of runs, a
// staircase in the first two objectives bounds the region attained so far. A point raises the count
// of attaining runs by one in the part of its region that its run had not attained. There the
// staircase of k - 1 runs, joined with the point, extends that of k runs.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "cpu/quality/indicators.hpp"
#include "cpu/runtime/interrupt.hpp"

namespace paretopo::cpu {
namespace {

struct Step {
    double x, y;
    double z;  // attained from here on
};

// Steps by x; y falls from each to the next.
class Staircase {
  public:
    // The first step after x.
    std::size_t behind(double x) const {
        const auto found = std::upper_bound(steps_.begin(), steps_.end(), x,
                                            [](double at, const Step& s) { return at < s.x; });
        return static_cast<std::size_t>(found - steps_.begin());
    }
    // The lower end of the attained region at x.
    double floor_before(std::size_t behind) const {
        constexpr double kInfinity = std::numeric_limits<double>::infinity();
        return behind == 0 ? kInfinity : steps_[behind - 1].y;
    }
    double floor_at(double x) const { return floor_before(behind(x)); }
    std::size_t size() const { return steps_.size(); }
    const Step& operator[](std::size_t i) const { return steps_[i]; }

    // Inserts a step that no step covers; passes the steps that it covers to `leave`.
    template <typename Leave>
    void insert(const Step& step, const Leave& leave) {
        std::size_t first = behind(step.x);
        if (first > 0 && steps_[first - 1].x == step.x) --first;
        std::size_t end = first;
        while (end < steps_.size() && steps_[end].y >= step.y) leave(steps_[end++]);
        const auto at = [&](std::size_t i) {
            return steps_.begin() + static_cast<std::ptrdiff_t>(i);
        };
        if (first == end) {
            steps_.insert(at(first), step);
        } else {
            steps_[first] = step;
            steps_.erase(at(first + 1), at(end));
        }
    }

  private:
    std::vector<Step> steps_;
};

// Orders points by the third objective, then by the others: then few steps are inserted in vain.
std::vector<std::size_t> sweep_order(const Runs& runs) {
    std::vector<std::size_t> order(runs.points);
    std::iota(order.begin(), order.end(), std::size_t{0});
    const double* values = runs.values;
    const std::size_t width = runs.objectives;
    std::sort(order.begin(), order.end(), [=](std::size_t a, std::size_t b) {
        const double* first = values + a * width;
        const double* second = values + b * width;
        if (width == 3 && first[2] != second[2]) return first[2] < second[2];
        if (first[0] != second[0]) return first[0] < second[0];
        return first[1] < second[1];
    });
    return order;
}

class Sweep {
  public:
    Sweep(const Runs& runs, std::size_t highest)
        : runs_(runs), of_runs_(runs.run_count), of_levels_(highest), found_(highest) {}

    Attained operator()() {
        const double* values = runs_.values;
        const std::size_t width = runs_.objectives;
        const auto depth = [=](std::size_t i) { return width == 3 ? values[i * 3 + 2] : 0.0; };
        for (const std::size_t i : sweep_order(runs_)) {
            check_interrupt();
            add({values[i * width], values[i * width + 1], depth(i)},
                static_cast<std::size_t>(runs_.runs[i]));
        }
        return collect();
    }

  private:
    void add(const Step& point, std::size_t run) {
        Staircase& own = of_runs_[run];
        if (own.floor_at(point.x) <= point.y) return;
        for (std::size_t level = of_levels_.size(); level-- > 1;) raise(point, own, level);
        put(0, point);
        own.insert(point, [](const Step&) {});
    }

    // Extends a level by the part of the level below that the point adds.
    void raise(const Step& point, const Staircase& own, std::size_t level) {
        const Staircase& below = of_levels_[level - 1];
        std::size_t next = below.behind(point.x);
        double x = point.x;
        double floor = below.floor_before(next);
        for (;;) {
            const double y = std::max(point.y, floor);
            // Beyond the region that its run has attained, nothing is new.
            const double attained = own.floor_at(x);
            if (attained <= point.y) return;
            if (y < attained && y < of_levels_[level].floor_at(x)) put(level, {x, y, point.z});
            if (floor <= point.y || next == below.size()) return;
            x = below[next].x;
            floor = below[next].y;
            ++next;
        }
    }

    void put(std::size_t level, const Step& step) {
        if (of_levels_[level].floor_at(step.x) <= step.y) return;
        of_levels_[level].insert(step, [&](const Step& left) {
            if (left.z < step.z) found_[level].push_back(left);
        });
    }

    Attained collect() {
        Attained attained;
        for (std::size_t level = 0; level < of_levels_.size(); ++level) {
            std::vector<Step>& steps = found_[level];
            for (std::size_t i = 0; i < of_levels_[level].size(); ++i) {
                steps.push_back(of_levels_[level][i]);
            }
            std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) {
                if (a.x != b.x) return a.x < b.x;
                return a.y != b.y ? a.y < b.y : a.z < b.z;
            });
            for (const Step& step : steps) {
                attained.values.push_back(step.x);
                attained.values.push_back(step.y);
                if (runs_.objectives == 3) attained.values.push_back(step.z);
                attained.levels.push_back(static_cast<std::int64_t>(level) + 1);
            }
        }
        return attained;
    }

    Runs runs_;
    std::vector<Staircase> of_runs_, of_levels_;
    std::vector<std::vector<Step>> found_;  // steps that later ones have replaced, by level
};

}  // namespace

Attained eaf(const Runs& runs, std::size_t highest) { return Sweep(runs, highest)(); }

void count_attaining(const Runs& runs, std::size_t first_runs, const double* corners,
                     std::size_t count, std::int64_t* counts) {
    std::vector<Staircase> of_runs(runs.run_count);
    for (const std::size_t i : sweep_order(runs)) {
        check_interrupt();
        const Step point{runs.values[2 * i], runs.values[2 * i + 1], 0.0};
        Staircase& own = of_runs[static_cast<std::size_t>(runs.runs[i])];
        if (own.floor_at(point.x) > point.y) own.insert(point, [](const Step&) {});
    }
    for (std::size_t c = 0; c < count; ++c) {
        check_interrupt();
        std::int64_t found[2] = {0, 0};
        for (std::size_t r = 0; r < of_runs.size(); ++r) {
            const bool is_attained = of_runs[r].floor_at(corners[2 * c]) <= corners[2 * c + 1];
            found[r < first_runs ? 0 : 1] += is_attained ? 1 : 0;
        }
        std::copy_n(found, 2, counts + 2 * c);
    }
}

}  // namespace paretopo::cpu
