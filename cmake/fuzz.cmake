# The targets of fuzz/: libFuzzer compares the instruction sets and the emulated GPU, with
# AddressSanitizer and UndefinedBehaviorSanitizer on.
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "PARETOPO_FUZZ needs clang with libFuzzer: CXX=clang++ (Debian: clang, libclang-rt-dev)")
endif()
set(fuzz_checks -fsanitize=address,undefined -fno-sanitize=float-divide-by-zero -fno-sanitize-recover=all)
# Hooks at comparisons take two thirds of the run time and find little in code that compares
# numbers.
set(fuzz_coverage -fno-sanitize-coverage=trace-cmp)
target_compile_options(paretopo PRIVATE -O1 -g -fsanitize=fuzzer-no-link ${fuzz_coverage} ${fuzz_checks})
foreach(isa IN LISTS isas)
  # The lanes' unrolled loops with every check would take many minutes to compile: check addresses
  # only.
  target_compile_options(paretopo_lanes_${isa} PRIVATE -O1 -g -fsanitize=address)
endforeach()

file(GLOB fuzz_sources CONFIGURE_DEPENDS fuzz/fuzz_*.cpp)
foreach(source IN LISTS fuzz_sources)
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  target_include_directories(${name} PRIVATE fuzz)
  target_compile_options(${name} PRIVATE ${paretopo_cxx_flags} -O1 -g -fsanitize=fuzzer ${fuzz_coverage} ${fuzz_checks})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer ${fuzz_checks})
  target_link_libraries(${name} PRIVATE paretopo)
endforeach()
