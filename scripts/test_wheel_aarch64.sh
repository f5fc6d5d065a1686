#!/usr/bin/env bash
# The core's tests of a wheel for aarch64, on an x86-64 machine with Debian, without root:
#     scripts/test_wheel_aarch64.sh WHEEL [PYTEST_ARGUMENT]...
# The emulator (qemu-user) and the Python of Debian for arm64 are unpacked into build/aarch64, NumPy
# moocore, torch and pytest beside them; the wheel is one for that Python (3.11 on Debian 12). Everything
# takes ten times as long: all of them, which is what runs without arguments, with few examples, an hour;
# single files go, too, say paretopo_core/test_story.py.
set -euo pipefail
[ $# != 1 ] || set -- "$@" paretopo_core --hypothesis-profile=few
cd "$(dirname "$0")/.."
wheel=$(realpath "${1:?usage: scripts/test_wheel_aarch64.sh WHEEL [PYTEST_ARGUMENT]...}")
here=$PWD/build/aarch64

# What apt-get downloads for an architecture with all that it needs, unpacked into $here/ARCHITECTURE;
# nothing of the machine's own packages is asked or changed.
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

# An emulated program starts programs of the machine: another Python is asked for by this name.
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
# The last torch of PyPI for a CPU of ARM without what a GPU needs; pip takes this machine for its own.
install --no-deps torch==2.9.1 filelock fsspec jinja2 markupsafe mpmath networkx sympy typing-extensions
echo "import sys; sys.executable = '$python'" > "$here/site/sitecustomize.py"
cd tests # the package is the installed one, whatever the current folder holds
export PYTHONPATH=$here/site
# Without those that say how long something may take, and the one that limits memory: the emulator does not.
exec "$python" -m pytest -p no:cacheprovider \
  -k "not seconds and not in_a_second and not ends_soon and not lack_of_memory" "${@:2}"
