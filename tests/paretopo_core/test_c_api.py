"""The C library: its answers are those of Python, and a C program gets its errors."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from support.c_library import HEADER, LIBRARY, ROOT

import paretopo_core as pp

pytestmark = pytest.mark.c_library

COMPILER = [os.environ.get("CC", "cc"), "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]
EXAMPLES = ROOT / "examples" / "languages"


def link_options() -> list[str]:
    return [f"-L{LIBRARY.parent}", "-lparetopo_c", f"-Wl,-rpath,{LIBRARY.parent}"]


def compile_program(source: Path, program: Path) -> None:
    """Compile as C99, with every warning an error."""
    options = [f"-I{HEADER.parent}", *link_options(), "-lm", "-o", str(program)]
    subprocess.run([*COMPILER, str(source), *options], check=True)


def run(*command: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=300, **options)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("c") / "c_api"
    compile_program(Path(__file__).with_name("c_api.c"), path)
    return path


def test_a_c_program_gets_errors_and_the_gains_of_an_archive(program):
    done = run(program)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="macOS does not limit the memory of a process")
def test_a_call_without_memory_returns_a_status(program):
    import resource

    if "libasan" in os.environ.get("LD_PRELOAD", ""):
        pytest.skip("the sanitizer reserves address space")
    limit = 60 << 20
    done = run(
        program,
        "memory",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("maximise", [True, [True, False, True, False]])
def test_batches_get_the_answers_of_the_functions_of_the_same_name(maximise):
    library = ctypes.CDLL(str(LIBRARY))
    rng = np.random.default_rng(0)
    points = rng.integers(0, 6, (7, 50, 4)).astype(float)
    ref = np.where(maximise, -1.0, 7.0) * np.ones(4)
    sizes = [ctypes.c_int64(size) for size in points.shape]
    senses = None if maximise is True else (ctypes.c_int * 4)(*maximise)
    corner = [ctypes.c_void_p(ref.ctypes.data), ctypes.c_int64(len(ref))]
    calls = {
        pp.pareto_rank: ([], {}),
        pp.crowding_distance: ([], {}),
        pp.hypervolume: (corner, {"ref": ref}),
    }
    for flag in (False, True):
        chosen = ctypes.c_int(flag)
        calls[partial(pp.is_nondominated, duplicates="all" if flag else "first")] = ([chosen], {})
        calls[partial(pp.hypervolume_contributions, ignore_dominated=flag)] = (
            [*corner, chosen],
            {"ref": ref},
        )
    for function, (others, options) in calls.items():
        expected = np.asarray(function(points, maximise=maximise, **options))
        result = np.full_like(expected, 99)
        call = library[f"paretopo_{getattr(function, 'func', function).__name__}"]
        given = ctypes.c_void_p(points.ctypes.data)
        address = ctypes.c_void_p(result.ctypes.data)
        assert call(given, *sizes, senses, *others, address) == 0
        np.testing.assert_array_equal(result, expected, err_msg=call.__name__)


@pytest.mark.skipif(sys.platform != "linux", reason="lists symbols of ELF files")
def test_the_library_exports_only_the_functions_of_the_header():
    if shutil.which("nm") is None:
        pytest.skip("needs nm")
    symbols = run("nm", "-D", "--defined-only", LIBRARY, check=True).stdout.splitlines()
    declared = re.findall(r"PARETOPO_PUBLIC .*?\b(paretopo_\w+)\(", HEADER.read_text())
    assert {line.split()[-1] for line in symbols} == set(declared)
    assert len(declared) == 11


def test_the_example_in_c_prints_the_volume(tmp_path):
    if not EXAMPLES.is_dir():
        pytest.skip("a source distribution of the core has no examples")
    compile_program(EXAMPLES / "hypervolume.c", tmp_path / "hypervolume")
    assert run(tmp_path / "hypervolume").stdout == "6\n"
