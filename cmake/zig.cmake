# A toolchain file: the compiler is zig's clang, which ships the C and C++ libraries of every Linux
# and the link stubs of macOS and Windows. scripts/build_wheels.sh sets PARETOPO_ZIG to the folder
# of the commands and PARETOPO_TARGET to the target, for example aarch64-linux-gnu.2.28.
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
# The host's strip supports only its own processor, so the linker strips the symbols.
set(CMAKE_STRIP true)
set(CMAKE_MODULE_LINKER_FLAGS_INIT "-s -shared") # on macOS CMake passes -bundle, which zig does not support
# Name the module after SETUPTOOLS_EXT_SUFFIX, not after the host's interpreter.
set(PYBIND11_USE_CROSSCOMPILING ON)
# zig's linker does not know --push-state or -force_load, which CMake passes for WHOLE_ARCHIVE. Only lanes for
# AVX need it, which modules for macOS on ARM do not have.
set(PARETOPO_WHOLE_ARCHIVE ZIG_ARCHIVE)
set(CMAKE_CXX_LINK_LIBRARY_USING_ZIG_ARCHIVE_SUPPORTED TRUE)
if(CMAKE_SYSTEM_NAME STREQUAL "Darwin")
  set(CMAKE_CXX_LINK_LIBRARY_USING_ZIG_ARCHIVE "<LINK_ITEM>")
else()
  set(CMAKE_CXX_LINK_LIBRARY_USING_ZIG_ARCHIVE "LINKER:--whole-archive" "<LINK_ITEM>" "LINKER:--no-whole-archive")
endif()
