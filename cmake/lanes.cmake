# csrc/cpu/lanes/*/*.cpp is compiled once per instruction set, each time into a namespace of its own.
# The program picks one at run time, so the flags reach no other file.
file(GLOB lane_sources CONFIGURE_DEPENDS csrc/cpu/lanes/*/*.cpp)
foreach(source IN LISTS lane_sources) # a unity build compiles each room as one
  get_filename_component(room ${source} DIRECTORY)
  get_filename_component(room ${room} NAME)
  set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${room})
endforeach()
set(vector_isas) # the other instruction sets
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64" AND CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
  set(vector_isas avx2 avx512)
endif()
set(known portable ${vector_isas})
set(hint)
string(REGEX MATCHALL "[^,; ]+" wanted "${PARETOPO_BUILD_ISAS}")
if(wanted STREQUAL "AUTO" AND vector_isas AND NOT CMAKE_CROSSCOMPILING)
  # Compiling only for this machine takes a quarter less time. If the compiler cannot report
  # -march=native, build every instruction set.
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/empty.cpp "")
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -march=native -dM -E ${CMAKE_CURRENT_BINARY_DIR}/empty.cpp
                  OUTPUT_VARIABLE macros ERROR_QUIET)
  if(macros MATCHES "__AVX512BW__" AND macros MATCHES "__AVX512DQ__" AND macros MATCHES "__AVX512VL__")
    set(vector_isas avx512)
  elseif(macros MATCHES "__AVX2__")
    set(vector_isas avx2)
  elseif(macros MATCHES "__x86_64__")
    set(vector_isas)
  endif()
  set(hint "; PARETOPO_BUILD_ISAS=ALL also compiles kernels for other processors")
elseif(NOT wanted MATCHES "^(AUTO|ALL)$")
  set(unknown ${wanted})
  list(REMOVE_ITEM unknown ${known})
  if(unknown OR NOT wanted)
    list(JOIN known ", " known)
    message(FATAL_ERROR "PARETOPO_BUILD_ISAS must be AUTO, ALL, or some of ${known} for this processor and compiler, "
                        "got '${PARETOPO_BUILD_ISAS}'")
  endif()
  set(vector_isas ${wanted})
  list(REMOVE_ITEM vector_isas portable)
  list(REMOVE_DUPLICATES vector_isas)
endif()
set(isas portable ${vector_isas})
list(JOIN isas ", " names)
message(STATUS "paretopo: vector kernels: ${names}${hint}")

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  set(isa_flags_portable -msse4.2) # every x86-64 since 2009: comparisons of 64-bit integers
endif()
if(vector_isas) # only processors older than 2013 then use these: compiled in half the time, a fifth slower
  list(APPEND isa_flags_portable -O1 -w) # -O1 ignores some pragmas; the other builds report all warnings
  if(wanted STREQUAL "AUTO") # only another machine's processor uses these
    list(APPEND isa_flags_portable -Og)
  endif()
endif()
set(isa_flags_avx2 -mavx2)
set(isa_flags_avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512)
if(avx512 IN_LIST isas)
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_FLAGS -mavx512f)
  check_cxx_source_compiles("
    #include <immintrin.h>
    __m512d twice(__m512d a) { return _mm512_add_pd(a, a); }
    int main() {}" PARETOPO_HAS_512_BITS)
  unset(CMAKE_REQUIRED_FLAGS)
  if(NOT PARETOPO_HAS_512_BITS) # zig 0.13 to 0.15; clang 22 and g++ 12 do not know the flag
    list(APPEND isa_flags_avx512 -mevex512)
  endif()
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND isa_flags_avx512 -Wno-uninitialized -Wno-maybe-uninitialized) # false positives in the intrinsics: g++'s bug 105593
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
