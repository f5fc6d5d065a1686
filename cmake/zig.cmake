# A toolchain file: the compiler is zig's clang, which has the C and C++ libraries of every Linux, and
# what a module of macOS and of Windows is linked with.
# scripts/build_wheels.sh names a folder with the commands (PARETOPO_ZIG) and the target
# (PARETOPO_TARGET, say aarch64-linux-gnu.2.28).
set(CMAKE_SYSTEM_NAME Linux)
if("$ENV{PARETOPO_TARGET}" MATCHES "-macos")
  set(CMAKE_SYSTEM_NAME Darwin)
elseif("$ENV{PARETOPO_TARGET}" MATCHES "-windows")
  set(CMAKE_SYSTEM_NAME Windows)
endif()
string(REGEX MATCH "^[^-]+" CMAKE_SYSTEM_PROCESSOR "$ENV{PARETOPO_TARGET}")
set(CMAKE_CXX_COMPILER $ENV{PARETOPO_ZIG}/zig-clang++ -target $ENV{PARETOPO_TARGET})
set(CMAKE_AR $ENV{PARETOPO_ZIG}/zig-ar)
set(CMAKE_RANLIB $ENV{PARETOPO_ZIG}/zig-ranlib)
# The host's strip knows its own processor only: the linker leaves out what it would.
set(CMAKE_STRIP true)
set(CMAKE_MODULE_LINKER_FLAGS_INIT "-s -shared") # on macOS CMake says -bundle, which zig does not know
set(PARETOPO_AVX512_FLAGS -mevex512) # zig turns vectors of 512 bits off, unless asked
# The module's name is SETUPTOOLS_EXT_SUFFIX, not what the host's interpreter calls its own.
set(PYBIND11_USE_CROSSCOMPILING ON)
