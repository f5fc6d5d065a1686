/* For hypervolume.R: R's .C passes only pointers. */
#include <R.h>
#include <paretopo.h>

void hypervolume(double *points, int *n_points, int *n_objectives, int *maximise, double *ref,
                 int *n_ref, double *volume) {
    int status =
        paretopo_hypervolume(points, 1, *n_points, *n_objectives, maximise, ref, *n_ref, volume);
    if (status != PARETOPO_OK) error("%s", paretopo_message(status));
}
