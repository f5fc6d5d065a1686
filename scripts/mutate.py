"""Make mistakes in the sources, drawn by a seed, and count how many the tests catch.

Usage: mutate.py [--seed SEED] [--number NUMBER] [--only PATTERN] FOLDER

Copies the tracked files to FOLDER and changes one place after another there: it turns a comparison,
leaves out a mask or a statement, or moves a number by one. The tests of the same room run until the
first failure. `--only` selects places by a regular expression on FILE:FUNCTION. Read the
survivors: some mistakes change nothing that a user sees. CMake compiles csrc in FOLDER/build. The
environment needs the extra "test", no editable installation, and cmake and pybind11 for csrc.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import paretopo_core

ROOT = Path(__file__).parents[1]
MISTAKES = (  # a pattern in a line, and its replacement
    *((" <= ", " < "), (" < ", " <= "), (" >= ", " > "), (" > ", " >= "), (" == ", " != ")),
    *((" and ", " or "), (" && ", " || "), (" if not ", " if "), (" is None", " is not None")),
    *((r" \+ 1\b", ""), (r" - 1\b", ""), (r" \+ ", " - "), (r" \* ", " / "), ("True", "False")),
    *((r"\bmask=mask\b", "mask=None"), (r"\bmin\(", "max("), (r"\[1:\]", "")),
    (r"^( *)(?:[\w.]+\.\w+(?:\(.*\)| = .*)|\w+ [-+|]= .*)$", r"\1pass"),  # a statement
    (r"if \(mask.*continue;$", ""),
)


class Place(NamedTuple):
    """A line of a function, and the mistake to make there."""

    file: str
    function: str
    line: int
    old: str
    new: str


def find_functions(path: Path) -> Iterator[tuple[str, int, int]]:
    """Yield the name of each function, and its first line of code and its last, from 0."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        lines = text.splitlines()
        heads = [at for at, line in enumerate(lines) if re.search(r"\w\(.*\{$", line)]
        for start, end in zip(heads, [*heads[1:], len(lines)], strict=False):
            yield re.findall(r"(\w+)\(", lines[start])[0], start + 1, end
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            if body:
                yield node.name, body[0].lineno - 1, body[-1].end_lineno or 0


def find_places(file: str) -> Iterator[Place]:
    """Yield every mistake that can be made in a file."""
    text = (ROOT / file).read_text(encoding="utf-8")
    lines = text.splitlines()
    for name, start, end in find_functions(ROOT / file):
        for at in range(start, end):
            code = re.split(r"  # |//", lines[at])[0].rstrip()
            if re.search(r"raise |[\"'].* .*[\"']", code):
                continue  # the words of a message
            for old, new in MISTAKES:
                changed = re.sub(old, new, code, count=1)
                if changed != code:
                    yield Place(file, name, at, lines[at], changed)


def copy_tree(folder: Path, files: list[str]) -> None:
    """Copy the tracked files to the folder, with the compiled core of this environment."""
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    adapters = folder / "python/paretopo/integrations"
    if not adapters.exists():
        adapters.symlink_to("../../integrations")
    shutil.copy2(str(paretopo_core._core.__file__), folder / "python/paretopo_core")


def build(folder: Path) -> bool:
    """Compile the core of the folder; False if it does not compile."""
    tree, python = folder / "build", f"-DPython_EXECUTABLE={sys.executable}"
    if not tree.exists():
        options = ["-DPARETOPO_CUDA=OFF", "-DPARETOPO_EMULATED=ON", "-DCMAKE_UNITY_BUILD=OFF"]
        command = [sys.executable, "-m", "pybind11", "--cmakedir"]
        found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        options += ["-DCMAKE_BUILD_TYPE=Release", f"-Dpybind11_DIR={found}", python]
        subprocess.run(["cmake", "-S", folder, "-B", tree, *options], check=True)
    if subprocess.run(["cmake", "--build", tree, "--target", "_core"], check=False).returncode:
        return False
    for built in tree.glob("_core*.so"):
        shutil.copy2(built, folder / "python/paretopo_core")
    return True


def find_tests(file: str) -> str:
    """Return the folder of tests that mirrors the file's, or the nearest one above it."""
    parts = Path("tests", *Path(file).parts[file.startswith("python/") :])
    if file.startswith("csrc/"):
        return "tests/paretopo_core"
    return str(next(one for one in parts.parents if (ROOT / one).is_dir()))


def is_caught(folder: Path, place: Place) -> bool:
    """Make a mistake, run its tests, and take it back; True if a test fails or nothing compiles."""
    path, is_compiled = folder / place.file, place.file.startswith("csrc/")
    text = path.read_text(encoding="utf-8")
    lines = text.split("\n")
    lines[place.line] = place.new
    changed = "\n".join(lines)
    try:
        if not is_compiled:
            compile(changed, place.file, "exec")
        path.write_text(changed, encoding="utf-8")
        if is_compiled and not build(folder):
            return True
        words = ["-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", find_tests(place.file)]
        environment = {**os.environ, "PYTHONPATH": str(folder / "python")}
        done = subprocess.run([sys.executable, *words], cwd=folder, env=environment, check=False)
        return done.returncode != 0
    except SyntaxError:
        return True
    finally:
        path.write_text(text, encoding="utf-8")


def main() -> None:
    """Make the mistakes and print which ones are caught."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="working copy, made if it is missing")
    parser.add_argument("--seed", type=int, default=0, help="decides the mistakes; default: 0")
    parser.add_argument("--number", type=int, default=30, help="of mistakes; default: 30")
    parser.add_argument("--only", default="", help="regular expression on FILE:FUNCTION")
    given = parser.parse_args()
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    files = [one for one in listed.stdout.splitlines() if (ROOT / one).is_file()]
    sources = re.compile(r"(python|integrations|csrc)/.*\.(py|cpp|hpp)$")
    places = [
        place
        for file in filter(sources.match, files)
        for place in find_places(file)
        if re.search(given.only, f"{place.file}:{place.function}")
    ]
    copy_tree(given.folder.resolve(), files)
    drawn = random.Random(given.seed).sample(places, min(given.number, len(places)))
    survivors = [place for place in drawn if not is_caught(given.folder.resolve(), place)]
    for place in survivors:
        print(f"SURVIVES {place.file}:{place.line + 1} in {place.function}: {place.new.strip()}")
    print(f"the tests catch {len(drawn) - len(survivors)} of {len(drawn)} mistakes")


if __name__ == "__main__":
    main()
