"""Wrong answers and crashes of other libraries, each with a short program that reproduces it.

``python -m bench.defects`` runs every program in a separate process and prints the outcome.
``--write docs/peers.md`` writes the page of the documentation, with the defects that it reproduced.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import peers

_LIMIT_S = 60.0
_WRONG = 3  # the exit code of a program that saw a wrong answer
_HEADER = """\
# Peers: wrong answers and crashes

Check here for inputs on which another library crashes or returns a wrong result. Each entry has
the version and a program that reproduces it. We found them while testing and benchmarking. `python
-m bench.defects`, run from a checkout, tries every program again in a separate process; it wrote
this page on {system}.

These libraries are good: we measure ourselves against moocore, pygmo and the code of WFG's
authors. Treat the page as a list of inputs that need care. A program sets `got`, and sets `right`
to True if `got` is correct. If it crashes or hangs, it sets neither.
"""


@dataclass(frozen=True)
class Defect:
    """A defect of a peer, with a program that reproduces it.

    Attributes:
        peer: a name of ``peers.PEERS``.
        problem: a short description.
        program: Python, which sets ``got`` and ``right`` if it comes to its end.
    """

    peer: str
    problem: str
    program: str


@dataclass(frozen=True)
class Outcome:
    """The end of a program: "crashes", "hangs", "wrong", "right", "fails" or "not installed"."""

    kind: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}" if self.detail else self.kind


_INFINITE = """\
import numpy as np, moocore
inf = np.inf
got = moocore.{function}(np.array([[0, 0, 0], [inf, -inf, 1], [2, -inf, 2]]))
right = got.tolist() == {answer}
"""
_MANY_INFINITE = """\
import numpy as np, moocore
for seed in range(30):
    rng = np.random.default_rng(seed)
    points = rng.random((340, {objectives}))
    points[rng.random(points.shape) < 0.05] = np.inf
    points[rng.random(points.shape) < 0.05] = -np.inf
    got = moocore.{function}(points)
right = True  # as far as it comes
"""
_SPHERE = """\
import numpy as np
points = np.abs(np.random.default_rng(0).standard_normal(({points}, {objectives})))
points /= np.linalg.norm(points, axis=1, keepdims=True)
"""

DEFECTS = (
    Defect(
        "moocore",
        "`pareto_rank`, 3 objectives: segmentation fault on infinite values",
        _INFINITE.format(function="pareto_rank", answer=[0, 0, 1]),
    ),
    Defect(
        "moocore",
        "`is_nondominated`, 3 objectives: segmentation fault on infinite values",
        _INFINITE.format(function="is_nondominated", answer=[True, True, False]),
    ),
    Defect(
        "moocore",
        "`pareto_rank`, 3 objectives: segmentation fault on -inf",
        """\
import numpy as np, moocore
got = moocore.pareto_rank(np.array([[0, 0, 0], [1, -np.inf, 1], [2, -np.inf, 2]]))
right = got.tolist() == [0, 0, 1]
""",
    ),
    Defect(
        "moocore",
        "`pareto_rank`, 4 objectives: segmentation fault on infinite values",
        _MANY_INFINITE.format(function="pareto_rank", objectives=4),
    ),
    Defect(
        "moocore",
        "`is_nondominated`, 4 objectives: segmentation fault on infinite values",
        _MANY_INFINITE.format(function="is_nondominated", objectives=4),
    ),
    Defect(
        "moocore",
        "`hv_contributions`, from 4 objectives: segmentation fault on a read-only memory map",
        f"""\
import tempfile
import moocore
{_SPHERE.format(points=50, objectives=4)}\
file = tempfile.NamedTemporaryFile(suffix=".npy")
np.save(file.name, points)
mapped = np.load(file.name, mmap_mode="r")
got = moocore.hv_contributions(mapped, ref=1.1).sum()
right = got > 0
""",
    ),
    Defect(
        "moocore",
        "`hv_contributions`, from 4 objectives: wrong, or without end, when threads share an "
        "array, whose rows it swaps while it works",
        f"""\
from concurrent.futures import ThreadPoolExecutor
import moocore
{_SPHERE.format(points=200, objectives=4)}\
expected = moocore.hv_contributions(points.copy(), ref=1.1)
with ThreadPoolExecutor(4) as pool:
    shared = list(pool.map(lambda _: moocore.hv_contributions(points, ref=1.1), range(4)))
got = [bool(np.allclose(one, expected)) for one in shared]
right = all(got)
""",
    ),
    Defect(
        "moocore",
        "`hv_contributions`, from 4 objectives: contributions below 1.5e-8 become 0, whatever the "
        "scale of the objectives",
        f"""\
import moocore
{_SPHERE.format(points=20, objectives=4)}\
expected = moocore.hv_contributions(points, ref=1.1).max() * 1e-12
got = moocore.hv_contributions(points * 1e-3, ref=1.1e-3).max()
right = np.isclose(got, expected, atol=0)
""",
    ),
    Defect(
        "moocore",
        "`hypervolume`: an array of three dimensions is taken for one of two",
        """\
