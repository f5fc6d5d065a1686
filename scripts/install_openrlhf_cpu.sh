#!/usr/bin/env bash
# Makes the environment in which trainings on OpenRLHF are rehearsed on a CPU, from nothing.
# Usage: scripts/install_openrlhf_cpu.sh [FOLDER]      (default .venv-openrlhf, about 3 GB)
# Needs Linux on x86-64, Python 3.11, g++ and 9 minutes of CPU time. No GPU, no CUDA.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${1:-.venv-openrlhf}

python3.11 -m venv "$venv"
pip() { "$venv/bin/python" -m pip --quiet --disable-pip-version-check "$@"; }

echo "1/4 torch, the CPU build"
pip install "torch==2.13.0+cpu" ||
    pip install "torch==2.13.0+cpu" --index-url https://download.pytorch.org/whl/cpu
echo "2/4 Ray, vLLM, OpenRLHF and their dependencies"
pip install --no-deps -r scripts/openrlhf_cpu.txt
# Source only; its build needs torch, and setuptools newer than the one that vLLM asks for.
DS_BUILD_OPS=0 pip install --no-build-isolation --no-deps "deepspeed==0.19.6"
echo "3/4 paretopo"
# In a folder of its own: other builds may run at the same time.
PARETOPO_CUDA=OFF pip install --no-build-isolation --no-deps -C build-dir=build/openrlhf .
echo "4/4 DeepSpeed's two C++ operations"
DS_ACCELERATOR=cpu TORCH_EXTENSIONS_DIR="$PWD/$venv/torch_extensions" "$venv/bin/python" - <<'PYTHON'
from deepspeed.accelerator import get_accelerator

for builder in ("ShareMemCommBuilder", "FusedAdamBuilder"):
    get_accelerator().create_op_builder(builder).load(verbose=False)
PYTHON
echo "done: $venv/bin/paretopo train examples/rehearsal.toml --rehearse"
