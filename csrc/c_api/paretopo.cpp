// The functions of paretopo.h: each checks its arguments and calls an operation of the core.
#include "c_api/paretopo.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <vector>

#include "cpu/archive/recorded_archive.hpp"
#include "formulas/sides.hpp"
#include "ops.hpp"

using paretopo::Batch;

struct paretopo_archive {
    std::vector<double> signs, ref;  // no reference: empty
    paretopo::cpu::RecordedArchive core;
};

namespace {

constexpr std::int64_t kMostPoints = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMostObjectives = 64;  // bits of Batch::minimised
constexpr std::int64_t kMostValues = PTRDIFF_MAX / sizeof(double);

// No exception crosses the border to C.
template <typename Work>
int status_of(const Work& work) noexcept {
    try {
        return work();
    } catch (const std::bad_alloc&) {
        return PARETOPO_OUT_OF_MEMORY;
    } catch (...) {
        return PARETOPO_FAILED;
    }
}

bool is_flag(int given) { return given == 0 || given == 1; }

int check_objectives(std::int64_t n_objectives, const int* maximise) {
    if (n_objectives < 1 || n_objectives > kMostObjectives) return PARETOPO_BAD_N_OBJECTIVES;
    if (maximise && !std::all_of(maximise, maximise + n_objectives, is_flag)) {
        return PARETOPO_BAD_MAXIMISE;
    }
    return PARETOPO_OK;
}

int check_ref(const double* ref, std::int64_t n_ref, std::int64_t n_objectives) {
    if (!ref) return PARETOPO_NULL_REF;
    if (n_ref != n_objectives) return PARETOPO_BAD_N_REF;
    const auto is_finite = [](double each) { return std::isfinite(each); };
    return std::all_of(ref, ref + n_ref, is_finite) ? PARETOPO_OK : PARETOPO_BAD_REF;
}

// The points of a call, and the first reason against them.
struct Input {
    Input(const double* points, std::int64_t n_sets, std::int64_t n_points,
          std::int64_t n_objectives, const int* maximise) {
        status = check(points, n_sets, n_points, n_objectives, maximise);
        if (status != PARETOPO_OK) return;
        batch = {points,
                 nullptr,
                 n_sets,
                 static_cast<std::int32_t>(n_points),
                 static_cast<std::int32_t>(n_objectives),
                 0};
        for (std::int64_t m = 0; maximise && m < n_objectives; ++m) {
            if (!maximise[m]) batch.minimised |= std::uint64_t{1} << m;
        }
    }

    static int check(const double* points, std::int64_t n_sets, std::int64_t n_points,
                     std::int64_t n_objectives, const int* maximise) {
        if (n_sets < 0) return PARETOPO_BAD_N_SETS;
        if (n_points < 0 || n_points > kMostPoints) return PARETOPO_BAD_N_POINTS;
        const int status = check_objectives(n_objectives, maximise);
        if (status != PARETOPO_OK) return status;
        const std::int64_t width = std::max<std::int64_t>(n_points, 1) * n_objectives;
        if (n_sets > kMostValues / width) return PARETOPO_TOO_MANY_VALUES;
        return points || n_sets == 0 || n_points == 0 ? PARETOPO_OK : PARETOPO_NULL_POINTS;
    }

    // `result` may be null if it has no elements.
    int with_result(const void* result, bool is_per_set = false) const {
        if (status != PARETOPO_OK || result) return status;
        const bool has_none = batch.groups == 0 || (!is_per_set && batch.points == 0);
        return has_none ? PARETOPO_OK : PARETOPO_NULL_RESULT;
    }