import numpy as np, moocore
try:
    got = moocore.hypervolume(np.zeros((2, 3, 2)), ref=1)
    right = False  # two sets of three points: a ValueError, or two hypervolumes
except ValueError as error:
    got, right = error, True
""",
    ),
    Defect(
        "moocore",
        "`pareto_rank`: with NaN, the ranks of the *other* points depend on the order of the rows",
        """\
import numpy as np, moocore
points = np.array([[np.nan, 1], [0, 1], [1, 3], [1, 0], [1, 2]])
order = [1, 0, 2, 3, 4]
again = np.empty(5, int)
again[order] = moocore.pareto_rank(points[order])
got = moocore.pareto_rank(points).tolist(), again.tolist()
right = got[0] == got[1]
""",
    ),
    Defect(
        "moocore",
        "`hypervolume`, 4 objectives: a reference point with NaN",
        """\
import numpy as np, moocore
try:
    got = moocore.hypervolume(np.random.default_rng(0).random((5, 4)), ref=np.nan)
    right = bool(np.isnan(got))  # or a ValueError
except ValueError as error:
    got, right = error, True
""",
    ),
    Defect(
        "moocore",
        "`eaf`: takes equal blocks of rows for the runs, whatever `sets` says, unless it ascends",
        """\
import numpy as np, moocore
points, sets = np.array([[1, 3], [2, 2], [3, 1]]), np.array([0, 1, 0])
order = np.argsort(sets, kind="stable")
got = [moocore.eaf(x, s, percentiles=[100]).tolist()
       for x, s in ((points, sets), (points[order], sets[order]))]
right = got[0] == got[1]
""",
    ),
    Defect(
        "moocore",
        "`eafdiff`: wrong, even in its sign, if the two sides have different numbers of runs",
        """\
import numpy as np, moocore
x = np.array([[0, 0, 1], [0, 1, 2]])  # one of two runs attains (0, 0)
y = np.array([[0, 0, 1]])  # the only run attains it
got = moocore.eafdiff(x, y)[0].tolist()
right = got == [0, 0, -0.5]
""",
    ),
    Defect(
        "moocore",
        "`whv_rect`: misses a part of a rectangle",
        """\
import numpy as np, moocore
points, rectangle = np.array([[2.0, 4], [4, 2]]), np.array([[3.0, 3, 6, 4, 1]])
got = moocore.whv_rect(points, rectangle, ref=6)
right = got == 2.0  # 4 to 6, 3 to 4
""",
    ),
    Defect(
        "moocore",
        "`igd`, `igd_plus`: an empty set gets 0, the best value, or crashes",
        """\
import numpy as np, moocore
got = [float(f(np.empty((0, 2)), ref=[[1, 1]])) for f in (moocore.igd, moocore.igd_plus)]
right = got == [np.inf, np.inf]
""",
    ),
    Defect(
        "moocore",
        "`avg_hausdorff_dist`, 1 objective: `p` has no effect",
        """\
import numpy as np, moocore
got = moocore.avg_hausdorff_dist([[0]], ref=[[0], [1]], p=2)
right = np.isclose(got, np.sqrt(1 / 2))
""",
    ),
    Defect(
        "pygmo",
        "`crowding_distance`: NaN if an objective is constant",
        """\
import numpy as np, pygmo
got = pygmo.crowding_distance([[0, 2, 5], [1, 1, 5], [2, 0, 5]]).tolist()
right = not np.isnan(got).any()
""",
    ),
    Defect(
        "pygmo",
        "`hypervolume(...).contributions`, 2 objectives: segmentation fault on -inf",
        """\
import pygmo
got = pygmo.hypervolume([[0.0, 1.0], [-float("inf"), 2.0]]).contributions([3, 3])
right = True
""",
    ),
    Defect(
        "pymoo",
        "compiled `fast_best_order_sort`: wrong with ties (30 of 30 sets of small integers)",
        """\
import numpy as np
from paretopo_core import reference
from pymoo.functions.compiled.non_dominated_sorting import fast_best_order_sort
got = 0
for seed in range(30):
    points = np.random.default_rng(seed).integers(0, 4, (30, 3)).astype(float)
    ranks = np.full(30, -1)
    for rank, front in enumerate(fast_best_order_sort(points)):
        ranks[front] = rank
    got += not (ranks == reference.pareto_rank(points, maximise=False)).all()
right = got == 0
""",
    ),
    Defect(
        "pymoo",
        "compiled `fast_non_dominated_sort`: hangs on NaN",
        """\
import numpy as np
from pymoo.functions.compiled.non_dominated_sorting import fast_non_dominated_sort
for seed in range(200):  # depends on the previous contents of the memory
    rng = np.random.default_rng(seed)
    points = rng.random((10, 3))
    points[rng.random(points.shape) < 0.2] = np.nan
    got = fast_non_dominated_sort(points)
right = True
""",
    ),
    Defect(
        "pymoo",
        "`tree_based_non_dominated_sort`: equal points get different ranks",
        """\
import numpy as np
from pymoo.functions.standard.non_dominated_sorting import tree_based_non_dominated_sort
fronts = tree_based_non_dominated_sort(np.array([[0, 1], [0, 1], [1, 0.0]]))
got = [sorted(map(int, front)) for front in fronts]
right = got == [[0, 1, 2]]
""",
    ),
    Defect(
        "pymoo",
        "`NonDominatedSorting(epsilon=...)`: has no effect",
        """\
