// Marks functions that run on the CPU and on the GPU.
#pragma once

#if defined(__CUDACC__)
#define PARETOPO_HD __host__ __device__
#else
#define PARETOPO_HD
#endif
