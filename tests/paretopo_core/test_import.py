"""The core stands on NumPy alone, and imports fast."""

from __future__ import annotations

import json
import subprocess
import sys

import paretopo_core


def python(code: str) -> str:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_import_loads_neither_torch_nor_training():
    code = "import sys, json, paretopo_core; print(json.dumps(sorted(sys.modules)))"
    modules = json.loads(python(code))
    assert "numpy" in modules
    for name in ("torch", "transformers", "trl", "matplotlib", "paretopo"):
        assert name not in modules


def test_import_is_fast_beyond_numpy():
    code = (
        "import time, numpy; start = time.perf_counter(); import paretopo_core;"
        "print(time.perf_counter() - start)"
    )
    assert min(float(python(code)) for _ in range(3)) < 0.3


def test_everything_public_is_documented():
    for name in paretopo_core.__all__:
        public = getattr(paretopo_core, name)
        if callable(public):
            assert ">>>" in public.__doc__, f"{name} has no example"
