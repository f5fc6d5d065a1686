#include <paretopo.h>
#include <stdio.h>

int main(void) {
    const double points[] = {1, 3, 2, 2, 3, 1}, ref[] = {0, 0}; /* three points, two objectives */
    double volume;
    int status = paretopo_hypervolume(points, 1, 3, 2, NULL, ref, 2, &volume);
    if (status != PARETOPO_OK) {
        puts(paretopo_message(status));
        return 1;
    }
    printf("%g\n", volume); /* 6 */
    return 0;
}
