// Marks functions that run on the CPU and on the GPU, and loops whose arrays live in registers.
#pragma once

#if defined(__CUDACC__)
#define PARETOPO_HD __host__ __device__
#define PARETOPO_UNROLL _Pragma("unroll")
#else
#define PARETOPO_HD
#define PARETOPO_UNROLL
#endif
