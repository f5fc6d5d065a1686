# A toolchain file: the compiler is zig's clang, which has the C and C++ libraries of every target
# that it knows. scripts/build_wheels.sh names a folder with the commands (PARETOPO_ZIG) and the
# target (PARETOPO_TARGET, say aarch64-linux-gnu.2.28).
string(REGEX MATCH "^([a-z0-9_]+)-([a-z]+)" target "$ENV{PARETOPO_TARGET}")
set(CMAKE_SYSTEM_PROCESSOR ${CMAKE_MATCH_1})
if(CMAKE_MATCH_2 STREQUAL macos)
  set(CMAKE_SYSTEM_NAME Darwin)
  set(CMAKE_OSX_SYSROOT "" CACHE STRING "zig brings its own")
  set(CMAKE_INSTALL_NAME_TOOL true) # nothing is renamed
elseif(CMAKE_MATCH_2 STREQUAL windows)
  set(CMAKE_SYSTEM_NAME Windows)
else()
  set(CMAKE_SYSTEM_NAME Linux)
endif()
set(CMAKE_CXX_COMPILER $ENV{PARETOPO_ZIG}/zig-clang++ -target $ENV{PARETOPO_TARGET})
set(CMAKE_AR $ENV{PARETOPO_ZIG}/zig-ar)
set(CMAKE_RANLIB $ENV{PARETOPO_ZIG}/zig-ranlib)
# The host's strip knows its own processor only: the linker leaves out what it would.
set(CMAKE_STRIP true)
set(CMAKE_MODULE_LINKER_FLAGS_INIT -s)
