# csrc/cpu/lanes/*.cpp is compiled once per instruction set, each time into a namespace of its own.
# The program picks one at run time, so the flags reach no other file.
file(GLOB lane_sources CONFIGURE_DEPENDS csrc/cpu/lanes/*.cpp)
set(lane_sets portable)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64" AND CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
  if(NOT PARETOPO_PORTABLE)
    list(APPEND lane_sets avx2 avx512)
  endif()
  set(lane_flags_portable -msse4.2) # every x86-64 since 2009: comparisons of 64-bit integers
  if(NOT PARETOPO_PORTABLE) # here for processors older than 2013: a fifth slower, in half the time
    list(APPEND lane_flags_portable -O1)
  endif()
  set(lane_flags_avx2 -mavx2)
  set(lane_flags_avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512
      ${PARETOPO_AVX512_FLAGS}) # what a toolchain file adds
endif()
foreach(set IN LISTS lane_sets)
  add_library(paretopo_lanes_${set} OBJECT ${lane_sources})
  target_compile_definitions(paretopo_lanes_${set} PRIVATE PARETOPO_LANES=${set})
  target_compile_options(paretopo_lanes_${set} PRIVATE ${paretopo_cxx_flags} ${lane_flags_${set}})
  target_include_directories(paretopo_lanes_${set} PRIVATE csrc)
  set_target_properties(paretopo_lanes_${set} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                                                   UNITY_BUILD_BATCH_SIZE 4)
  target_sources(paretopo PRIVATE $<TARGET_OBJECTS:paretopo_lanes_${set}>)
endforeach()
if("avx512" IN_LIST lane_sets)
  target_compile_definitions(paretopo PRIVATE PARETOPO_X86_LANES)
endif()
