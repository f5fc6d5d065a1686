"""Environmental selection, by its definition; and reference directions."""

import math
from itertools import product

import numpy as np
import pytest
from support.strategies import large_set

import paretopo_core as pp
from paretopo_core import definitions

METHODS = ("crowding", "crowding_removal", "hypervolume", "reference_directions")


def more(method, objectives):
    """Return the other arguments of a method."""
    if method == "hypervolume":
        return {"ref": np.full(objectives, -2.0)}
    if method == "reference_directions":
        return {"directions": pp.reference_directions(objectives, 3), "rng": 7}
    return {}


@pytest.mark.parametrize(
    ("algorithm", "method"),
    [("NSGA-II", "crowding"), ("SMS-EMOA", "hypervolume"), ("NSGA-III", "reference_directions")],
)
def test_algorithms_name_their_methods(algorithm, method):
    points, keywords = large_set("uniform", 30, 3), more(method, 3)
    by_name = pp.select(points, k=12, method=algorithm, **keywords)
    np.testing.assert_array_equal(by_name, pp.select(points, k=12, method=method, **keywords))


@pytest.mark.parametrize("objectives", [2, 3, 5])
@pytest.mark.parametrize("kind", ["uniform", "sphere", "grid", "chain", "equal"])
@pytest.mark.parametrize("method", METHODS)
def test_large_sets(method, kind, objectives):
    count = 25 if method == "hypervolume" else 40
    points = large_set(kind, count, objectives)
    if method == "hypervolume" and objectives > 2:
        points = points[: 12 if objectives == 3 else 6]  # the definition measures cell by cell
    keywords = more(method, objectives)
    for k in (3, len(points) // 2, len(points) - 1):
        np.testing.assert_array_equal(
            pp.select(points, k=k, method=method, **keywords),
            definitions.select(points, k=k, method=method, **keywords),
        )


def test_seeds_and_lengths_of_directions():
    """pymoo#794, pymoo PR 556."""
    points = large_set("sphere", 200, 3)
    directions = pp.reference_directions(3, 3)

    def survivors(seed, scale=1.0):
        return pp.select(
            points, k=50, method="reference_directions", directions=directions * scale, rng=seed
        ).tolist()

    assert survivors(0) == survivors(0)
    assert survivors(0) == survivors(0, 4.0)
    assert survivors(2**63 - 1) == survivors(2**63 - 1)
    assert len({tuple(survivors(seed)) for seed in range(5)}) > 1


@pytest.mark.parametrize("factor", [1e-300, 1e-30, 1e30, 1.7e308])
def test_niches_at_any_scale(factor):
    points = large_set("sphere", 60, 3)
    points = np.where(points == points.max(), 1.0, np.clip(points, None, 1.0))
    factor = 2.0 ** np.floor(np.log2(factor))  # changes no digit
    keywords = more("reference_directions", 3)
    np.testing.assert_array_equal(
        pp.select(points * factor, k=20, method="reference_directions", **keywords),
        pp.select(points, k=20, method="reference_directions", **keywords),
    )
    wide = np.where(points > 0.5, 1.7e308, -1.7e308)  # whose distances are no numbers
    assert len(pp.select(wide, k=20, method="reference_directions", **keywords)) == 20


def test_equal_extremes_have_no_plane():
    """Rounding can hide from a solver that the rows of two axes are equal."""
    points = [[2.0, -69.0, 1.0, 0.0], [0.0, 29.5, 0.0, -1.0], [0.0, 0.0, 1.0, 1.0]]
    points.append([91.0, 0.0, -87.0, -1.0])
    for rng in range(10):
        keywords = more("reference_directions", 4) | {"maximise": False, "rng": rng}
        np.testing.assert_array_equal(
            pp.select(points, k=1, method="reference_directions", **keywords),
            definitions.select(np.array(points), k=1, method="reference_directions", **keywords),
        )


class TestReferenceDirections:
    @pytest.mark.parametrize("objectives", [1, 2, 3, 5])
    @pytest.mark.parametrize("partitions", [1, 2, 4])
    def test_all_proportions_are_there_once(self, objectives, partitions):
        rows = pp.reference_directions(objectives, partitions)
        expected = [
            row
            for row in product(range(partitions + 1), repeat=objectives)
            if sum(row) == partitions
        ]
        np.testing.assert_array_equal(rows, np.array(expected) / partitions)
        assert len(rows) == math.comb(objectives + partitions - 1, partitions)
