#!/usr/bin/env bash
# The tests on the real OpenRLHF, Ray, DeepSpeed and vLLM, on a CPU; closes with `N passed, N failed`.
# Usage: scripts/test_openrlhf_cpu.sh [--short] [FOLDER]
#   --short   one synchronous run of both stages and one of a launch script's options, as .ci/run
#             does it; else everything, 15 minutes on two quiet cores
#   FOLDER    the environment of scripts/install_openrlhf_cpu.sh, made in 3 minutes if not there
set -euo pipefail
cd "$(dirname "$0")/.."
chosen=()
if [ "${1:-}" = "--short" ]; then
    chosen=(-m openrlhf_short)
    shift
fi
venv=${1:-.venv-openrlhf}
if [ -x "$venv/bin/paretopo" ]; then # install the current tree
    PARETOPO_CUDA=OFF "$venv/bin/python" -m pip install --quiet --no-build-isolation --no-deps \
        -C build-dir=build/openrlhf .
else
    bash scripts/install_openrlhf_cpu.sh "$venv"
fi

results=$(mktemp)
trap 'rm -f "$results"' EXIT
status=0
"$venv/bin/python" -m pytest tests/integrations/openrlhf "${chosen[@]}" --junitxml "$results" || status=$?
"$venv/bin/python" - "$results" <<'PYTHON'
import sys
from xml.etree import ElementTree

suite = ElementTree.parse(sys.argv[1]).getroot().find("testsuite")
count = {name: int(suite.get(name)) for name in ("tests", "failures", "errors", "skipped")}
failed = count["failures"] + count["errors"]
print(f"{count['tests'] - failed - count['skipped']} passed, {failed} failed")
PYTHON
exit "$status"
