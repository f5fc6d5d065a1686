#!/usr/bin/env bash
# Runs the kernels' PTX, as compiled by nvcc, without a GPU, on the interpreter in tests/ptx_machine. It
# reports races, accesses that are out of bounds or uninitialised, and deadlocks.
#     scripts/run_ptx.sh short                 one architecture, sets of every kind: seconds, after the build
#     scripts/run_ptx.sh growth                one architecture, large sets of the cost: minutes
#     scripts/run_ptx.sh [tests|waits|cost]... all three by default; two architectures, about an hour
# tests runs the core's tests; waits removes the waits one by one; cost counts instructions and estimates
# times; growth is its part about large sets. Needs nvcc from a CUDA toolkit or, with PARETOPO_CUDA=ON,
# from PyPI. The environment stays in build/ for the next run.
set -euo pipefail
cd "$(dirname "$0")/.."

steps=("$@")
[ ${#steps[@]} -gt 0 ] || steps=(tests waits cost)
for step in "${steps[@]}"; do
  case $step in
    short | growth | tests | waits | cost) ;;
    *) echo "expected short, growth, tests, waits or cost, got $step"; exit 2 ;;
  esac
done
architectures=(75 90)
case ${steps[*]} in short | growth) architectures=(90) ;; esac

for architecture in "${architectures[@]}"; do
  venv=build/ptx-$architecture/venv
  [ -x "$venv/bin/python" ] || python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet numpy==2.3.5 hypothesis pytest pytest-timeout
  # As deep a folder as that of the usual build: ccache then finds the kernels that it compiled.
  CUDAARCHS=$architecture "$venv/bin/pip" install --quiet --no-deps \
    --config-settings=cmake.define.PARETOPO_PTX_MACHINE=ON \
    --config-settings=build-dir="build/ptx-$architecture" .
  for step in "${steps[@]}"; do
    echo "== $step, PTX for compute capability ${architecture:0:1}.${architecture:1}"
    case $step in
      short) (cd tests && "../$venv/bin/python" -m pytest -p no:cacheprovider -q --timeout=0 paretopo_core/test_kernels.py) ;;
      tests) (cd tests && "../$venv/bin/python" -m pytest -p no:cacheprovider -q --timeout=0 \
        --hypothesis-profile=few paretopo_core -k "emulated or mapping or test_kernels") ;;
      waits) "$venv/bin/python" scripts/check_waits.py ;;
      growth) "$venv/bin/python" scripts/estimate_kernels.py growth ;;
      cost) "$venv/bin/python" scripts/estimate_kernels.py ;;
    esac
  done
done
