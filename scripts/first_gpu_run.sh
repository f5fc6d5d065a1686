#!/usr/bin/env bash
# Runs all checks for the first machine with a GPU: tests on the device, NVIDIA's racecheck, memcheck and
# synccheck, and the benchmark. docs/gpu.md has the expected output.
#     scripts/first_gpu_run.sh [--short]      an hour; --short skips the sanitizers and large cases
# Needs a GPU, its CUDA toolkit (nvcc, compute-sanitizer) and a torch built for CUDA; about 10 GB.
# The log and the results go to bench/results/<GPU>/: commit that folder, whatever the outcome.
set -uo pipefail
cd "$(dirname "$0")/.."

is_short=false
case ${1:-} in
  "") ;;
  --short) is_short=true ;;
  *) echo "expected nothing or --short, got $1"; exit 2 ;;
esac
for needed in nvidia-smi nvcc compute-sanitizer; do
  command -v $needed > /dev/null || { echo "$needed not found: it comes with the driver or the CUDA toolkit"; exit 1; }
done

venv=build/first-gpu-run
log=build/first-gpu-run.log
mkdir -p build
touch build/first-gpu-run.begun
[ -x "$venv/bin/python" ] || python3 -m venv --system-site-packages "$venv" # torch may be there already
python=$venv/bin/python
failed=()

# step NAME COMMAND...: runs it, says how it ended and how long it took; goes on after a failure.
step() {
  local name=$1 started=$SECONDS
  shift
  echo "== $name"
  if "$@"; then echo "== $name: passed, $((SECONDS - started)) s"; else
    failed+=("$name")
    echo "== $name: FAILED, $((SECONDS - started)) s"
  fi
}

everything() {
  nvidia-smi --query-gpu=name,driver_version,compute_cap --format=csv,noheader
  nvcc --version | tail -1
  git rev-parse HEAD
  PARETOPO_CUDA=ON CUDAARCHS=native step install "$python" -m pip install --quiet ".[test,bench]"
  step "torch reaches the GPU" "$python" -c 'import torch; assert torch.cuda.is_available(), "no"'
  # Run from the folder of the tests, so that Python imports the installed package.
  step "tests on the device" bash -c "cd tests && ../$python -m pytest -p no:cacheprovider -q paretopo_core -k 'cuda'"
  step kernels "$python" scripts/check_kernels.py
  if ! $is_short; then
    step sanitizers bash scripts/test_cuda_sanitized.sh memcheck racecheck synccheck
  fi
  step benchmark "$python" -m bench --device cuda $($is_short && echo --quick)
  if [ ${#failed[@]} -gt 0 ]; then echo "failed: ${failed[*]}"; else echo "all passed"; fi
}

everything 2>&1 | tee "$log"
results=$(find bench/results -mindepth 2 -name machine.json -newer build/first-gpu-run.begun -printf '%h\n' | head -1)
if [ -n "$results" ]; then
  cp "$log" "$results/first_gpu_run.log"
  echo "commit $results: its numbers, and first_gpu_run.log"
fi
tail -1 "$log" | grep -q "^all passed$"