    Batch<double> batch{};
    int status;
};

int status_of_refused(std::int64_t refused) {
    return refused == paretopo::kNoneRefused ? PARETOPO_OK : PARETOPO_BAD_POINTS;
}

// An archive refuses all points if it refuses one.
bool takes(const paretopo_archive& archive, const double* points, std::int64_t n_points) {
    const std::size_t width = archive.core.width();
    for (std::size_t i = 0; i < static_cast<std::size_t>(n_points) * width; ++i) {
        const double sign = archive.signs[i % width];
        const double ref = archive.ref.empty() ? 0.0 : archive.ref[i % width];
        if (!std::isfinite(points[i])) return false;
        if (paretopo::is_refused(sign * points[i], sign * ref)) return false;
    }
    return true;
}

}  // namespace

int paretopo_version(void) { return PARETOPO_VERSION_NUMBER; }

const char* paretopo_message(int status) {
    switch (status) {
        case PARETOPO_OK:
            return "no error";
        case PARETOPO_BAD_N_SETS:
            return "n_sets must be 0 or more";
        case PARETOPO_BAD_N_POINTS:
            return "n_points must be 0 to 2147483647";
        case PARETOPO_BAD_N_OBJECTIVES:
            return "n_objectives must be 1 to 64";
        case PARETOPO_BAD_N_REF:
            return "n_ref must equal n_objectives, or be 0 in paretopo_archive_open without ref";
        case PARETOPO_TOO_MANY_VALUES:
            return "n_sets * n_points * n_objectives values exceed the address space";
        case PARETOPO_NULL_POINTS:
            return "points must not be NULL unless there are none";
        case PARETOPO_NULL_REF:
            return "ref must not be NULL";
        case PARETOPO_NULL_RESULT:
            return "the result, the last argument, must not be NULL";
        case PARETOPO_NULL_ARCHIVE:
            return "archive must not be NULL: open one with paretopo_archive_open";
        case PARETOPO_BAD_MAXIMISE:
            return "maximise must be NULL or hold 1 or 0 for each objective";
        case PARETOPO_BAD_KEEP_DUPLICATES:
            return "keep_duplicates must be 1 or 0";
        case PARETOPO_BAD_IGNORE_DOMINATED:
            return "ignore_dominated must be 1 or 0";
        case PARETOPO_BAD_REF:
            return "ref must be finite";
        case PARETOPO_BAD_POINTS:
            return "points must be numbers, finite on the better side (in an archive on both), at "
                   "distances from ref that a double can hold";
        case PARETOPO_OUT_OF_MEMORY:
            return "out of memory: pass fewer points in a call";
        case PARETOPO_FAILED:
            return "the call failed for an unexpected reason, which is an error in paretopo";
        default:
            return "status must be a value of enum paretopo_status";
    }
}

int paretopo_pareto_rank(const double* points, int64_t n_sets, int64_t n_points,
                         int64_t n_objectives, const int* maximise, int32_t* ranks) {
    const Input input(points, n_sets, n_points, n_objectives, maximise);
    const int status = input.with_result(ranks);
    if (status != PARETOPO_OK) return status;
    return status_of([&] {
        paretopo::cpu::pareto_rank(input.batch, ranks);
        return PARETOPO_OK;
    });
}

int paretopo_is_nondominated(const double* points, int64_t n_sets, int64_t n_points,
                             int64_t n_objectives, const int* maximise, int keep_duplicates,
                             uint8_t* nondominated) {
    const Input input(points, n_sets, n_points, n_objectives, maximise);
    if (input.status == PARETOPO_OK && !is_flag(keep_duplicates))
        return PARETOPO_BAD_KEEP_DUPLICATES;
    const int status = input.with_result(nondominated);
    if (status != PARETOPO_OK) return status;
    return status_of([&] {
        paretopo::cpu::is_nondominated(input.batch, keep_duplicates == 1, nondominated);
        return PARETOPO_OK;
    });
}

