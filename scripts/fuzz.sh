#!/usr/bin/env bash
# Fuzzes the compiled core under the address and undefined-behaviour sanitizers. All instruction sets and
# the emulated GPU must compute the same numbers:
#     scripts/fuzz.sh [SECONDS_EACH [TARGET ...]]      (default 600, all of fuzz/)
# Needs clang with libFuzzer (Debian: clang, libclang-rt-dev). A mismatch prints its input.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-600}
targets=("${@:2}")
if [ ${#targets[@]} -eq 0 ]; then
  for source in fuzz/fuzz_*.cpp; do targets+=("$(basename "${source#fuzz/fuzz_}" .cpp)"); done
fi
build=build/fuzz
cmake -S . -B "$build" -DPARETOPO_FUZZ=ON -DPARETOPO_CUDA=OFF -DPARETOPO_BUILD_ISAS=ALL \
  -DCMAKE_CXX_COMPILER="${CXX:-clang++}"
cmake --build "$build" --parallel "${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}" --target "${targets[@]/#/fuzz_}"

for target in "${targets[@]}"; do
  mkdir -p "$build/corpus/$target"
  echo "fuzzing $target for $seconds s"
  "$build/fuzz_$target" -max_total_time="$seconds" -max_len=4096 -timeout=300 \
    -artifact_prefix="$build/$target-" -print_final_stats=1 "$build/corpus/$target"
done
echo "${#targets[@]} targets without a finding"
