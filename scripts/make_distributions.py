"""Build the two distributions of a release from this repository.

    pip install build tomli-w
    python scripts/make_distributions.py OUT

`paretopo-core` is the compiled core with `paretopo_core`. It requires only NumPy, so that
libraries can depend on it. `paretopo` is the training, in pure Python, and requires
`paretopo-core` of the same version. `pip install .` in a checkout installs both and needs neither
distribution.

The metadata come from pyproject.toml, except for the name and the parts. The script builds a source
distribution of the core, from which wheels are built on each platform, and a source distribution
and a wheel of the training.
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
# Source distributions exclude these in addition to the list in pyproject.toml. The core's includes
# its tests, for everyone who builds it for another system.
_CORE_TESTS = ["tests/paretopo_core/", "tests/support/", "tests/conftest.py"]
_NOT_CORE = [
    "python/paretopo/",
    "python/paretopo_lab/",
    "integrations/",
    "examples/",
    "docs/",
    "tests/",
    "bench/",
]
_NOT_TRAINING = ["python/paretopo_core/", "csrc/", "cmake/", "fuzz/", "CMakeLists.txt", "bench/"]


def core_project(table: dict[str, Any]) -> dict[str, Any]:
    """Derive the pyproject.toml of `paretopo-core` from the repository's."""
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
    *("reinforcement learning", "GRPO", "TRL", "language models"),
    "Topic :: Scientific/Engineering :: Artificial Intelligence",
)


def _is_of_core(classifier: str) -> bool:
    return "C++" in classifier or "Free Threading" in classifier


def training_project(table: dict[str, Any]) -> dict[str, Any]:
    """Derive the pyproject.toml of `paretopo` from the repository's."""
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
    """Keep only the settings of these tools."""
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
    """Run the command line."""
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