int paretopo_hypervolume(const double* points, int64_t n_sets, int64_t n_points,
                         int64_t n_objectives, const int* maximise, const double* ref,
                         int64_t n_ref, double* volumes) {
    Input input(points, n_sets, n_points, n_objectives, maximise);
    if (input.status == PARETOPO_OK) input.status = check_ref(ref, n_ref, n_objectives);
    const int status = input.with_result(volumes, true);
    if (status != PARETOPO_OK) return status;
    return status_of(
        [&] { return status_of_refused(paretopo::cpu::hypervolume(input.batch, ref, volumes)); });
}

int paretopo_hypervolume_contributions(const double* points, int64_t n_sets, int64_t n_points,
                                       int64_t n_objectives, const int* maximise, const double* ref,
                                       int64_t n_ref, int ignore_dominated, double* contributions) {
    Input input(points, n_sets, n_points, n_objectives, maximise);
    if (input.status == PARETOPO_OK) input.status = check_ref(ref, n_ref, n_objectives);
    if (input.status == PARETOPO_OK && !is_flag(ignore_dominated)) {
        return PARETOPO_BAD_IGNORE_DOMINATED;
    }
    const int status = input.with_result(contributions);
    if (status != PARETOPO_OK) return status;
    return status_of([&] {
        return status_of_refused(paretopo::cpu::hypervolume_contributions(
            input.batch, ref, ignore_dominated == 1, contributions));
    });
}

int paretopo_crowding_distance(const double* points, int64_t n_sets, int64_t n_points,
                               int64_t n_objectives, const int* maximise, double* distances) {
    const Input input(points, n_sets, n_points, n_objectives, maximise);
    const int status = input.with_result(distances);
    if (status != PARETOPO_OK) return status;
    return status_of([&] {
        paretopo::cpu::crowding_distance(input.batch, nullptr, distances);
        return PARETOPO_OK;
    });
}

int paretopo_archive_open(int64_t n_objectives, const int* maximise, const double* ref,
                          int64_t n_ref, paretopo_archive** archive) {
    if (!archive) return PARETOPO_NULL_RESULT;
    *archive = nullptr;
    int status = check_objectives(n_objectives, maximise);
    if (status == PARETOPO_OK && (ref || n_ref != 0)) status = check_ref(ref, n_ref, n_objectives);
    if (status != PARETOPO_OK) return status;
    return status_of([&] {
        std::vector<double> signs(static_cast<std::size_t>(n_objectives), 1.0);
        for (std::size_t m = 0; maximise && m < signs.size(); ++m) signs[m] = 2.0 * maximise[m] - 1;
        std::vector<double> corner(ref, ref + n_ref);
        constexpr bool kKeepsHistory = false;
        *archive = new paretopo_archive{
            signs, corner, {static_cast<int>(n_objectives), signs.data(), ref, kKeepsHistory}};
        return PARETOPO_OK;
    });
}

int paretopo_archive_add(paretopo_archive* archive, const double* points, int64_t n_points,
                         double* gains, uint8_t* joined) {
    if (!archive) return PARETOPO_NULL_ARCHIVE;
    const auto width = static_cast<std::int64_t>(archive->core.width());
    const int status = Input::check(points, 1, n_points, width, nullptr);
    if (status != PARETOPO_OK) return status;
    if (!takes(*archive, points, n_points)) return PARETOPO_BAD_POINTS;
    return status_of([&] {
        for (std::int64_t i = 0; i < n_points; ++i) {
            const auto added = archive->core.add(points + i * width);
            if (gains) gains[i] = added.gain;
            if (joined) joined[i] = added.has_joined;
        }
        return PARETOPO_OK;
    });
}

int paretopo_archive_additions(paretopo_archive* archive, int64_t* additions) {
    if (!archive) return PARETOPO_NULL_ARCHIVE;
    if (!additions) return PARETOPO_NULL_RESULT;
    return status_of([&] {
        *additions = archive->core.additions();
        return PARETOPO_OK;
    });
}

int paretopo_archive_close(paretopo_archive* archive) {
    if (!archive) return PARETOPO_NULL_ARCHIVE;
    delete archive;
    return PARETOPO_OK;
}
