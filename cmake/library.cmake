# The library `paretopo`: everything that Python, C and the fuzz targets call.
file(GLOB core_sources CONFIGURE_DEPENDS csrc/cpu/*/*.cpp csrc/${gpu_backend}/*.cu csrc/${gpu_backend}/*.cpp)
if(PARETOPO_PTX_MACHINE)
  include(cmake/ptx_machine.cmake) # changes core_sources and cuda_runtime
endif()
add_library(paretopo STATIC ${core_sources} ${gpu_sources})
set_source_files_properties(${gpu_sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON) # slow to compile
set_target_properties(paretopo PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                                          CUDA_VISIBILITY_PRESET hidden CUDA_RUNTIME_LIBRARY ${cuda_runtime})
target_include_directories(paretopo PUBLIC csrc)
target_link_libraries(paretopo PUBLIC Threads::Threads)
target_compile_options(paretopo PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${paretopo_cxx_flags}>
                                        $<$<COMPILE_LANGUAGE:CUDA>:--fmad=false --compress-mode=${cuda_compression}>)
if(PARETOPO_SANITIZE) # PUBLIC: also the libraries that link this one
  target_compile_options(paretopo PUBLIC $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${PARETOPO_SANITIZE} -g>)
  target_link_options(paretopo PUBLIC -fsanitize=${PARETOPO_SANITIZE})
endif()
include(cmake/lanes.cmake)
