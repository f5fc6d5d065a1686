"""The cases: which task on which data, for every operation in the order they run.

An operation is one CSV file. Its function takes ``quick`` and returns its cases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from bench import workloads
from bench.workloads import FRONTS, Array

_NEWCOMERS = 50  # points that one run adds to an archive
ON_GPU = 0  # threads of a case that runs on a GPU
DRAWN = 4  # k of hypervolume_advantage
VALID = 4  # points of a padded group that count
CANDIDATES = 1_000  # points whose improvements are asked for, one by one
UNCERTAIN = 100  # points whose expected improvements are asked for
DEVIATION = 0.1  # of each objective of these
REFERENCE_POINTS = 1_000  # of the set that indicators compare a front with
RUNS = 10  # whose attainment surfaces are asked for
SAMPLES = 65_536  # directions that a hypervolume is estimated from
FIRST = 10  # the part of a set that pareto_rank_first is to rank is one in so many
WANTED = 10  # points of a front for which hypervolume_gradient_of_few computes the gradient
TURNS = 16  # small sets that are measured in turn
CELLS = 8  # of a grid over each of two objectives, whose boxes a volume counts differently
EPSILON = 0.1  # the sides of the boxes that a filter keeps one point in
BETA = 0.5  # weight of the weighted sums relative to the ranks, in pareto_advantage
BOXED = ("nondominated_boxes", "dominated_boxes")  # tasks whose answers are boxes
REFERENCE_INDICATORS = {  # tasks that compare a front with a reference set, and our functions
    "igd": "inverted_generational_distance",
    "igd_plus": "inverted_generational_distance_plus",
    "gd": "generational_distance",
    "gd_plus": "generational_distance_plus",
    "avg_hausdorff_dist": "average_hausdorff_distance",
    "epsilon_additive": "epsilon_additive",
    "epsilon_mult": "epsilon_multiplicative",
}
SUBSETS = ("greedy_subset", "removal_subset", "exact_subset")  # tasks whose volume is judged
SELECTIONS = ("select_crowding", "select_crowding_removal", "select_hypervolume")
TASKS = (
    "pareto_rank",
    "is_nondominated",
    "hypervolume",
    "hypervolume_gradient",
    "hypervolume_gradient_of_few",
    "hv_contributions",
    "crowding_distance",
    "pareto_advantage",
    "hypervolume_advantage",
    "archive_add",
    "archive_bounded",
    "archive_members",
    *BOXED,
    "hypervolume_improvement",
    "expected_hypervolume_improvement",
    *REFERENCE_INDICATORS,
    "r2",
    "hypervolume_approx",
    "eaf",
    "eafdiff",
    "weighted_hypervolume",
    *SUBSETS,
    *SELECTIONS,
    "pareto_rank_constrained",
    "pareto_rank_first",
    "is_nondominated_strict",
    "epsilon_boxes",
    "normalise",
    "knee_points",
)
HARD = ("concave", "chain", "parallel", "equal", "discrete")  # one front, many fronts, ties
FILTERED = ("uniform", "concave")  # mostly dominated; a front
FEW = (33, 50, 64)  # points of a set that is handled as a group is
# Sizes just below and above each bound at which another way is taken, by objectives: a power of
# two of points, 256 values in a group, or as many points as rows of bits are quickest for.
BOUNDS: dict[int, tuple[int, ...]] = {
    2: (8, 32, 64, 128),
    3: (16, 64, 85, 112, 128, 160, 320),
    4: (64, 112, 128, 160, 320),
    5: (51, 64, 128),
    6: (42,),
    10: (25, 64),
}


@dataclass(frozen=True)
class Case:
    """A task and its data.

    Attributes:
        operation: the CSV the row belongs to.
        task: the name of the computation, one of ``TASKS``.
        workload: the shape of the data, one of ``workloads.SHAPES``. Batches are "uniform",
            "ragged" if the groups differ in size, or "padded" if only the first ``VALID`` points
            of each group are valid.
        points: points of the set, or of the largest group.
        objectives: values of each point.
        groups: groups of a batch; 0 for one set.
        dtype: of the data; converted outside the clock for peers that support only float64.
        threads: the number of threads that a call may use; ``ON_GPU`` for a call on a GPU.
        draw: the number of the set among many of the workload; a CSV row covers all of them.
    """

    operation: str
    task: str
    workload: str
    points: int
    objectives: int
    groups: int = 0
    dtype: str = "float64"
    threads: int = 1
    draw: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Return all fields except the draw, for a CSV row or a message to another process."""
        found = asdict(self)
        del found["draw"]
        return found

    @property
    def draws(self) -> list[Case]:
        """The cases to measure in turn: several small sets of the same kind, or only this case.

        A processor learns the branches of a small set that is measured repeatedly, but users have a
        new set each time. Batches and larger sets have more branches than it can remember. With 6
        or more objectives, even the judge is slow. "overhead" measures the cost of a call, not of
        a set. In "boxes" and "subsets" some peers take seconds per set, and so does the judge of
        "indicators".
        """
        is_small = not self.groups and self.points <= 1_000 and self.objectives <= 5
        is_slow = self.operation in ("overhead", "boxes", "indicators", "subsets")
        is_small = is_small and not is_slow
        return [replace(self, draw=draw) for draw in range(TURNS if is_small else 1)]

    def __str__(self) -> str:
        size = f"{self.points} x {self.objectives}"
        if self.groups:
            size = f"{self.groups} x {size}"
        kind = "" if self.dtype == "float64" else " float32"
        many = "" if self.threads == 1 else f", {self.threads} threads"
        many = " on the GPU" if self.is_on_gpu else many
        return f"{self.task} {self.workload} {size}{kind}{many}"

    @property
    def is_on_gpu(self) -> bool:
        """True if the data must be moved to a GPU first."""
        return self.threads == ON_GPU

    @cached_property
    def data(self) -> Array:
        """Shape (points, objectives) or (groups, points, objectives); smaller is better."""
        if self.groups:
            return workloads.make_groups(self.groups, self.points, self.objectives, self.dtype)
        more = dict.fromkeys(("archive_add", "archive_bounded"), _NEWCOMERS)
        more["hypervolume_improvement"] = CANDIDATES
        more["expected_hypervolume_improvement"] = UNCERTAIN
        more |= dict.fromkeys(REFERENCE_INDICATORS, REFERENCE_POINTS)
        count = self.points + more.get(self.task, 0)
        points = workloads.make_points(self.workload, count, self.objectives, self.draw)
        return points.astype(self.dtype)

    @cached_property
    def doubles(self) -> Array:
        """The data in float64."""
        return self.data.astype(np.float64)

    @cached_property
    def front(self) -> Array:
        """The points that are compared with others, in float64."""
        return self.doubles[: self.points]

    @cached_property
    def reference_set(self) -> Array:
        """The points that the front is compared with, in float64."""
        return self.doubles[self.points :]

    @cached_property
    def runs(self) -> Array:
        """Which run each point is from, ascending."""
        return np.sort(np.arange(self.points) % RUNS)

    @property
    def halves(self) -> tuple[Array, Array]:
        """The runs of two algorithms; the last column is the run."""
        rows = np.column_stack([self.doubles, self.runs])
        is_first = self.runs < RUNS // 2
        return rows[is_first], rows[~is_first]

    @cached_property
    def rectangles(self) -> Array:
        """Two corners and a weight in each row: a grid over two objectives; (boxes, 5)."""
        ends = np.linspace(0.0, workloads.REFERENCE, CELLS + 1)
        low = np.stack(np.meshgrid(ends[:-1], ends[:-1]), axis=-1).reshape(-1, 2)
        weights = np.random.default_rng(self.points).integers(0, 5, len(low))
        return np.column_stack([low, low + ends[1], weights])

    @cached_property
    def mask(self) -> Array | None:
        """The mask of valid points, shape (groups, points); None if all are valid."""
        if self.workload == "padded":
            return np.tile(np.arange(self.points) < VALID, (self.groups, 1))
        return workloads.make_mask(self.groups, self.points) if self.workload == "ragged" else None

    @cached_property
    def sets(self) -> list[Array]:
        """Every set as its own contiguous float64 array, for peers without batches."""
        if not self.groups:
            return [self.doubles]
        if self.mask is None:
            return list(self.doubles)
        return [
            group[: int(keep.sum())] for group, keep in zip(self.doubles, self.mask, strict=False)
        ]

    @cached_property
    def ref(self) -> Array:
        """The reference point, shape (objectives,)."""
        return np.full(self.objectives, workloads.REFERENCE)

    @cached_property
    def wanted(self) -> Array:
        """The points of hypervolume_gradient_of_few, as many before the others; (points,)."""
        return np.arange(self.points) < WANTED

    @property
    def kept(self) -> int:
        """The size of a subset (a quarter), or the number of survivors (half)."""
        return self.points // (4 if self.task in SUBSETS else 2)

    @cached_property
    def violation(self) -> Array:
        """Violations for pareto_rank_constrained, half of them 0, with ties; (points,)."""
        rng = np.random.default_rng((self.points, self.objectives))
        return np.maximum(0.0, rng.normal(size=self.points).round(2))

    @property
    def first(self) -> int:
        """The number of points that pareto_rank_first must rank."""
        return max(1, self.points // FIRST)

    @cached_property
    def weights(self) -> Array:
        """The weights of pareto_advantage, shape (objectives,)."""
        return np.full(self.objectives, 1.0 / self.objectives)


def fronts(*, quick: bool = False) -> Sequence[Case]:
    """Sort one set: uniform points of many sizes, and inputs with one front, many, and ties."""
    case = partial(Case, "fronts", "pareto_rank")
    many, most = (1_000, 3_000) if quick else (20_000, 300_000)
    sizes = (64, 100, 1_000) if quick else (*FEW, 100, 1_000, 10_000, 100_000)
    objectives = (2, 3, 5) if quick else (2, 3, 5, 8)
    return [
        *(case("uniform", points, m) for m in objectives for points in sizes),
        *(case(workload, many, m) for workload in HARD for m in (2, 3, 5)),
        *(case("concave", most, m) for m in (4, 6, 8)),
    ]


def filters(*, quick: bool = False) -> Sequence[Case]:
    """Find the non-dominated points of one set, from 2 to 10 objectives; up to 10 million."""
    case = partial(Case, "filter", "is_nondominated")
    sizes = (64, 300, 1_000) if quick else (1_000, 10_000, 100_000)
    objectives = (2, 3, 6) if quick else (2, 3, 4, 6, 8, 10)
    cases = [
        case(workload, points, m) for workload in FILTERED for m in objectives for points in sizes
    ]
    if quick:
        return cases
    return [
        *(case("uniform", points, m) for m in (2, 3, 5, 10) for points in FEW),
        *cases,
        *(case(workload, 1_000_000, m) for workload in FILTERED for m in (2, 3)),
        *(case("concave", 300_000, m) for m in (4, 6, 8)),
        case("concave", 10_000_000, 2),
        *(case("equal", 100_000, m) for m in (2, 3)),
    ]


def hypervolume(*, quick: bool = False) -> Sequence[Case]:
    """Measure one front of every shape, because which algorithm wins depends on the shape."""
    case = partial(Case, "hypervolume", "hypervolume")
    # By objectives; the slower half of the peers takes seconds for the last size.
    sizes: dict[int, tuple[int, ...]] = {
        2: (100, 10_000),
        3: (100, 1_000, 10_000, 100_000),
        4: (33, 50, 100, 200, 300, 1_000, 3_000),
        5: (33, 50, 100, 200, 300, 1_000),
        6: (50, 100, 200, 400),
        7: (50, 100, 200),
        8: (50, 80, 120),
        9: (30, 60),
        10: (15, 30, 60),
    }
    if quick:
        sizes = {m: sizes[m][:2] for m in (3, 4, 6)}
    shapes = ("concave", "convex") if quick else FRONTS
    return [case(shape, points, m) for shape in shapes for m in sizes for points in sizes[m]]


def contributions(*, quick: bool = False) -> Sequence[Case]:
    """Compute the hypervolume contributions of one front."""
    case = partial(Case, "contributions", "hv_contributions")
    sizes: dict[int, tuple[int, ...]] = {
        2: (100, 200, 1_000, 10_000, 100_000),
        3: (100, 200, 1_000, 10_000, 100_000),
        4: (100, 300, 1_000),
        5: (50, 100, 200),
    }
    return [
        case(shape, points, m)
        for shape in ("concave", "convex")
        for m in sizes
        for points in (sizes[m][:1] if quick else sizes[m])
    ]


def gradient(*, quick: bool = False) -> Sequence[Case]:
    """Compute the gradient of the hypervolume in all points of one front, or in a few."""
    sizes = (100,) if quick else (100, 1_000, 10_000)
    return [
        Case("gradient", task, "concave", points, m)
        for task in ("hypervolume_gradient", "hypervolume_gradient_of_few")
        for m in (2, 3)
        for points in sizes
        if points * m < 30_000
    ]


def boxes(*, quick: bool = False) -> Sequence[Case]:
    """Partition the dominated and the non-dominated region; compute improvements in the boxes."""
    case = partial(Case, "boxes", workload="concave")
    sizes: dict[int, tuple[int, ...]] = {2: (50, 300), 3: (50, 200), 4: (50, 100), 5: (20, 50)}
    return [
        case(task, points=20 if quick else points, objectives=m)
        for task in (*BOXED, "hypervolume_improvement", "expected_hypervolume_improvement")
        for m in ((2, 3) if quick else sizes)
        for points in (sizes[m][:1] if quick or task not in BOXED else sizes[m])
    ]


def indicators(*, quick: bool = False) -> Sequence[Case]:
    """Compare one front with a reference set, an ideal point, or other runs; estimate volumes."""
    case = partial(Case, "indicators", workload="concave")
    few = [
        case(task, points=points, objectives=m)
        for task in REFERENCE_INDICATORS
        for points in ((20,) if quick else (100, 1_000))
        for m in ((2, 3) if quick else (2, 3, 5, 8))
    ]
    few += [
        case("r2", points=points, objectives=2) for points in ((20,) if quick else (100, 1_000))
    ]
    sizes = ((20, 5),) if quick else ((100, 6), (50, 8), (20, 10))
    few += [
        case("hypervolume_approx", workload=workload, points=points, objectives=m)
        for workload in ("concave", "linear", "convex")
        for points, m in sizes
    ]
    runs = ((100, 2), (60, 3)) if quick else ((1_000, 2), (10_000, 2), (300, 3), (1_000, 3))
    few += [
        case(task, workload="uniform", points=points, objectives=m)
        for task in ("eaf", "eafdiff")
        for points, m in runs
        if task == "eaf" or m == 2
    ]
    few += [
        case("weighted_hypervolume", points=points, objectives=2)
        for points in ((20,) if quick else (100, 1_000))
    ]
    return few


def subsets(*, quick: bool = False) -> Sequence[Case]:
    """Select a quarter of a front by hypervolume, and half of it as survivors."""
    sizes: dict[str, dict[int, tuple[int, ...]]] = {
        "greedy_subset": {2: (200, 1_000), 3: (200, 1_000), 4: (200,)},
        "removal_subset": {2: (200, 1_000), 3: (200, 1_000), 4: (200,), 5: (60,)},
        "exact_subset": {2: (200, 1_000)},
        "select_crowding": {2: (200, 2_000), 3: (200, 2_000)},
        "select_crowding_removal": {2: (200, 1_000)},
        "select_hypervolume": {2: (200,), 3: (200,), 4: (100,)},
    }
    return [
        Case("subsets", task, "concave", 20 if quick else points, m)
        for task, by_objectives in sizes.items()
        for m, counts in by_objectives.items()
        for points in (counts[:1] if quick else counts)
    ]


def dominance(*, quick: bool = False) -> Sequence[Case]:
    """Rank under constraints, the first fronts; filter strictly, in boxes; scale, find knees."""
    return [
        Case("dominance", task, workload, points, m)
        for task, workload in (
            ("pareto_rank_constrained", "uniform"),
            ("pareto_rank_first", "uniform"),
            ("is_nondominated_strict", "discrete"),
            ("epsilon_boxes", "concave"),
            ("normalise", "uniform"),
            ("knee_points", "concave"),
        )
        for m in ((2, 3) if quick else (2, 3, 5))
        for points in ((300,) if quick else (300, 1_000, 10_000))
    ]


def crowding(*, quick: bool = False) -> Sequence[Case]:
    """Compute crowding distances on one front and in groups."""
    case = partial(Case, "crowding", "crowding_distance")
    sizes = (64, 100) if quick else (64, 200, 1_000, 10_000)
    return [
        *(case("concave", points, m) for m in (2, 3) for points in sizes),
        *(case("uniform", points, 2, 20 if quick else 1_000) for points in (8, 64, 65)),
    ]


def bounds(*, quick: bool = False) -> Sequence[Case]:
    """Rank, filter and reward groups just below and above each switch between algorithms."""
    groups = 10 if quick else 200
    return [
        Case("bounds", task, "uniform", points, m, groups)
        for task in ("pareto_rank", "is_nondominated", "pareto_advantage")
        for m, below in BOUNDS.items()
        for bound in (below[-1:] if quick else below)
        for points in (bound, bound + 1)
    ]


def batches(*, quick: bool = False) -> Sequence[Case]:
    """Rank, filter and measure many small groups in one call.

    Ragged groups have 8 to 32 points. Padded groups come before groups with as many valid points.
    """
    large, small = (100, 11) if quick else (1, 1)  # how many times fewer groups
    rank = partial(Case, "batches", "pareto_rank", "uniform")
    ranked = ((100_000 // large, 8, 2), (4_096 // small, 16, 3), (4_096 // small, 64, 2))
    return [
        *(
            rank(points, m, groups, dtype)
            for groups, points, m in ranked
            for dtype in ("float64", "float32")
        ),
        Case("batches", "is_nondominated", "uniform", 16, 3, 4_096 // small),
        *(Case("batches", "hypervolume", "ragged", 32, m, 10_000 // large) for m in (2, 3, 4)),
        *(
            Case("batches", task, workload, points, 3, 10_000 // large)
            for task in ("pareto_rank", "hypervolume")
            for workload, points in (("padded", 64), ("uniform", VALID))
        ),
    ]


def advantage(*, quick: bool = False) -> Sequence[Case]:
    """Turn rewards into advantages in one pass, from one training step's groups to a million."""
    case = partial(Case, "advantage", "pareto_advantage", "uniform")
    small = ((128, 8, 2), (1_024, 8, 2), (8_192, 8, 2), (128, 16, 3), (1_024, 16, 3))
    shapes = small[:3] if quick else (*small, (1_000_000, 8, 2), (500_000, 16, 3))
    return [case(points, m, groups, "float32") for groups, points, m in shapes]


def expected_hypervolume(*, quick: bool = False) -> Sequence[Case]:
    """Convert rewards into the advantages of HV@k; the only peer is the formula in NumPy."""
    case = partial(Case, "expected_hypervolume", "hypervolume_advantage")
    uniform = ((128, 8, 2), (1_024, 8, 2), (1_024, 16, 2), (1_024, 8, 3), (128, 16, 3))
    large = ((1_000_000, 8, 2), (256, 64, 2), (16, 64, 3))
    shapes = uniform[:4] if quick else (*uniform, *large)
    return [
        *(case("uniform", points, m, groups, "float32") for groups, points, m in shapes),
        case("ragged", 8, 2, 1_024, "float32"),
    ]


def archive(*, quick: bool = False) -> Sequence[Case]:
    """Add 50 points of one front to an archive, each with its exact gain; and to a full one.

    Fill an archive without volumes, with uniform points or one front.
    """
    case = partial(Case, "archive", workload="concave")
    sizes = (100,) if quick else (100, 300, 1_000)
    cases = [
        case("archive_add", points=points, objectives=m) for m in (2, 3, 4) for points in sizes
    ]
    if not quick:
        cases.append(case("archive_add", points=100_000, objectives=2))
    cases += [case("archive_bounded", points=100, objectives=m) for m in (2, 3, 4)]
    filled = 500 if quick else 8_000
    cases += [
        Case("archive", "archive_members", workload, filled, m)
        for workload in FILTERED
        for m in (3, 5, 10)
    ]
    return cases


def overhead(*, quick: bool = False) -> Sequence[Case]:
    """Call each task on 8 points, and on a set that takes peers 40 µs, to measure call overhead."""
    tiny = [
        Case("overhead", task, workload, 8, 2)
        for task, workload in (
            ("pareto_rank", "uniform"),
            ("is_nondominated", "uniform"),
            ("hypervolume", "concave"),
            ("hv_contributions", "concave"),
            ("pareto_advantage", "uniform"),
        )
    ]
    return tiny if quick else [*tiny, Case("overhead", "hypervolume", "degenerate", 50, 8)]


def threads(*, quick: bool = False) -> Sequence[Case]:
    """Run batches and one large set on one thread and on two, by the wall clock."""
    smaller = 50 if quick else 1
    return [
        Case("threads", task, workload, points, m, groups // smaller, dtype, count)
        for task, workload, groups, points, m, dtype in (
            ("pareto_rank", "uniform", 100_000, 16, 3, "float32"),
            ("pareto_advantage", "uniform", 200_000, 16, 3, "float32"),
            ("hypervolume", "ragged", 10_000, 32, 3, "float64"),
            ("is_nondominated", "concave", 0, 10_000_000 // smaller, 2, "float64"),
        )
        for count in (1, 2)
    ]


def gpu(*, quick: bool = False) -> Sequence[Case]:
    """Run on a GPU: batches in float32, from one training step's to a million; large sets."""
    case = partial(Case, "gpu", threads=ON_GPU, dtype="float32")
    many = 100 if quick else 1
    advantages = ((4_096, 8, 2), (4_096, 16, 3), (1_000_000, 8, 2), (1_000_000, 16, 3))
    ranks = ((4_096, 8, 2), (4_096, 64, 3), (1_000_000, 8, 2), (500_000, 16, 3))
    volumes = ((100_000, 8, 2), (100_000, 16, 3), (2_000, 32, 4), (500, 32, 5), (132, 24, 8))
    large = (10_000, 100_000, 1_000_000)
    batched = (
        ("pareto_advantage", advantages),
        # The judge of more groups takes minutes.
        ("hypervolume_advantage", (*advantages[:3], (20_000, 16, 3))),
        ("pareto_rank", ranks),
        ("is_nondominated", ranks[:2]),
        ("hypervolume", volumes),
        ("hv_contributions", volumes[2:4]),
    )
    return [
        *(
            case(task, "uniform", points, m, max(groups // many, 10))
            for task, shapes in batched
            for groups, points, m in shapes
        ),
        *(
            case(task, workload, points // many, m)
            for task in ("pareto_rank", "is_nondominated")
            for workload in ("uniform", "concave")
            for points, m in (*((points, m) for points in large for m in (2, 3)), (100_000, 5))
        ),
        *(case("hypervolume", "concave", points // many, m) for points in large for m in (2, 3)),
        *(case("hv_contributions", "concave", points // many, 2) for points in large),
        # The judge of crowding distances wants no equal values.
        *(
            case("crowding_distance", "concave", points // many, 3, dtype="float64")
            for points in large
        ),
    ]


def headline(*, quick: bool = False) -> Sequence[Case]:  # noqa: ARG001 (as all of them)
    """Run one case of each of five operations; only with --against."""
    return [
        Case("fronts", "pareto_rank", "uniform", 10_000, 3),
        Case("filter", "is_nondominated", "concave", 10_000, 3),
        Case("hypervolume", "hypervolume", "concave", 300, 4),
        Case("advantage", "pareto_advantage", "uniform", 8, 2, 8_192, "float32"),
        Case("overhead", "pareto_rank", "uniform", 8, 2),
    ]


OPERATIONS: dict[str, Callable[..., Sequence[Case]]] = {
    "fronts": fronts,
    "filter": filters,
    "hypervolume": hypervolume,
    "contributions": contributions,
    "gradient": gradient,
    "boxes": boxes,
    "indicators": indicators,
    "subsets": subsets,
    "dominance": dominance,
    "crowding": crowding,
    "bounds": bounds,
    "batches": batches,
    "advantage": advantage,
    "expected_hypervolume": expected_hypervolume,
    "archive": archive,
    "overhead": overhead,
    "threads": threads,
}
GPU_OPERATIONS: dict[str, Callable[..., Sequence[Case]]] = {"gpu": gpu}
HEADLINE_OPERATIONS: dict[str, Callable[..., Sequence[Case]]] = {"headline": headline}
