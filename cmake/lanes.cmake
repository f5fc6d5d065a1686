# csrc/cpu/lanes/*/*.cpp is compiled once per instruction set, each time into a namespace of its own.
# The program picks one at run time, so the flags reach no other file.
file(GLOB lane_sources CONFIGURE_DEPENDS csrc/cpu/lanes/*/*.cpp)
foreach(source IN LISTS lane_sources) # a unity build compiles each room as one
  get_filename_component(room ${source} DIRECTORY)
  get_filename_component(room ${room} NAME)
  set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${room})
endforeach()
set(beside) # the portable ones
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64" AND CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
  set(beside avx2 avx512)
endif()
set(known portable ${beside})
set(hint)
string(REGEX MATCHALL "[^,; ]+" wanted "${PARETOPO_BUILD_ISAS}")
if(wanted STREQUAL "AUTO" AND beside AND NOT CMAKE_CROSSCOMPILING)
  # For this machine, in three quarters of the time. A compiler that does not tell compiles for all.
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/empty.cpp "")
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -march=native -dM -E ${CMAKE_CURRENT_BINARY_DIR}/empty.cpp
                  OUTPUT_VARIABLE macros ERROR_QUIET)
  if(macros MATCHES "__AVX512BW__" AND macros MATCHES "__AVX512DQ__" AND macros MATCHES "__AVX512VL__")
    set(beside avx512)
  elseif(macros MATCHES "__AVX2__")
    set(beside avx2)
  elseif(macros MATCHES "__x86_64__")
    set(beside)
  endif()
  set(hint "; PARETOPO_BUILD_ISAS=ALL compiles those of other processors, too")
elseif(NOT wanted MATCHES "^(AUTO|ALL)$")
  set(unknown ${wanted})
  list(REMOVE_ITEM unknown ${known})
  if(unknown OR NOT wanted)
    list(JOIN known ", " known)
    message(FATAL_ERROR "PARETOPO_BUILD_ISAS must be AUTO, ALL, or some of ${known} for this processor and compiler, "
                        "got '${PARETOPO_BUILD_ISAS}'")
  endif()
  set(beside ${wanted})
  list(REMOVE_ITEM beside portable)
  list(REMOVE_DUPLICATES beside)
endif()
set(isas portable ${beside})
list(JOIN isas ", " names)
message(STATUS "paretopo: vector kernels: ${names}${hint}")

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  set(isa_flags_portable -msse4.2) # every x86-64 since 2009: comparisons of 64-bit integers
endif()
if(beside) # the portable ones are for processors older than 2013: a fifth slower, in half the time
  list(APPEND isa_flags_portable -O1 -w) # pragmas that -O1 ignores; the others have the warnings
endif()
set(isa_flags_avx2 -mavx2)
set(isa_flags_avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512
    ${PARETOPO_AVX512_FLAGS}) # what a toolchain file adds
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND isa_flags_avx512 -Wno-uninitialized -Wno-maybe-uninitialized) # of the intrinsics: g++'s bug 105593
endif()
foreach(isa IN LISTS isas)
  add_library(paretopo_lanes_${isa} OBJECT ${lane_sources})
  target_compile_definitions(paretopo_lanes_${isa} PRIVATE PARETOPO_LANES=${isa})
  target_compile_options(paretopo_lanes_${isa} PRIVATE ${paretopo_cxx_flags} ${isa_flags_${isa}})
  target_include_directories(paretopo_lanes_${isa} PRIVATE csrc)
  set_target_properties(paretopo_lanes_${isa} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                                                   UNITY_BUILD_MODE GROUP)
  target_sources(paretopo PRIVATE $<TARGET_OBJECTS:paretopo_lanes_${isa}>)
  string(TOUPPER ${isa} isa)
  target_compile_definitions(paretopo PRIVATE PARETOPO_HAS_${isa})
endforeach()
