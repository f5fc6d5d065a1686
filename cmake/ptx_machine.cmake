# Runs the kernels' PTX on the CPU: tests/ptx_machine/ replaces the CUDA runtime and
# csrc/cuda/limits.cpp. Everything else is compiled as usual. For tests; scripts/run_ptx.sh builds
# it.
if(NOT gpu_backend STREQUAL cuda)
  message(FATAL_ERROR "PARETOPO_PTX_MACHINE needs the kernels: PARETOPO_CUDA=ON")
endif()
list(FILTER core_sources EXCLUDE REGEX csrc/cuda/limits.cpp)
file(GLOB ptx_machine_sources CONFIGURE_DEPENDS tests/ptx_machine/*.cpp)
set_source_files_properties(${ptx_machine_sources} PROPERTIES INCLUDE_DIRECTORIES "${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES}")
list(APPEND core_sources ${ptx_machine_sources})
set(cuda_runtime None)
