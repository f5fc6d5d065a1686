/* Pareto fronts, hypervolumes and archives of points in memory, for C and for every language that
 * calls C. The functions run on the CPU, with the same kernels as the Python package paretopo_core.
 *
 * Status. Every function but paretopo_version and paretopo_message returns PARETOPO_OK, or the
 * reason why it has no result. Results are unchanged after a reason that names an argument, unless
 * a function says otherwise. They are undefined after PARETOPO_OUT_OF_MEMORY and PARETOPO_FAILED.
 *
 * Points. `points` has shape (n_sets, n_points, n_objectives) in row-major order: the objectives of
 * one point are neighbours in memory. R, Julia and Octave store columns, so they pass the
 * transposed matrix. n_points is at most 2^31 - 1, and n_objectives 1 to 64. `points` may be NULL
 * if there are none.
 *
 * Senses. `maximise` has shape (n_objectives,): 1 if larger is better in the objective, 0 if
 * smaller is. NULL: larger is better in every objective.
 *
 * Reference. `ref` has shape (n_ref,), with n_ref equal to n_objectives. It is finite, in the units
 * and the senses of the objectives, and all sets share it. A point that is not better in every
 * objective adds no volume. A volume has the product of the objectives' units.
 *
 * NaN. Ranks, filter and crowding distances treat NaN as worse than every number. Volumes refuse
 * NaN and infinity on the better side, and archives refuse every value that is not finite.
 *
 * Memory. The caller owns all arrays. A result must not overlap an input.
 *
 * Threads. A call computes in the calling thread. Threads may call at the same time, also with one
 * archive, except for paretopo_archive_close. There is no global state to set.
 *
 * Costs are for one set of n points with m objectives.
 */
#ifndef PARETOPO_H
#define PARETOPO_H

#include <stdint.h>

#if defined(__GNUC__) && !defined(_WIN32)
#define PARETOPO_PUBLIC __attribute__((visibility("default")))
#else
#define PARETOPO_PUBLIC
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header: 10000 major + 100 minor + patch. */
#define PARETOPO_VERSION_NUMBER 100

enum paretopo_status {
    PARETOPO_OK = 0,
    PARETOPO_BAD_N_SETS = 1,
    PARETOPO_BAD_N_POINTS = 2,
    PARETOPO_BAD_N_OBJECTIVES = 3,
    PARETOPO_BAD_N_REF = 4,
    PARETOPO_TOO_MANY_VALUES = 5,
    PARETOPO_NULL_POINTS = 6,
    PARETOPO_NULL_REF = 7,
    PARETOPO_NULL_RESULT = 8,
    PARETOPO_NULL_ARCHIVE = 9,
    PARETOPO_BAD_MAXIMISE = 10,
    PARETOPO_BAD_KEEP_DUPLICATES = 11,
    PARETOPO_BAD_IGNORE_DOMINATED = 12,
    PARETOPO_BAD_REF = 13,
    PARETOPO_BAD_POINTS = 14,
    PARETOPO_OUT_OF_MEMORY = 15,
    PARETOPO_FAILED = 16
};

/* Returns the PARETOPO_VERSION_NUMBER of the library, which may be newer than the header. */
PARETOPO_PUBLIC int paretopo_version(void);

/* Returns the English sentence of a status. It names the argument, and is never freed. */
PARETOPO_PUBLIC const char* paretopo_message(int status);

/* Ranks the points of each set by non-dominated sorting. ranks: (n_sets, n_points), 0 is best;
 * equal points share a rank. O(n log n) with m = 2, typically O(n log^2 n) with m = 3, and at worst
 * O(n^2 m) above. */
PARETOPO_PUBLIC int paretopo_pareto_rank(const double* points, int64_t n_sets, int64_t n_points,
                                         int64_t n_objectives, const int* maximise, int32_t* ranks);

/* Marks the points that no other point of the set dominates. keep_duplicates: 1 keeps all of
 * several equal points, 0 only the first. nondominated: (n_sets, n_points), bytes, 1 or 0. O(n log
 * n) with m <= 3, O(n front m) above. */
PARETOPO_PUBLIC int paretopo_is_nondominated(const double* points, int64_t n_sets, int64_t n_points,
                                             int64_t n_objectives, const int* maximise,
                                             int keep_duplicates, uint8_t* nondominated);

/* Measures the volume between each set and the reference. volumes: (n_sets,), 0 for an empty set.
 * After PARETOPO_BAD_POINTS the volumes are undefined. O(n log n) with m <= 3, usually O(n^2) with
 * m = 4, and at worst exponential in m. */
PARETOPO_PUBLIC int paretopo_hypervolume(const double* points, int64_t n_sets, int64_t n_points,
                                         int64_t n_objectives, const int* maximise,
                                         const double* ref, int64_t n_ref, double* volumes);

/* Measures the volume that each point adds to the others of its set. ignore_dominated: 1 leaves
 * dominated points out first; 0 measures the set with and without the point. contributions:
 * (n_sets, n_points). After PARETOPO_BAD_POINTS they are undefined. O(n log n) with m <= 3, and
 * above O(n^2 m) and the volume of the points that limit each point. */
PARETOPO_PUBLIC int paretopo_hypervolume_contributions(const double* points, int64_t n_sets,
                                                       int64_t n_points, int64_t n_objectives,
                                                       const int* maximise, const double* ref,
                                                       int64_t n_ref, int ignore_dominated,
                                                       double* contributions);

/* Adds up the gaps between the neighbours of each point on its front, divided by the span of the
 * front in the objective. distances: (n_sets, n_points), dimensionless, infinity at the ends of a
 * front. The cost of the ranks and O(m n log n). */
PARETOPO_PUBLIC int paretopo_crowding_distance(const double* points, int64_t n_sets,
                                               int64_t n_points, int64_t n_objectives,
                                               const int* maximise, double* distances);

/* The non-dominated points of all that were added so far. */
typedef struct paretopo_archive paretopo_archive;

/* Opens an empty archive; *archive is NULL after a reason. ref: (n_ref,), or NULL with n_ref 0 for
 * an archive without volume. */
PARETOPO_PUBLIC int paretopo_archive_open(int64_t n_objectives, const int* maximise,
                                          const double* ref, int64_t n_ref,
                                          paretopo_archive** archive);

/* Adds points, shape (n_points, n_objectives), one after the other. gains: (n_points,), the volume
 * that each point adds to the members before it, NaN without a reference. The sum of all gains is
 * the volume of the archive. joined: (n_points,), bytes, 0 if a member is at least as good in every
 * objective. Either may be NULL. A reason that names an argument means that no point was added;
 * after PARETOPO_OUT_OF_MEMORY or PARETOPO_FAILED the first points have been, as many as
 * paretopo_archive_additions counts, and their gains are written. O(log n) for a point with m = 2,
 * for n members; O(n m) above, and from m = 4 the volume of the members that limit the point. */
PARETOPO_PUBLIC int paretopo_archive_add(paretopo_archive* archive, const double* points,
                                         int64_t n_points, double* gains, uint8_t* joined);

/* Counts the points that were ever added to the archive, members or not. */
PARETOPO_PUBLIC int paretopo_archive_additions(paretopo_archive* archive, int64_t* additions);

/* Frees the archive. No other call may use it then. */
PARETOPO_PUBLIC int paretopo_archive_close(paretopo_archive* archive);

#ifdef __cplusplus
}
#endif
#endif
