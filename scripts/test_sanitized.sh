#!/usr/bin/env bash
# Builds the core with a sanitizer and runs its tests:
#     scripts/test_sanitized.sh address,undefined
#     scripts/test_sanitized.sh thread
#     scripts/test_sanitized.sh fibers       emulates the kernels with concurrent lanes, then removes
#                                            the waits one by one; a test must notice each removal
# A finding ends the run with an error. Needs gcc. The environment stays in build/ for the next run.
# PYTHON=python3.13t selects another interpreter. Build a free-threaded one with the sanitizer, too
# (--with-thread-sanitizer); otherwise the sanitizer does not see the order that its locks impose.
set -euo pipefail
cd "$(dirname "$0")/.."

sanitizers=${1:?usage: scripts/test_sanitized.sh address,undefined | thread | fibers}
python=${PYTHON:-python3}
version=$("$python" -c 'import sys; print("%d.%d%s" % (*sys.version_info[:2], sys.abiflags))')
venv=build/sanitized-${sanitizers//,/-}-$version
options=()
# Skip tests that limit time, and those that fork while a thread allocates memory: in the child, the
# sanitizers' allocators may wait forever.
chosen="not fork and not seconds and not import_takes and not in_a_second and not ends_soon and not doctest"
case $sanitizers in
  thread) # only threads can race
    runtime=libtsan.so
    chosen="thread and not fork" ;;
  fibers)
    runtime=libtsan.so
    sanitizers=thread
    options=(--config-settings=cmake.define.PARETOPO_FIBERS=ON
      --config-settings=cmake.define.PARETOPO_BUILD_ISAS=portable)
    chosen="(emulated or mapping or test_kernels) and not doctest" ;;
  *address*) runtime=libasan.so ;;
  *) echo "expected address,undefined, thread or fibers, got $sanitizers"; exit 2 ;;
esac

"$python" -m venv "$venv"
"$venv/bin/pip" install --quiet "scikit-build-core>=0.11" "pybind11>=3.0" cmake ninja numpy==2.3.5 \
  hypothesis pytest pytest-timeout
PARETOPO_CUDA=OFF PARETOPO_BUILD_ISAS=ALL PARETOPO_EMULATED=ON "$venv/bin/pip" install --quiet --no-deps --no-build-isolation \
  --config-settings=cmake.define.PARETOPO_SANITIZE="$sanitizers" "${options[@]}" \
  --config-settings=cmake.build-type=RelWithDebInfo --config-settings=install.strip=false \
  --config-settings=build-dir="$venv/build" .

# Python leaks by design and is not instrumented, so report only the core.
export LD_PRELOAD="$(g++ -print-file-name=$runtime) $(g++ -print-file-name=libstdc++.so)"
export ASAN_OPTIONS=detect_leaks=0:halt_on_error=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
export TSAN_OPTIONS="halt_on_error=1:report_signal_unsafe=0:suppressions=$PWD/scripts/tsan_suppressions.txt"
cd tests # the package is the installed one, whatever the current folder holds
if [ ${#options[@]} -gt 0 ]; then
  "../$venv/bin/python" -m pytest -p no:cacheprovider --hypothesis-profile=few paretopo_core -k "$chosen" "${@:2}"
  exec "../$venv/bin/python" ../scripts/check_waits.py
fi
exec "../$venv/bin/python" -m pytest -p no:cacheprovider paretopo_core -k "$chosen" "${@:2}"
