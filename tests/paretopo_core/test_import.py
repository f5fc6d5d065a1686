"""The core depends only on NumPy and imports fast."""

from __future__ import annotations

import subprocess
import sys

import pytest

import paretopo_core


def python(code: str) -> str:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_import_loads_neither_torch_nor_training():
    code = "import sys, paretopo_core; print(*sorted(sys.modules))"
    modules = python(code).split()
    assert "numpy" in modules
    for name in ("torch", "transformers", "trl", "matplotlib", "paretopo"):
        assert name not in modules
    assert "paretopo_core.archive_files" not in modules  # nor the modules of its formats


def test_import_takes_less_than_that_of_numpy():
    if "site-packages" not in paretopo_core.__file__:
        pytest.skip("the import of an editable installation looks for changed sources first")
    code = (
        "from time import process_time as now; start = now(); import numpy; middle = now();"
        "import paretopo_core; print((now() - middle) / (middle - start))"
    )
    assert min(float(python(code)) for _ in range(3)) < 1


def test_a_python_without_its_lock_stays_without():
    code = (
        "import sys, numpy; is_locked = getattr(sys, '_is_gil_enabled', lambda: True);"
        "before = is_locked(); import paretopo_core; print(before == is_locked())"
    )
    assert python(code) == "True\n"


def test_everything_public_is_documented():
    for name in paretopo_core.__all__:
        public = getattr(paretopo_core, name)
        if callable(public):
            assert ">>>" in public.__doc__, f"{name} has no example"


_ELSEWHERE = """
import sys
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters
if sys.argv[1] == "both":
    import paretopo_core
program = '''
try:
    import paretopo_core
except ImportError as error:
    print("refused:", error, flush=True)
else:
    print("imported", flush=True)
'''
own = interpreters.create()
run = getattr(interpreters, "run_string", None) or interpreters.exec
run(own, program)
"""


@pytest.mark.parametrize("where", ["both", "other"])
def test_subinterpreter_import_fails(where):
    command = [sys.executable, "-c", _ELSEWHERE, where]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert "refused: paretopo_core works in the main interpreter of a process only" in run.stdout
