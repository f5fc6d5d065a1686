# The kernels' PTX runs on the CPU: tests/ptx_machine/ takes the place of the CUDA runtime, and its
# bounds that of csrc/cuda/limits.hpp. scripts/run_ptx.sh builds so; it is for tests.
if(NOT gpu_backend STREQUAL cuda)
  message(FATAL_ERROR "PARETOPO_PTX_MACHINE needs the kernels: PARETOPO_CUDA=ON")
endif()
file(GLOB ptx_machine_sources CONFIGURE_DEPENDS tests/ptx_machine/*.cpp)
target_sources(paretopo PRIVATE ${ptx_machine_sources})
target_include_directories(paretopo BEFORE PRIVATE tests/ptx_machine ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES})
set(cuda_runtime None)
set(cuda_compression --compress-mode=none)
