#!/usr/bin/env bash
# Checks the CUDA kernels on a GPU: tests, NVIDIA's memcheck, racecheck and synccheck, and the benchmark,
# in 6 minutes on 16 cores. docs/gpu.md has the results of an H200.
#     scripts/first_gpu_run.sh [tests|kernels|sanitizers|benchmark|quick|training]...     the first four by default
# quick is the benchmark of small sizes; training counts, times and traces steps of TRL in at most four
# minutes, after the installation. Needs a GPU, its CUDA toolkit (nvcc, compute-sanitizer) and a
# python3 with a torch built for CUDA, whose packages are used where they suffice.
# The log and the results go to bench/results/<GPU>/: commit that folder, whatever the outcome.
set -uo pipefail
cd "$(dirname "$0")/.."

steps=("$@")
[ ${#steps[@]} -gt 0 ] || steps=(tests kernels sanitizers benchmark)
for name in "${steps[@]}"; do
  case $name in
    tests | kernels | sanitizers | benchmark | quick | training) ;;
    *) echo "expected tests, kernels, sanitizers, benchmark, quick or training, got $name"; exit 2 ;;
  esac
done
for needed in nvidia-smi nvcc compute-sanitizer; do
  command -v $needed > /dev/null || { echo "$needed not found: it comes with the driver or the CUDA toolkit"; exit 1; }
done

venv=build/first-gpu-run
log=build/first-gpu-run.log
python=$venv/bin/python
failed=()
# python3 can have other plugins of pytest, whose warnings would be errors here.
export PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 PYTEST_PLUGINS=xdist.plugin,pytest_timeout,_hypothesis_pytestplugin
mkdir -p build
touch build/first-gpu-run.begun

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

install() {
  if [ ! -x "$python" ]; then
    python3 -m venv "$venv" || return
    # python3 can itself be a virtual environment, whose packages --system-site-packages would miss.
    python3 -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > "$(echo "$venv"/lib/python*/site-packages)/python3.pth"
  fi
  "$python" -m pip install --quiet "scikit-build-core>=0.11" "pybind11>=3.0" cmake ninja "numpy>=1.26" matplotlib \
    moocore==0.3.2 numba hypothesis pytest pytest-timeout pytest-xdist || return
  for peer in botorch evotorch evox; do
    "$python" -m pip install --quiet $peer || echo "the benchmark leaves out $peer"
  done
  # With lines of source, for the sanitizers; they do not change the machine code.
  PARETOPO_CUDA=ON CUDAARCHS=native CUDAFLAGS=-lineinfo "$python" -m pip install --quiet --no-deps \
    --no-build-isolation --config-settings=install.strip=false --config-settings=build-dir="$venv/build" .
}

# From the folder of the tests, so that Python imports the installed package.
run_tests() {
  (cd tests && "../$python" -m pytest -p no:cacheprovider -q -n auto paretopo_core -k cuda)
}

# The three tools side by side. Every tensor is an allocation of its own, so that a read beyond its end is
# found. Property tests have fewer examples.
run_sanitizers() {
  local tool outcome=0
  for tool in memcheck racecheck synccheck; do
    (cd tests && PYTORCH_NO_CUDA_MEMORY_CACHING=1 compute-sanitizer --tool $tool --target-processes all \
      "../$python" -m pytest -p no:cacheprovider -q -n auto --hypothesis-profile=few --timeout=0 \
      paretopo_core -k "torch_cuda or (test_cuda and not million and not graph)") > build/$tool.log 2>&1 &
  done
  wait
  for tool in memcheck racecheck synccheck; do
    echo "$tool: $(grep -E ' passed.* in |SUMMARY' build/$tool.log | tr '\n' ' ')"
    grep -qE ' passed.* in ' build/$tool.log && grep -q 'SUMMARY: 0 ' build/$tool.log &&
      ! grep -qE 'SUMMARY: [1-9]|[1-9][0-9]* failed|[1-9][0-9]* errors? in ' build/$tool.log ||
      { outcome=1; tail -40 build/$tool.log; }
  done
  return $outcome
}

# A model with the depth and width of SmolLM2-135M, made on the spot: 64 rollouts of up to 96 tokens.
run_training() {
  "$python" -m pip install --quiet "paretopo[train]" || return
  timeout 240 "$python" scripts/measure_step.py examples/calculator.toml --steps 4 --trace build/step.json.gz \
    --set model.layers=30 --set model.width=576 --set model.heads=9 --set optimiser.prompts_per_step=8 \
    --set warmup.steps=60 --set warmup.learning_rate=5e-4
}

run_all() {
  nvidia-smi --query-gpu=name,driver_version,compute_cap --format=csv,noheader
  nvcc --version | tail -1
  git rev-parse HEAD 2> /dev/null || echo "the commit is unknown: this is no git checkout"
  step install install
  step "torch reaches the GPU" "$python" -c 'import torch; assert torch.cuda.is_available(), "no"'
  for name in "${steps[@]}"; do
    case $name in
      tests) step "tests on the device" run_tests ;;
      kernels) step kernels "$python" scripts/check_kernels.py ;;
      sanitizers) step sanitizers run_sanitizers ;;
      benchmark) step benchmark "$python" -m bench --device cuda ;;
      training) step training run_training ;;
      quick) step "quick benchmark" "$python" -m bench --device cuda --quick ;;
    esac
  done
  if [ ${#failed[@]} -gt 0 ]; then echo "failed: ${failed[*]}"; else echo "all passed"; fi
}

run_all 2>&1 | tee "$log"
results=$(find bench/results -mindepth 2 -name machine.json -newer build/first-gpu-run.begun -printf '%h\n' | head -1)
if [ -n "$results" ]; then
  cp "$log" "$results/first_gpu_run.log"
  echo "commit $results: its numbers, and first_gpu_run.log"
fi
tail -1 "$log" | grep -q "^all passed$"
