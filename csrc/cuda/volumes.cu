#include "cuda/launcher.cuh"
#include "gpu/volumes.hpp"

namespace paretopo::gpu {

template void hypervolume(Cuda, Batch<float>, const double*, double*);
template void hypervolume(Cuda, Batch<double>, const double*, double*);
template void hypervolume_gradient(Cuda, Batch<float>, const double*, double*);
template void hypervolume_gradient(Cuda, Batch<double>, const double*, double*);
template void hv_contributions(Cuda, Batch<float>, const double*, bool, double*);
template void hv_contributions(Cuda, Batch<double>, const double*, bool, double*);

}  // namespace paretopo::gpu
