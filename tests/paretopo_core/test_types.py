"""The published types: a typed user's programs under mypy."""

import ast
import os
import re
import runpy
import subprocess
import sys
import typing
from pathlib import Path
from types import UnionType
from typing import Union, get_args, get_origin, get_type_hints

import numpy as np
import pytest

import paretopo_core as pp

FOLDER = Path(__file__).parent / "typed"
SCRIPT = Path(__file__).parents[2] / "scripts" / "make_stub.py"


@pytest.fixture(scope="module", autouse=True)
def stub():
    """Return the stub: a build has made it, and a checkout makes it here."""
    if SCRIPT.is_file() and "site-packages" not in pp.__file__:
        subprocess.run([sys.executable, SCRIPT], check=True)
    return Path(pp.__file__).with_name("__init__.pyi").read_text(encoding="utf-8")


def check(tmp_path_factory, *names):
    """Run mypy --strict on programs, with the package as it is installed or imported here."""
    pytest.importorskip("mypy")
    cache = tmp_path_factory.getbasetemp() / "mypy"
    home = str(Path(pp.__file__).parents[1])
    environment = dict(os.environ)
    if "site-packages" not in home:
        environment["MYPYPATH"] = home
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports", "silent"]
    command += ["--cache-dir", str(cache), "--config-file", os.devnull, *names]
    return subprocess.run(
        command, cwd=FOLDER, env=environment, capture_output=True, text=True, check=False
    ).stdout


def list_refused():
    """Return the line of each call that is refused, and the code of its error."""
    lines = (FOLDER / "refused.py").read_text(encoding="utf-8").splitlines()
    return {number: line.split("# ")[1] for number, line in enumerate(lines, 1) if "  # " in line}


@pytest.mark.long  # a minute: mypy reads NumPy first
def test_results_have_the_types_that_mypy_says(tmp_path_factory):
    output = check(tmp_path_factory, "arrays.py", "uncalled.py", "refused.py")
    found = {
        int(line): code
        for file, line, code in re.findall(r"^(\S+?):(\d+): error: .*\[(.+)\]$", output, re.M)
        if file == "refused.py"
    }
    assert found == list_refused(), output
    assert output.count(" error: ") == len(found), output


@pytest.mark.long
def test_tensors_and_frames_have_the_types_that_mypy_says(tmp_path_factory):
    pytest.importorskip("torch")
    pytest.importorskip("polars")
    assert check(tmp_path_factory, "tensors.py").startswith("Success")


def has_type(value, kind):
    """Check a value against a type that a program asserts."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return any(has_type(value, one) for one in arguments)
    if origin is np.ndarray:
        [scalar] = get_args(arguments[1])
        return isinstance(value, np.ndarray) and issubclass(value.dtype.type, scalar)
    if origin is tuple:
        kinds = arguments[:1] * len(value) if arguments[1:] == (...,) else arguments
        return all(map(has_type, value, kinds)) and len(value) == len(kinds)
    if origin is list or origin is None:
        return isinstance(value, origin or kind)
    fields = (get_type_hints(origin)[field] for field in origin._fields)
    kinds = dict(zip(origin.__parameters__, arguments, strict=True))
    return isinstance(value, origin) and all(
        has_type(part, kinds[field]) for part, field in zip(value, fields, strict=True)
    )


@pytest.mark.parametrize("name", ["arrays.py", "tensors.py"])
def test_results_have_the_types_that_programs_assert(name, monkeypatch, capsys):
    if name == "tensors.py":
        pytest.importorskip("torch")
        pytest.importorskip("polars")
    asserted = []

    def check_type(value, kind):
        asserted.append(kind)
        assert has_type(value, kind), (len(asserted), value, kind)

    monkeypatch.setattr(typing, "assert_type", check_type)
    runpy.run_path(str(FOLDER / name))
    assert len(asserted) > 35
    assert capsys.readouterr().out


def test_no_public_result_is_any(stub):
    """Any would be a silent gap: only the payloads of an archive are anything."""
    for node in ast.walk(ast.parse(stub)):
        if isinstance(node, ast.FunctionDef):
            assert node.returns is not None, node.name
            names = re.findall(r"\w+", ast.unparse(node.returns).replace("floating[Any]", ""))
            assert "Any" not in names, node.name
            for each in (*node.args.args, *node.args.kwonlyargs):
                assert ast.unparse(each.annotation) != "Any", (node.name, each.arg)
