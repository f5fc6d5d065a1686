"""Numbers printed in papers, in the documentation of libraries and in test sets.

Each file in `data/` names its source; its cases are minimised unless they say otherwise. A case
holds `points` and the printed numbers: `hypervolume` and `contributions` above `ref`, `ranks`,
`nondominated` (duplicates included), `crowding` (null is infinite), and the `gain` of a `new`
point. `rtol` follows from the number of printed digits.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import paretopo_core as pp

FILES = sorted((Path(__file__).parent / "data").glob("*.json"))
DATA = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in FILES}
MEASURES = {"hypervolume", "contributions", "ranks", "nondominated", "crowding", "gain"}
ENTRIES = MEASURES | {"name", "points", "ref", "maximise", "ignore_dominated", "new", "rtol"}


def cases(measure):
    return [
        pytest.param(case, id=f"{name}: {case['name']}")
        for name, content in DATA.items()
        for case in content["cases"]
        if measure in case
    ]


def given(case, backend):
    """The points as the backend takes them, and the sense of the objectives."""
    return backend.send(np.array(case["points"], np.float64)), case.get("maximise", False)


def assert_printed(seen, case, measure):
    np.testing.assert_allclose(seen, case[measure], rtol=case.get("rtol", 1e-12), atol=1e-300)


def test_every_file_names_its_source_and_every_case_is_tested():
    assert len(DATA) >= 12
    for name, content in DATA.items():
        assert content.keys() == {"source", "cases"}, name
        assert len(content["source"]) > 30, name
        for case in content["cases"]:
            assert case.keys() <= ENTRIES, (name, case["name"])
            assert case.keys() & MEASURES, (name, case["name"])


@pytest.mark.parametrize("case", cases("hypervolume"))
def test_hypervolume(case, backend):
    points, maximise = given(case, backend)
    volume = pp.hypervolume(points, case["ref"], maximise=maximise)
    assert_printed(backend.fetch(volume), case, "hypervolume")


@pytest.mark.parametrize("case", cases("hypervolume"))
def test_an_archive_adds_up_to_the_hypervolume(case):
    archive = pp.ParetoArchive(case["ref"], maximise=case.get("maximise", False))
    for point in case["points"]:
        archive.add(point)
    assert_printed(archive.hypervolume, case, "hypervolume")


@pytest.mark.parametrize("case", cases("contributions"))
def test_contributions(case, backend):
    points, maximise = given(case, backend)
    ignore = case.get("ignore_dominated", False)
    seen = pp.hypervolume_contributions(
        points, case["ref"], maximise=maximise, ignore_dominated=ignore
    )
    assert_printed(backend.fetch(seen), case, "contributions")


@pytest.mark.parametrize("case", cases("ranks"))
def test_ranks(case, backend):
    points, maximise = given(case, backend)
    ranks = backend.fetch(pp.pareto_rank(points, maximise=maximise))
    np.testing.assert_array_equal(ranks, case["ranks"])


@pytest.mark.parametrize("case", cases("nondominated"))
def test_nondominated(case, backend):
    points, maximise = given(case, backend)
    seen = backend.fetch(pp.is_nondominated(points, maximise=maximise))
    np.testing.assert_array_equal(seen, case["nondominated"])
    ranks = backend.fetch(pp.pareto_rank(points, maximise=maximise))
    np.testing.assert_array_equal(ranks == 0, case["nondominated"])


@pytest.mark.parametrize("case", cases("crowding"))
def test_crowding(case, backend):
    sign = 1.0 if case.get("maximise", False) else -1.0
    points = backend.send(sign * np.array(case["points"], np.float64))
    expected = [np.inf if value is None else value for value in case["crowding"]]
    seen = backend.fetch(pp.crowding_distance(points))
    np.testing.assert_allclose(seen, expected, rtol=1e-12)


@pytest.mark.parametrize("case", cases("gain"))
def test_gains(case):
    archive = pp.ParetoArchive(case["ref"], maximise=case.get("maximise", False))
    for point in case["points"]:
        archive.add(point)
    assert_printed(archive.add(case["new"]), case, "gain")
