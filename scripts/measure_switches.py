"""Measure both sides of each size at which the core changes its algorithm.

    python scripts/measure_switches.py [ISA]

Prints a row for each size of csrc/cpu/tuning/: nanoseconds of processor time for a group
with that many points, for one with a point more, and their ratio. A ratio near 1 means that the
change comes at the right size; far above 1, that the first algorithm should go on further.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

import paretopo_core as pp

# Points up to which the first of two algorithms is used, on each instruction set.
_LANES = {"ranks": (64, 96, 128), "filter": (64, 64, 96)}
_ROWS = {"float32": (160, 192, 288), "float64": (96, 112, 160)}
_PAIRED_OF_3 = (2048, 6144, 12288)
_PAIRED, _GRID, _KEYS = (2048, 8192, 16384), (0, 8, 16), (128, 1024, 4096)


def _uniform(groups: int, points: int, objectives: int, dtype: str = "float64") -> np.ndarray:
    values = np.random.default_rng(points).uniform(0.1, 1, (groups, points, objectives))
    return values.astype(dtype)


def _nanoseconds(call: Callable[[np.ndarray], object], values: np.ndarray) -> float:
    """Return the least processor time of a call, for each group."""
    call(values)
    least, spent = float("inf"), 0.0
    while spent < 0.5:
        start = time.process_time()
        call(values)
        passed = time.process_time() - start
        least, spent = min(least, passed), spent + passed
    return least / len(values) * 1e9


def _rank_columns(values: np.ndarray) -> object:
    values[..., 0] = np.arange(len(values))[:, None]  # each group is a column of one set
    return pp.pareto_rank(values.reshape(-1, 2))


def _measure_fronts(values: np.ndarray) -> object:
    values /= np.linalg.norm(values, axis=-1, keepdims=True)  # on a sphere none is dominated
    return pp.hypervolume(values, ref=0.0)


def _rows(isa: int) -> list[tuple[str, Callable[[np.ndarray], object], int, int, int, str]]:
    ranks, keep = pp.pareto_rank, pp.is_nondominated
    volume, grid = pp.hypervolume, pp.expected_hypervolume
    rows = [
        ("ranks, lanes", ranks, _LANES["ranks"][isa], 2, 400, "float64"),
        ("ranks, lanes", ranks, _LANES["ranks"][isa], 3, 400, "float64"),
        ("ranks, lanes", ranks, 64, 4, 400, "float64"),
        ("filter, lanes", keep, _LANES["filter"][isa], 2, 400, "float64"),
        ("filter, lanes", keep, _LANES["filter"][isa], 3, 400, "float64"),
        ("filter, lanes", keep, 64, 4, 400, "float64"),
        *(("ranks, rows of bits", ranks, most[isa], 4, 100, name) for name, most in _ROWS.items()),
        *(("filter, rows of bits", keep, most[isa], 4, 100, name) for name, most in _ROWS.items()),
        ("ranks, pairs", ranks, _PAIRED_OF_3[isa], 3, 1, "float64"),
        ("ranks, pairs", ranks, _PAIRED[isa], 4, 1, "float64"),
        ("ranks, columns", _rank_columns, 47, 2, 100, "float64"),
        ("crowding, networks", pp.crowding_distance, _KEYS[isa], 2, 4, "float64"),
        *(
            ("volume, lanes", lambda x: volume(x, ref=0.0), 32, m, 400, "float64")
            for m in (2, 3, 4)
        ),
        *(
            ("volume, counting", lambda x: volume(x, ref=0.0), 96, m, 100, "float64")
            for m in (2, 3)
        ),
        ("volume, ranks", _measure_fronts, 88, 4, 100, "float64"),
        ("volume, ranks", _measure_fronts, 24, 5, 400, "float64"),
        ("expected volume, lanes", lambda x: grid(x, ref=0.0, k=4), 32, 2, 400, "float64"),
    ]
    if _GRID[isa]:
        call = lambda x: grid(x, ref=0.0, k=4)  # noqa: E731
        rows.append(("expected volume, lanes", call, _GRID[isa], 3, 400, "float64"))
    return rows


def main() -> None:
    """Run the command line."""
    names = ("portable", "avx2", "avx512")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("isa", nargs="?", choices=names, help="default: the best of this processor")
    isa = parser.parse_args().isa
    if isa:
        pp.isa(isa)
    pp.threads(1)
    print(f"| {pp.get_isa()} | points x objectives | ns | ns, one point more | ratio |")
    for name, call, points, objectives, groups, dtype in _rows(names.index(pp.get_isa())):
        at, beyond = (
            _nanoseconds(call, _uniform(groups, points + more, objectives, dtype))
            for more in (0, 1)
        )
        times = f"{at:.0f} | {beyond:.0f} | {beyond / at:.2f}"
        print(f"| {name}, {dtype} | {points} x {objectives} | {times} |")


if __name__ == "__main__":
    main()
