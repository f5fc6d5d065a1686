#!/usr/bin/env bash
# Fuzzes the compiled core against its definitions, under the address and undefined-behaviour
# sanitizers:
#     scripts/fuzz.sh [SECONDS_EACH [TARGET ...]]      (default 600, all of fuzz/)
# Needs clang with libFuzzer (Debian: clang, libclang-rt-dev). A mismatch prints its input.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-600}
targets=("${@:2}")
[ ${#targets[@]} -gt 0 ] || targets=(fronts hypervolume advantage expected_hypervolume)
compiler=${CXX:-clang++}
build=build/fuzz
mkdir -p "$build/corpus"
flags=(-std=c++20 -O1 -g -ffp-contract=off -Icsrc -Ifuzz -Wno-psabi -DPARETOPO_X86_LANES)
checks=(-fsanitize=address,undefined -fno-sanitize=float-divide-by-zero -fno-sanitize-recover=all)

declare -A lane_flags=([portable]=-msse4.2 [avx2]=-mavx2
  [avx512]="-mavx512f -mavx512bw -mavx512dq -mavx512vl")
objects=()
compile() { # SOURCE OBJECT FLAGS...
  [ "$2" -nt "$1" ] || "$compiler" "${flags[@]}" "${@:3}" -c "$1" -o "$2"
  objects+=("$2")
}
for source in csrc/cpu/*.cpp; do
  compile "$source" "$build/$(basename "$source" .cpp).o" -fsanitize=fuzzer-no-link "${checks[@]}"
done
compile csrc/emulated/ops.cpp "$build/emulated.o" -fsanitize=fuzzer-no-link "${checks[@]}"
for isa in portable avx2 avx512; do
  for source in csrc/cpu/lanes/*.cpp; do
    # Unrolled loops times every check would take many minutes to compile: addresses only.
    # shellcheck disable=SC2086
    compile "$source" "$build/$isa-$(basename "$source" .cpp).o" ${lane_flags[$isa]} \
      -DPARETOPO_LANES=$isa -fsanitize=address
  done
done

for target in "${targets[@]}"; do
  "$compiler" "${flags[@]}" -fsanitize=fuzzer "${checks[@]}" "fuzz/fuzz_$target.cpp" "${objects[@]}" -pthread \
    -o "$build/fuzz_$target"
  mkdir -p "$build/corpus/$target"
  echo "fuzzing $target for $seconds s"
  "$build/fuzz_$target" -max_total_time="$seconds" -max_len=4096 -timeout=60 \
    -artifact_prefix="$build/$target-" -print_final_stats=1 "$build/corpus/$target"
done
echo "${#targets[@]} targets without a finding"
