#!/usr/bin/env bash
# The tests of scripts/test_openrlhf_cpu.sh on every release of OpenRLHF that the package accepts,
# in a copy of its environment; closes with a line for each release.
# Usage: scripts/test_openrlhf_releases.sh [--all] [RELEASE]...
#   --all     every test, 12 minutes a release; else the short one, 1 minute a release
#   RELEASE   for example 0.10.4; without any, all of integrations/openrlhf/version.py's range
# All releases meet the Ray, vLLM, DeepSpeed and transformers of scripts/openrlhf_cpu.txt.
set -euo pipefail
cd "$(dirname "$0")/.."
chosen=(--short)
if [ "${1:-}" = "--all" ]; then
    chosen=()
    shift
fi
releases=("$@")
[ $# -gt 0 ] || releases=(0.10.2 0.10.3 0.10.4 0.11.0 0.11.1 0.11.2)
venv=.venv-openrlhf copy=.venv-openrlhf-release
[ -x "$venv/bin/paretopo" ] || bash scripts/install_openrlhf_cpu.sh "$venv"

# Programs in bin/ of a copy start the original's Python: everything goes by `python -m`.
pip() { "$copy/bin/python" -m pip --quiet --disable-pip-version-check "$@"; }
rm -rf "$copy"
trap 'rm -rf "$copy"' EXIT
cp -a --reflink=auto "$venv" "$copy"
PARETOPO_CUDA=OFF pip install --no-build-isolation --no-deps .

reports=() status=0
for release in "${releases[@]}"; do
    pip install --no-build-isolation --no-deps "openrlhf==$release"
    result=passed
    bash scripts/test_openrlhf_cpu.sh "${chosen[@]}" "$copy" || { result=failed && status=1; }
    reports+=("openrlhf $release: $result")
done
printf '%s\n' "${reports[@]}"
exit "$status"
