/* Calls an archive of the C library, and its functions with wrong arguments. test_c_api.py
 * compiles and runs it. Prints each failed check, and exits with status 1 if there is one. */
#include <float.h>
#include <math.h>
#include <paretopo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

#define CHECK(condition)                                                    \
    do {                                                                    \
        if (!(condition)) {                                                 \
            ++failures;                                                     \
            printf("%s:%d: expected %s\n", __FILE__, __LINE__, #condition); \
        }                                                                   \
    } while (0)

#define CHECK_EQUAL(given, expected) CHECK(memcmp((given), (expected), sizeof(expected)) == 0)

static const int mixed[] = {1, 0};

/* Two sets of three points. */
static const double points[] = {1, 3, 2, 2, 0, 0, 1, 1, 1, 1, 0, NAN};

static void check_archive(void) {
    const double ref[] = {0, 10};
    const double added[] = {2, 4, 1, 5, 3, 8, 3, 4};
    const double expected_gains[] = {12, 0, 2, 4};
    const uint8_t expected_joined[] = {1, 0, 1, 1};
    const double bad[] = {9, 9, 9, NAN};
    const double far[] = {9, -DBL_MAX};
    const double far_ref[] = {0, DBL_MAX};
    paretopo_archive* archive = NULL;
    double gains[4];
    uint8_t joined[4];
    int64_t additions = -1;
    CHECK(paretopo_archive_open(2, mixed, ref, 2, &archive) == PARETOPO_OK);
    CHECK(paretopo_archive_add(archive, bad, 2, gains, joined) == PARETOPO_BAD_POINTS);
    CHECK(paretopo_archive_add(archive, NULL, 1, gains, joined) == PARETOPO_NULL_POINTS);
    CHECK(paretopo_archive_add(archive, added, -1, gains, joined) == PARETOPO_BAD_N_POINTS);
    CHECK(paretopo_archive_add(archive, added, 3, gains, joined) == PARETOPO_OK);
    CHECK(paretopo_archive_add(archive, added + 6, 1, gains + 3, joined + 3) == PARETOPO_OK);
    CHECK_EQUAL(gains, expected_gains); /* no point of a refused call was added */
    CHECK_EQUAL(joined, expected_joined);
    CHECK(paretopo_archive_additions(archive, &additions) == PARETOPO_OK && additions == 4);
    CHECK(paretopo_archive_add(archive, added, 4, NULL, NULL) == PARETOPO_OK);
    CHECK(paretopo_archive_additions(archive, NULL) == PARETOPO_NULL_RESULT);
    CHECK(paretopo_archive_additions(NULL, &additions) == PARETOPO_NULL_ARCHIVE);
    CHECK(paretopo_archive_close(archive) == PARETOPO_OK);

    CHECK(paretopo_archive_open(2, NULL, NULL, 0, &archive) == PARETOPO_OK);
    CHECK(paretopo_archive_add(archive, added, 2, gains, joined) == PARETOPO_OK);
    CHECK(isnan(gains[0]) && isnan(gains[1]) && joined[0] && joined[1]);
    CHECK(paretopo_archive_close(archive) == PARETOPO_OK);

    CHECK(paretopo_archive_open(2, mixed, far_ref, 2, &archive) == PARETOPO_OK);
    CHECK(paretopo_archive_add(archive, far, 1, gains, joined) == PARETOPO_BAD_POINTS);
    CHECK(paretopo_archive_close(archive) == PARETOPO_OK);

    CHECK(paretopo_archive_add(NULL, added, 1, gains, joined) == PARETOPO_NULL_ARCHIVE);
    CHECK(paretopo_archive_close(NULL) == PARETOPO_NULL_ARCHIVE);
    CHECK(paretopo_archive_open(2, NULL, ref, 2, NULL) == PARETOPO_NULL_RESULT);
    CHECK(paretopo_archive_open(2, NULL, ref, 3, &archive) == PARETOPO_BAD_N_REF);
    CHECK(archive == NULL);
    CHECK(paretopo_archive_open(2, NULL, NULL, 2, &archive) == PARETOPO_NULL_REF);
    CHECK(paretopo_archive_open(0, NULL, NULL, 0, &archive) == PARETOPO_BAD_N_OBJECTIVES);
}

static void check_reasons(void) {
    const double ref[] = {0, 0};
    const double infinite_ref[] = {0, INFINITY};
    const double infinite[] = {1, 1, INFINITY, 1};
    const double worst[] = {1, 1, -INFINITY, 1};
    const int no_flag[] = {1, 2};
    int32_t ranks[6];
    uint8_t kept[6];
    double results[6];
    CHECK(paretopo_pareto_rank(NULL, 2, 3, 2, NULL, ranks) == PARETOPO_NULL_POINTS);
    CHECK(paretopo_pareto_rank(points, 2, 3, 2, NULL, NULL) == PARETOPO_NULL_RESULT);
    CHECK(paretopo_pareto_rank(points, -1, 3, 2, NULL, ranks) == PARETOPO_BAD_N_SETS);
    CHECK(paretopo_pareto_rank(points, 2, -1, 2, NULL, ranks) == PARETOPO_BAD_N_POINTS);
    CHECK(paretopo_pareto_rank(points, 2, (int64_t)1 << 31, 2, NULL, ranks) ==
          PARETOPO_BAD_N_POINTS);
    CHECK(paretopo_pareto_rank(points, 2, 3, 0, NULL, ranks) == PARETOPO_BAD_N_OBJECTIVES);
    CHECK(paretopo_pareto_rank(points, 2, 3, 65, NULL, ranks) == PARETOPO_BAD_N_OBJECTIVES);
    CHECK(paretopo_pareto_rank(points, INT64_MAX, 3, 2, NULL, ranks) == PARETOPO_TOO_MANY_VALUES);
    CHECK(paretopo_pareto_rank(points, 2, 3, 2, no_flag, ranks) == PARETOPO_BAD_MAXIMISE);
    CHECK(paretopo_pareto_rank(NULL, 2, 0, 2, NULL, NULL) == PARETOPO_OK);
    CHECK(paretopo_is_nondominated(points, 2, 3, 2, NULL, 2, kept) == PARETOPO_BAD_KEEP_DUPLICATES);
    CHECK(paretopo_is_nondominated(points, 2, 3, 2, NULL, 1, NULL) == PARETOPO_NULL_RESULT);
    CHECK(paretopo_hypervolume(points, 1, 3, 2, NULL, NULL, 2, results) == PARETOPO_NULL_REF);
    CHECK(paretopo_hypervolume(points, 1, 3, 2, NULL, ref, 1, results) == PARETOPO_BAD_N_REF);
    CHECK(paretopo_hypervolume(points, 1, 3, 2, NULL, infinite_ref, 2, results) ==
          PARETOPO_BAD_REF);
    CHECK(paretopo_hypervolume(points, 1, 3, 2, NULL, ref, 2, NULL) == PARETOPO_NULL_RESULT);
    CHECK(paretopo_hypervolume(NULL, 1, 0, 2, NULL, ref, 2, NULL) == PARETOPO_NULL_RESULT);
    CHECK(paretopo_hypervolume(points, 2, 3, 2, NULL, ref, 2, results) == PARETOPO_BAD_POINTS);
    CHECK(paretopo_hypervolume(infinite, 1, 2, 2, NULL, ref, 2, results) == PARETOPO_BAD_POINTS);
    CHECK(paretopo_hypervolume(worst, 1, 2, 2, NULL, ref, 2, results) == PARETOPO_OK);
    CHECK(results[0] == 1);
    CHECK(paretopo_hypervolume_contributions(points, 1, 3, 2, NULL, ref, 2, -1, results) ==
          PARETOPO_BAD_IGNORE_DOMINATED);
    CHECK(paretopo_hypervolume_contributions(points, 2, 3, 2, NULL, ref, 2, 1, results) ==
          PARETOPO_BAD_POINTS);
    CHECK(paretopo_hypervolume_contributions(points, 2, 3, 2, NULL, ref, 3, 1, results) ==
          PARETOPO_BAD_N_REF);
    CHECK(paretopo_crowding_distance(points, 2, 3, 2, NULL, NULL) == PARETOPO_NULL_RESULT);
}

static void check_messages(void) {
    static const char* const named[] = {
        "no error",         "n_sets", "n_points", "n_objectives", "n_ref",    "n_objectives",
        "points",           "ref",    "result",   "archive",      "maximise", "keep_duplicates",
        "ignore_dominated", "ref",    "points",   "memory",       "paretopo",
    };
    const int count = (int)(sizeof(named) / sizeof(named[0]));
    int status;
    CHECK(count == PARETOPO_FAILED + 1);
    CHECK(paretopo_version() == PARETOPO_VERSION_NUMBER);
    for (status = 0; status < count; ++status) {
        CHECK(strstr(paretopo_message(status), named[status]) != NULL);
    }
    CHECK(strstr(paretopo_message(-1), "enum paretopo_status") != NULL);
    CHECK(strstr(paretopo_message(count), "enum paretopo_status") != NULL);
}

/* The caller limits the memory of the process: a million points fit, the call's own memory does
 * not. */
static void check_memory(void) {
    const int64_t n_points = 1000000;
    const double one[] = {1, 2, 3};
    double* values = malloc((size_t)n_points * 3 * sizeof(double));
    int32_t* ranks = malloc((size_t)n_points * sizeof(int32_t));
    int64_t i;
    CHECK(values != NULL && ranks != NULL);
    if (values == NULL || ranks == NULL) return;
    for (i = 0; i < 3 * n_points; ++i) values[i] = (double)(i * 7919 % 1000003);
    CHECK(paretopo_pareto_rank(values, 1, n_points, 3, NULL, ranks) == PARETOPO_OUT_OF_MEMORY);
    CHECK(paretopo_pareto_rank(one, 1, 1, 3, NULL, ranks) == PARETOPO_OK);
    free(values);
    free(ranks);
}

int main(int count, char** arguments) {
    if (count > 1 && strcmp(arguments[1], "memory") == 0) {
        check_memory();
    } else {
        check_archive();
        check_reasons();
        check_messages();
    }
    printf("%d failed checks\n", failures);
    return failures > 0;
}
