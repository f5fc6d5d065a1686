"""Files that hosts and tools read agree with pyproject.toml."""

import re
import tomllib
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def load(path):
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def scripts_in(path):
    text = path.read_text(encoding="utf-8")
    return re.findall(r"(?:\.ci|scripts)/[\w.-]+\w", re.sub(r"^ *#.*", "", text, flags=re.M))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_jobs_call_scripts_that_are_there(path):
    for script in scripts_in(path):
        assert (ROOT / script).is_file(), script


def test_the_c_header_has_this_version():
    header = (ROOT / "csrc" / "c_api" / "paretopo.h").read_text(encoding="utf-8")
    major, minor, patch = map(int, PROJECT["version"].split("."))
    number = 10_000 * major + 100 * minor + patch
    assert f"#define PARETOPO_VERSION_NUMBER {number}\n" in header


def test_citation_names_this_version():
    citation = load("CITATION.cff")
    assert citation["title"] == PROJECT["name"]
    assert citation["version"] == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]
    [paper] = citation["references"]
    assert paper["url"] == PROJECT["urls"]["Paper"]
    assert len(paper["authors"]) == 9


def test_the_exact_set_lies_in_the_ranges():
    requirements = pytest.importorskip("packaging.requirements")
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    exact = dict(line.split("==") for line in lines if not line.startswith("#"))
    extras = PROJECT["optional-dependencies"]
    used = ("torch", "train", "search", "tensorboard", "wandb", "test")
    checked = 0
    for one in [requirements.Requirement(text) for name in used for text in extras[name]]:
        if one.name != "paretopo":
            assert one.specifier.contains(exact[one.name.lower()]), one
            checked += 1
    assert checked > 30
