#!/usr/bin/env bash
# The files compiled for AVX2 and AVX-512 must not define anything under a name that other files
# share: the linker might hand their version to code that runs on machines without these
# instructions. Looks into the build folders below build/, except those of the fuzz targets and of the
# sanitizers, which inline less, and of wheels, whose C++ library defines such names in each object.
set -euo pipefail
cd "$(dirname "$0")/.."

objects=$(find build -path '*paretopo_lanes_avx*' -name '*.o' -not -path 'build/fuzz/*' -not -path 'build/wheels/*' -not -path 'build/sanitized-*')
[ -n "$objects" ] || { echo "no AVX objects below build/: nothing to check"; exit 0; }
# shellcheck disable=SC2086
shared=$(nm -C $objects | grep -E ' [WVu] ' | grep -v -E 'paretopo::cpu::avx|DW\.ref\.|decltype|guard variable' || true)
if [ -n "$shared" ]; then
  echo "shared symbols in AVX objects:"
  echo "$shared"
  exit 1
fi
echo "$(echo "$objects" | wc -l) AVX objects share no symbol with other files"
