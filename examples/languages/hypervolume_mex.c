/* hypervolume(points', ref) for Octave: one column per point. */
#include <mex.h>
#include <paretopo.h>

void mexFunction(int n_out, mxArray *out[], int n_in, const mxArray *in[]) {
    int status;
    (void)n_out;
    if (n_in != 2 || !mxIsDouble(in[0]) || !mxIsDouble(in[1])) {
        mexErrMsgTxt("pass points', one column per point, and ref");
    }
    out[0] = mxCreateDoubleScalar(0);
    status = paretopo_hypervolume(mxGetPr(in[0]), 1, mxGetN(in[0]), mxGetM(in[0]), NULL,
                                  mxGetPr(in[1]), mxGetNumberOfElements(in[1]), mxGetPr(out[0]));
    if (status != PARETOPO_OK) mexErrMsgTxt(paretopo_message(status));
}
