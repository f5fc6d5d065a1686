#!/usr/bin/env bash
# Loads the Linux wheels of scripts/build_wheels.sh as far as this machine, x86-64 with Debian, can:
#     scripts/load_wheels.sh OUT
# glibc on x86-64 in each Python on the PATH, with NumPy only; glibc on aarch64 in an emulator, for Debian's
# Python; musl on x86-64 in musl's loader (apt-get install musl), which must miss nothing but Python itself.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(realpath "${1:?usage: scripts/load_wheels.sh OUT}")
(cd "$out" && sha256sum --check --quiet SHA256SUMS)

for python in python3.11 python3.12 python3.13 python3.14 python3.14t; do
  version=${python#python} && version=${version//./}
  wheel=$(echo "$out"/paretopo_core-*-cp"$version"-manylinux_2_28_x86_64.whl)
  if [ ! -f "$wheel" ] || ! $python -m venv --clear build/wheels/load > /dev/null 2>&1; then
    echo "$python: not loaded, for lack of its wheel or of the interpreter"
    continue
  fi
  build/wheels/load/bin/pip install --quiet --only-binary :all: "$wheel"
  (cd "$out" && "$OLDPWD/build/wheels/load/bin/python" -c '
import paretopo_core as pp
assert pp.pareto_rank([[1, 0], [0, 1], [0, 0]]).tolist() == [0, 0, 1]')
  echo "$python: loaded $(basename "$wheel")"
done

for wheel in "$out"/paretopo_core-*-musllinux_1_2_x86_64.whl; do
  rm -rf build/wheels/load
  python3 -m zipfile --extract "$wheel" build/wheels/load
  missing=$(/lib/ld-musl-x86_64.so.1 --list build/wheels/load/paretopo_core/_core*.so 2>&1 |
    grep -i "error" | grep -v "symbol not found" | grep -vE ': _?Py|_Py' || true)
  symbols=$(/lib/ld-musl-x86_64.so.1 --list build/wheels/load/paretopo_core/_core*.so 2>&1 |
    sed -n 's/.*: \(.*\): symbol not found/\1/p' | grep -vE '^_?Py' || true)
  [ -z "$missing$symbols" ] || { echo "$(basename "$wheel"): $missing $symbols"; exit 1; }
  echo "musl: loaded $(basename "$wheel")"
done

wheel=$(echo "$out"/paretopo_core-*-cp311-manylinux_2_28_aarch64.whl)
bash scripts/test_wheel_aarch64.sh "$wheel" paretopo_core/test_story.py
