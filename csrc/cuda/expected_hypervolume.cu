#include "cuda/launcher.cuh"
#include "gpu/expected_hypervolume.hpp"

namespace paretopo::gpu {

template void expected_hypervolume(Cuda, Batch<float>, References, std::int32_t, double*);
template void expected_hypervolume(Cuda, Batch<double>, References, std::int32_t, double*);
template void hypervolume_advantage(Cuda, Batch<float>, References, std::int32_t, Centre, float*);
template void hypervolume_advantage(Cuda, Batch<double>, References, std::int32_t, Centre, double*);

}  // namespace paretopo::gpu
