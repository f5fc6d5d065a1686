#!/usr/bin/env bash
# Objects compiled for AVX2 and AVX-512 may define inline functions of the C++ library that other objects
# define, too. The linker keeps the first definition and hands it to all callers. So in each libparetopo.a
# below build/, whose objects are linked in their order, the first one must not need these instructions.
# Builds of run_ptx.sh, which never leave the machine, are not checked.
set -euo pipefail
cd "$(dirname "$0")/.."

libraries=$(find build -name libparetopo.a -not -path 'build/ptx-*')
[ -n "$libraries" ] || { echo "no library below build/: nothing to check"; exit 0; }
for library in $libraries; do
  nm "$library" 2> /dev/null | awk -v library="$library" '
    /:$/ { member++; next }
    $2 != "U" && /paretopo3cpu4avx2/ { lane[member] = 2 }
    $2 != "U" && /paretopo3cpu6avx512/ { lane[member] = 512 }
    $2 ~ /^[VWu]$/ { symbol[++count] = $3; where[count] = member }
    END {
      for (i = 1; i <= count; i++) {
        name = symbol[i]
        if (!(name in first)) first[name] = lane[where[i]] + 0
        else if (first[name] > lane[where[i]] + 0) { print library ": " name; wrong = 1 }
      }
      if (!wrong) print library ": " count " shared functions, none of them first for AVX"
      exit wrong
    }' || { echo "an object compiled for AVX defines these first"; exit 1; }
done
