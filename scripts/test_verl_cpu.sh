#!/usr/bin/env bash
# The tests on the real verl, Ray and TransferQueue, on a CPU.
# Usage: scripts/test_verl_cpu.sh [FOLDER]
#   FOLDER    the environment of scripts/install_verl_cpu.sh, made if not there
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${1:-.venv-verl}
if [ -x "$venv/bin/paretopo" ]; then # install the current tree
    PARETOPO_CUDA=OFF "$venv/bin/python" -m pip install --quiet --no-build-isolation --no-deps .
else
    bash scripts/install_verl_cpu.sh "$venv"
fi
"$venv/bin/python" -m pytest tests/integrations/verl
