"""The two distributions of a release, as scripts/make_distributions.py describes them."""

import tomllib
from pathlib import Path

from scripts.make_distributions import (
    _CORE_TESTS,
    _NOT_CORE,
    _NOT_TRAINING,
    core_project,
    training_project,
)

ROOT = Path(__file__).parent.parent
TABLE = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def packages(table):
    return set(table["tool"]["scikit-build"]["wheel"]["packages"])


def test_core_requires_only_numpy():
    core = core_project(TABLE)
    assert core["project"]["name"] == "paretopo-core"
    assert core["project"]["dependencies"] == ["numpy>=1.26"]
    assert core["project"].keys().isdisjoint({"optional-dependencies", "scripts", "entry-points"})
    assert packages(core) == {"paretopo_core"}


def test_the_training_requires_the_core_of_its_version():
    training = training_project(TABLE)
    project = training["project"]
    assert f"paretopo-core=={TABLE['project']['version']}" in project["dependencies"]
    assert project["optional-dependencies"] == TABLE["project"]["optional-dependencies"]
    assert project["scripts"] == TABLE["project"]["scripts"]
    assert not training["tool"]["scikit-build"]["wheel"]["cmake"]


def test_together_they_are_the_checkout():
    core, training = (
        core_project(TABLE),
        training_project(TABLE),
    )
    assert packages(core) | packages(training) == packages(TABLE)
    assert packages(core).isdisjoint(packages(training))
    assert core["project"]["version"] == training["project"]["version"]


def test_the_core_is_tested_as_it_is_built():
    core = core_project(TABLE)
    assert core["tool"]["cibuildwheel"] == TABLE["tool"]["cibuildwheel"]
    assert core["tool"]["pytest"] == TABLE["tool"]["pytest"]
    assert "tests/paretopo_core/" in core["tool"]["scikit-build"]["sdist"]["include"]


def test_folders_that_a_distribution_names_are_there():
    for one in _NOT_CORE + _CORE_TESTS + _NOT_TRAINING:
        assert (ROOT / one).exists(), one
