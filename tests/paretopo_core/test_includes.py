"""The includes of csrc/ point the way that docs/architecture.md draws."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CSRC = Path(__file__).parents[2] / "csrc"
INCLUDE = re.compile(r'^#include "(.+)"$', re.MULTILINE)

# Headers of other rooms that the files of each room may include.
_SHARED = {"", "formulas"}
# Each family of operations stands on these.
_BELOW = {"cpu/tuning", "cpu/runtime", "cpu/lanes", "cpu/sorting"}
_LANES = {*_SHARED, "cpu/tuning", "cpu/runtime", "cpu/lanes", "cpu/lanes/simd"}
ALLOWED = {
    "": set(),
    "formulas": {""},
    "cpu/tuning": set(),
    "cpu/runtime": {"", "cpu/tuning"},
    "cpu/lanes": {*_SHARED, "cpu/tuning"},
    "cpu/lanes/simd": _SHARED,
    "cpu/lanes/sorting": _LANES,
    "cpu/lanes/ranking": _LANES,
    "cpu/lanes/volume": _LANES,
    "cpu/lanes/quality": _LANES,
    "cpu/sorting": {"", "cpu/tuning", "cpu/runtime", "cpu/lanes"},
    "cpu/ranking": _SHARED | _BELOW,
    "cpu/volume": {*_SHARED, *_BELOW, "cpu/ranking"},
    "cpu/boxes": {*_SHARED, *_BELOW, "cpu/volume"},
    "cpu/quality": {*_SHARED, *_BELOW, "cpu/volume"},
    "cpu/subsets": {*_SHARED, *_BELOW, "cpu/ranking", "cpu/volume"},
    "cpu/archive": {*_SHARED, *_BELOW, "cpu/ranking", "cpu/volume"},
    "gpu/launch": {""},
    "gpu/sorting": {"", "formulas", "gpu/launch"},
    "gpu/ranking": {"", "formulas", "gpu/launch", "gpu/sorting"},
    "gpu/volume": {"", "formulas", "gpu/launch", "gpu/sorting"},
    "gpu/grid": {"", "formulas", "gpu/launch", "gpu/ranking", "gpu/volume"},
    "gpu": {"", "formulas", "gpu/launch", "gpu/sorting", "gpu/ranking", "gpu/volume", "gpu/grid"},
    "cuda": {"", "gpu/launch"},
    "no_cuda": {"", "gpu/launch"},
    "emulated": {"", "gpu/launch"},
    "c_api": {"", "formulas", "cpu/archive"},
    "bindings": {
        *("", "formulas", "cpu/runtime", "cpu/lanes"),
        *(f"cpu/{family}" for family in ("ranking", "boxes", "quality", "subsets", "archive")),
    },
}
FILES = sorted(path for path in CSRC.rglob("*") if path.is_file())


def room_of(path: Path) -> str:
    room = path.relative_to(CSRC).parent.as_posix()
    return "" if room == "." else room


def included_by(path: Path) -> list[Path]:
    return [CSRC / name for name in INCLUDE.findall(path.read_text())]


def reached_from(room: str) -> set[Path]:
    """All headers that the files of a room and of the rooms in it include, directly or not."""
    found: set[Path] = set()
    left = [path for path in FILES if f"{room_of(path)}/".startswith(f"{room}/")]
    while left:
        for path in included_by(left.pop()):
            if path not in found:
                found.add(path)
                left.append(path)
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(CSRC).as_posix())
def test_includes_point_down(path):
    for included in included_by(path):
        assert included.is_file(), f"{path} includes {included}, which is not there"
        room = room_of(included)
        allowed = ALLOWED[room_of(path)]
        assert room == room_of(path) or room in allowed, f"{path} includes {included}"


@pytest.mark.parametrize("path", sorted((CSRC / "formulas").iterdir()), ids=lambda path: path.name)
def test_a_formula_is_used_by_the_cpu_and_by_the_gpu(path):
    assert path in reached_from("cpu")
    assert path in reached_from("gpu")


def test_the_operations_of_a_gpu_do_not_include_each_other():
    """They are compiled once each, and instantiate themselves where they are included."""
    operations = sorted((CSRC / "gpu").glob("*.hpp"))
    assert len(operations) > 4
    for path in operations:
        assert not set(operations) & set(included_by(path)), path
