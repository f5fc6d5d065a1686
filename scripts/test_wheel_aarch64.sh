#!/usr/bin/env bash
# Tests a wheel of the core for aarch64 on an x86-64 machine with Debian, without root:
#     scripts/test_wheel_aarch64.sh WHEEL [PYTEST_ARGUMENT]...
# Unpacks the emulator (qemu-user) and Debian's Python for arm64 into build/aarch64, together with NumPy,
# moocore, torch and pytest. The wheel must match that Python (3.11 on Debian 12). Emulation is ten times
# slower: without arguments, all tests of the core run with few examples and take an hour. To run a single
# file, pass for instance paretopo_core/test_story.py.
set -euo pipefail
[ $# != 1 ] || set -- "$@" paretopo_core --hypothesis-profile=few
cd "$(dirname "$0")/.."
wheel=$(realpath "${1:?usage: scripts/test_wheel_aarch64.sh WHEEL [PYTEST_ARGUMENT]...}")
here=$PWD/build/aarch64

# Download packages for an architecture with their dependencies and unpack them into $here/ARCHITECTURE,
# without changing the machine's packages.
unpack() { # ARCHITECTURE PACKAGE...
  local state=$here/apt-$1
  mkdir -p "$state"/{lists,cache/archives}/partial "$here/$1"
  : > "$state/status"
  local options=(-qq -o APT::Architecture="$1" -o APT::Architectures="$1" -o APT::Sandbox::User=
    -o Dir::State::Lists="$state/lists" -o Dir::State::status="$state/status"
    -o Dir::Cache="$state/cache")
  apt-get "${options[@]}" update
  apt-get "${options[@]}" install --yes --download-only --no-install-recommends "${@:2}"
  for package in "$state"/cache/archives/*.deb; do dpkg-deb --extract "$package" "$here/$1"; done
}
[ -x "$here/amd64/usr/bin/qemu-aarch64-static" ] || unpack amd64 qemu-user-static
[ -x "$here/arm64/usr/bin/python3" ] || unpack arm64 python3 libstdc++6 # NumPy needs it

# An emulated program starts native programs. This wrapper starts Python in the emulator.
python=$here/python3
printf '#!/bin/sh\nexec "%s" -L "%s" "%s" "$@"\n' \
  "$here/amd64/usr/bin/qemu-aarch64-static" "$here/arm64" "$here/arm64/usr/bin/python3" > "$python"
chmod +x "$python"
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
rm -rf "$here/site"
install() {
  python3 -m pip install --quiet --target "$here/site" --python-version "$version" --only-binary :all: \
    --platform manylinux_2_28_aarch64 --platform manylinux_2_17_aarch64 "$@"
}
install "$wheel" numpy==2.3.5 moocore==0.3.2 hypothesis pytest pytest-timeout
# The latest torch on PyPI for ARM without GPU packages; pip would select packages for this machine.
install --no-deps torch==2.9.1 filelock fsspec jinja2 markupsafe mpmath networkx sympy typing-extensions
echo "import sys; sys.executable = '$python'" > "$here/site/sitecustomize.py"
cd tests # the package is the installed one, whatever the current folder holds
export PYTHONPATH=$here/site
# Skip tests that limit time, and the one that limits memory, which the emulator does not support.
exec "$python" -m pytest -p no:cacheprovider \
  -k "not seconds and not in_a_second and not ends_soon and not lack_of_memory" "${@:2}"
