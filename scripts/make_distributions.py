"""Makes the two distributions of a release out of this repository, in a folder.

    pip install build tomli-w
    python scripts/make_distributions.py OUT

`paretopo-core` is the compiled core and `paretopo_core`, with NumPy as its only requirement: a
library may depend on it. `paretopo` is the training, in Python alone, and requires `paretopo-core`
of the same version. A checkout is both at once: `pip install .` needs neither of them.

What a distribution says of itself is what pyproject.toml says, but for its name and its parts. Of
the core a source distribution is made (wheels are built from it, machine by machine), of the
training one and its wheel.
"""

from __future__ import annotations

import argparse
import copy
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
_CORE, _TRAINING = "paretopo-core", "paretopo"
_CORE_SUMMARY = (
    "Non-dominated sorting, hypervolume and rank advantages for thousands of sets at once, in C++"
)
# What a source distribution leaves out of the repository, beside what pyproject.toml says; that of
# the core takes its own tests along, for those who build it for their system.
_CORE_TESTS = ["tests/paretopo_core/", "tests/support/", "tests/conftest.py"]
_NOT_CORE = ["python/paretopo/", "integrations/", "examples/", "docs/", "tests/", "bench/"]
_NOT_TRAINING = ["python/paretopo_core/", "csrc/", "cmake/", "fuzz/", "CMakeLists.txt", "bench/"]


def core_project(table: dict[str, Any]) -> dict[str, Any]:
    """The pyproject.toml of `paretopo-core`, from that of the repository."""
    table = copy.deepcopy(table)
    project, build = table["project"], table["tool"]["scikit-build"]
    project |= {"name": _CORE, "description": _CORE_SUMMARY}
    for name in ("optional-dependencies", "scripts", "entry-points"):
        del project[name]
    project["keywords"] = [one for one in project["keywords"] if one not in _OF_TRAINING]
    project["classifiers"] = [one for one in project["classifiers"] if one not in _OF_TRAINING]
    build["wheel"]["packages"] = {"paretopo_core": build["wheel"]["packages"]["paretopo_core"]}
    build["sdist"]["exclude"] += _NOT_CORE
    build["sdist"]["include"] = _CORE_TESTS
    return _with_tools(table, "scikit-build", "cibuildwheel", "pytest")


_OF_TRAINING = (
    *("reinforcement learning", "GRPO", "language models"),
    "Topic :: Scientific/Engineering :: Artificial Intelligence",
)


def _is_of_core(classifier: str) -> bool:
    return "C++" in classifier or "Free Threading" in classifier


def training_project(table: dict[str, Any]) -> dict[str, Any]:
    """The pyproject.toml of `paretopo`, from that of the repository."""
    table = copy.deepcopy(table)
    project, build = table["project"], table["tool"]["scikit-build"]
    project["dependencies"] = [*project["dependencies"], f"{_CORE}=={project['version']}"]
    project["classifiers"] = [one for one in project["classifiers"] if not _is_of_core(one)]
    del build["wheel"]["packages"]["paretopo_core"]
    del build["overrides"], build["cmake"]
    build["wheel"] |= {"cmake": False, "platlib": False}
    build["sdist"]["exclude"] += _NOT_TRAINING
    table["build-system"]["requires"] = [
        one for one in table["build-system"]["requires"] if not one.startswith("pybind11")
    ]
    return _with_tools(table, "scikit-build")


def _with_tools(table: dict[str, Any], *names: str) -> dict[str, Any]:
    """With the settings of these tools alone."""
    return table | {"tool": {name: table["tool"][name] for name in names}}


def _make(table: dict[str, Any], out: Path, *kinds: str) -> None:
    import tomli_w

    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(
            ["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True
        ).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
        Path(folder, "pyproject.toml").write_text(tomli_w.dumps(table), encoding="utf-8")
        subprocess.run(
            [sys.executable, "-m", "build", *kinds, "--outdir", str(out), folder], check=True
        )


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path, help="the folder, made if it is not there")
    out = parser.parse_args().out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    _make(core_project(table), out, "--sdist")
    _make(training_project(table), out, "--sdist", "--wheel")


if __name__ == "__main__":
    main()
