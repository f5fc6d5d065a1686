"""The C library: a C program with values computed by hand, and the examples of its page."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.c_library import HEADER, LIBRARY, ROOT

pytestmark = pytest.mark.c_library

COMPILER = [os.environ.get("CC", "cc"), "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]
PAGE = ROOT / "docs" / "c_api.md"  # not in a source distribution of the core


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


def write_examples(folder: Path) -> None:
    """Write each block of the page that names its file in the first line."""
    if not PAGE.is_file():
        pytest.skip("the page is in a checkout only")
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```\w+\n(?:/\*|#|%) (\S+\.\w+).*?\n(.*?)^```", text, re.M | re.S)
    for name, block in blocks:
        (folder / name).write_text(block, encoding="utf-8")


def test_a_c_program_gets_the_values_computed_by_hand(program):
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


@pytest.mark.skipif(sys.platform != "linux", reason="lists symbols of ELF files")
def test_the_library_exports_only_the_functions_of_the_header():
    if shutil.which("nm") is None:
        pytest.skip("needs nm")
    symbols = run("nm", "-D", "--defined-only", LIBRARY, check=True).stdout.splitlines()
    declared = re.findall(r"PARETOPO_PUBLIC .*?\b(paretopo_\w+)\(", HEADER.read_text())
    assert {line.split()[-1] for line in symbols} == set(declared)
    assert len(declared) == 9


def test_the_example_in_c_prints_the_volume(tmp_path):
    write_examples(tmp_path)
    compile_program(tmp_path / "example.c", tmp_path / "example")
    assert run(tmp_path / "example").stdout == "6\n"


@pytest.mark.r
def test_the_example_in_r_prints_the_volume_and_raises_the_reason(tmp_path):
    write_examples(tmp_path)
    options = {
        "PKG_CPPFLAGS": f"-I{HEADER.parent}",
        "PKG_LIBS": " ".join(link_options()),
    }
    build = run("R", "CMD", "SHLIB", "paretopo_r.c", cwd=tmp_path, env={**os.environ, **options})
    assert build.returncode == 0, build.stderr
    assert run("Rscript", "example.R", cwd=tmp_path).stdout == "[1] 6\n"
    with (tmp_path / "example.R").open("a", encoding="utf-8") as example:
        example.write("hypervolume(rbind(c(1, NaN)), ref = c(0, 0))\n")
    refused = run("Rscript", "example.R", cwd=tmp_path)
    assert refused.returncode != 0
    assert "points must be numbers" in refused.stderr
