#!/usr/bin/env bash
# Makes the environment in which trainings on verl run on a CPU, from nothing; then tests them.
# Usage: scripts/install_verl_cpu.sh [FOLDER]      (default .venv-verl, about 2 GB)
# Needs Linux on x86-64, Python 3.11 and g++. No GPU, no CUDA.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${1:-.venv-verl}

python3.11 -m venv "$venv"
pip() { "$venv/bin/python" -m pip --quiet --disable-pip-version-check "$@"; }

echo "1/3 torch, the CPU build"
pip install "torch==2.13.0+cpu" ||
    pip install "torch==2.13.0+cpu" --index-url https://download.pytorch.org/whl/cpu
echo "2/3 verl, Ray, TransferQueue and their dependencies"
pip install --no-deps -r scripts/verl_cpu.txt
echo "3/3 paretopo"
PARETOPO_CUDA=OFF pip install --no-build-isolation --no-deps .
"$venv/bin/python" -m pytest tests/integrations/verl
