#!/usr/bin/env bash
# Runs the tests of the core that reach a GPU under NVIDIA's compute-sanitizer:
#     scripts/test_cuda_sanitized.sh [memcheck | racecheck | synccheck]...     all three by default
# A finding ends the run with an error. Needs a GPU, a CUDA toolkit and a torch built for CUDA; the
# environment is kept in build/ for next time. Property tests run with fewer examples.
set -euo pipefail
cd "$(dirname "$0")/.."

tools=("$@")
[ ${#tools[@]} -gt 0 ] || tools=(memcheck racecheck synccheck)
for tool in "${tools[@]}"; do
  case $tool in
    memcheck | racecheck | synccheck) ;;
    *) echo "expected memcheck, racecheck or synccheck, got $tool"; exit 2 ;;
  esac
done
for needed in compute-sanitizer nvcc; do
  command -v $needed > /dev/null || { echo "$needed not found: it comes with the CUDA toolkit"; exit 1; }
done

venv=build/sanitized-cuda
[ -x "$venv/bin/python" ] || python3 -m venv --system-site-packages "$venv" # torch may be there already
"$venv/bin/pip" install --quiet "scikit-build-core>=0.11" "pybind11>=3.0" cmake ninja hypothesis pytest pytest-timeout
"$venv/bin/python" -c 'import torch; assert torch.cuda.is_available()' ||
  { echo "no torch that reaches a GPU: install one into $venv"; exit 1; }
PARETOPO_CUDA=ON CUDAARCHS=native CUDAFLAGS=-lineinfo "$venv/bin/pip" install --quiet --no-deps \
  --no-build-isolation --config-settings=install.strip=false --config-settings=build-dir="$venv/build" .

# Every tensor its own allocation, so that reading beyond its end is seen.
export PYTORCH_NO_CUDA_MEMORY_CACHING=1
cd tests # the package is the installed one, whatever the current folder holds
for tool in "${tools[@]}"; do
  echo "== $tool"
  compute-sanitizer --tool "$tool" --error-exitcode 1 --launch-timeout 300 \
    "../$venv/bin/python" -m pytest -p no:cacheprovider --hypothesis-profile=few --timeout=0 \
    paretopo_core -k "torch_cuda or (test_cuda and not million and not graph)" -q
done