import numpy as np
from pymoo.util.nds.non_dominated_sorting import NonDominatedSorting
points = np.array([[0.0, 0.0], [0.1, 0.1]])  # epsilon-equal
got = [front.tolist() for front in NonDominatedSorting(epsilon=0.3).do(points)]
right = got == [[0, 1]]
""",
    ),
    Defect(
        "hvwfg",
        "`wfg`, 2 objectives: wrong when a point is dominated",
        """\
import numpy as np, hvwfg
points = np.array([[0.75, 0.5], [0.5, 0.25], [0.25, 0], [0, 0], [0, 0.75]])
got = hvwfg.wfg(points, np.ones(2))
right = got == 1.0
""",
    ),
    Defect(
        "hvwfg",
        "`hv`, 4 objectives: wrong when a point is there twice or dominated",
        """\
import numpy as np, hvwfg
points = np.array([[1.0] * 4, [1.0] * 4, [2.0] * 4])
got = hvwfg.hv(points, np.full(4, 3.0))
right = got == 16.0
""",
    ),
    Defect(
        "hvwfg",
        "`hv`, 5 objectives: memory corruption on 50 points of a clean front",
        f"""\
import hvwfg
{_SPHERE.format(points=50, objectives=5)}\
got = hvwfg.hv(points, np.full(5, 1.1))
right = abs(got - hvwfg.wfg(points, np.full(5, 1.1))) < 1e-9
""",
    ),
    Defect(
        "botorch",
        "`is_non_dominated`, more than 1,000 points: one row of NaN removes every other point",
        """\
import torch
from botorch.utils.multi_objective.pareto import is_non_dominated
torch.manual_seed(0)
points = torch.rand(1001, 2)
without = is_non_dominated(points[1:]).sum().item()
points[0] = float("nan")
got = is_non_dominated(points)[1:].sum().item()
right = got == without
""",
    ),
    Defect(
        "botorch",
        "`is_non_dominated`, up to 1,000 points: a row with a NaN counts as non-dominated, where "
        "the documentation says dominated",
        """\
import torch
from botorch.utils.multi_objective.pareto import is_non_dominated
points = torch.tensor([[float("nan"), 5.0], [1.0, 1.0]])
got = is_non_dominated(points).tolist()
right = got == [False, True]
""",
    ),
    Defect(
        "evox",
        "`metrics.hv`: a point outside the reference point adds volume, beyond the error of its "
        "sampling",
        """\
import torch
from evox.metrics import hv
torch.manual_seed(0)
got = hv(torch.tensor([[1.0, 1.0], [9.0, 0.0]]), torch.tensor([5.0, 5.0])).item()
right = abs(got - 16) < 0.5
""",
    ),
)


def run(defect: Defect, limit_s: float = _LIMIT_S) -> Outcome:
    """Run the program of a defect.

    If the answer is wrong, the program prints it and exits with code 3.
    """
    if peers.find_version(defect.peer) is None:
        return Outcome("not installed")
    code = f"{defect.program}\nprint(got)\nraise SystemExit(0 if right else {_WRONG})\n"
    try:
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Outcome("hangs", f"more than {limit_s:g} s")
    if done.returncode < 0:
        return Outcome("crashes", f"signal {-done.returncode}")
    last = (done.stdout.strip() or done.stderr.strip()).splitlines()[-1:]
    kind = {0: "right", _WRONG: "wrong"}.get(done.returncode, "fails")
    return Outcome(kind, "".join(last))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all programs; return 0 whatever they show."""
    parser = argparse.ArgumentParser(prog="python -m bench.defects")
    parser.add_argument("--write", metavar="FILE", help="write the table as Markdown")
    parsed = parser.parse_args(arguments)
    outcomes = {}
    for defect in DEFECTS:
        outcomes[defect] = run(defect)
        version = peers.find_version(defect.peer) or ""
        print(f"{defect.peer} {version}: {defect.problem}\n    {outcomes[defect]}", flush=True)
    if parsed.write is not None:
        Path(parsed.write).write_text(_render(outcomes), encoding="utf-8")
    return 0


def _render(outcomes: dict[Defect, Outcome]) -> str:
    seen = {
        defect: outcome
        for defect, outcome in outcomes.items()
        if outcome.kind in ("crashes", "hangs", "wrong")
    }
    lines = [
        _HEADER.format(system=f"{sys.platform}, Python {sys.version.split()[0]}"),
        "| | peer | problem | result |",
        "|---|---|---|---|",
    ]
    for number, (defect, outcome) in enumerate(seen.items(), 1):
        version = peers.find_version(defect.peer)
        lines.append(
            f"| [{number}](#{number}) | {defect.peer} {version} | {defect.problem} | {outcome} |"
        )
    for number, defect in enumerate(seen, 1):
        lines += ["", f"## {number}", "", f"{defect.peer}: {defect.problem}.", ""]
        lines += ["```python", defect.program.strip(), "```"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
