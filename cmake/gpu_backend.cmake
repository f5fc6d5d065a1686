# Decides which folder under csrc/ implements the GPU half: cuda/ (needs nvcc) or no_cuda/ (stubs).
# nvcc comes from PATH or CUDACXX, or else from the pip package nvidia-cuda-nvcc if it is installed.
# AUTO compiles kernels for the GPUs of this machine, or for the architectures in CUDAARCHS. Without
# either it compiles none: they take minutes, and a machine without a GPU rarely needs them.
set(gpu_backend no_cuda)
if(PARETOPO_CUDA MATCHES "^(OFF|off|0)$")
  message(STATUS "paretopo: no CUDA kernels (PARETOPO_CUDA=OFF)")
  return()
endif()
if(PARETOPO_CUDA STREQUAL "AUTO" AND NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
                  OUTPUT_VARIABLE found RESULT_VARIABLE failed ERROR_QUIET)
  string(REGEX MATCHALL "[0-9]+\\.[0-9]" found "${found}")
  if(failed OR NOT found)
    message(STATUS "paretopo: no CUDA kernels, since there is no GPU; PARETOPO_CUDA=ON compiles them")
    return()
  endif()
  list(REMOVE_DUPLICATES found)
  string(REPLACE "." "" CMAKE_CUDA_ARCHITECTURES "${found}")
endif()

include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  find_package(Python REQUIRED COMPONENTS Interpreter Development.Module)
  execute_process(COMMAND ${Python_EXECUTABLE} -c "import nvidia.cu13 as toolkit; print(list(toolkit.__path__)[0])"
                  OUTPUT_VARIABLE toolkit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(toolkit AND EXISTS "${toolkit}/bin/nvcc")
    set(CMAKE_CUDA_COMPILER "${toolkit}/bin/nvcc")
    set(ENV{CUDAFLAGS} "-L${toolkit}/lib $ENV{CUDAFLAGS}") # the wheel has lib/, nvcc looks in lib64/
  endif()
endif()

if(CMAKE_CUDA_COMPILER)
  set(gpu_backend cuda)
  set(cuda_compression none) # the PTX machine reads uncompressed PTX
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
    # For wheels: machine code for the GPUs in common use, and PTX that the driver compiles for all
    # others.
    set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 86-real 89-real 90 100-real 120-real)
    set(cuda_compression size)
  endif()
  set(CMAKE_CUDA_STANDARD 20)
  enable_language(CUDA)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION) # an older CMake does not know that nvcc supports C++20
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
elseif(PARETOPO_CUDA MATCHES "^(ON|on|1)$")
  message(FATAL_ERROR "PARETOPO_CUDA=ON, but no nvcc was found on PATH, in CUDACXX or in site-packages/nvidia.")
endif()
if(gpu_backend STREQUAL "cuda")
  message(STATUS "paretopo: CUDA kernels for ${CMAKE_CUDA_ARCHITECTURES}")
else()
  message(STATUS "paretopo: no CUDA kernels, since no nvcc was found; PARETOPO_CUDA=ON brings one")
endif()
