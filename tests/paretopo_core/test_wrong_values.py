"""Values of the right type that a function does not take: the error names the argument."""

import numpy as np
import pytest
from support.operations import DISTANCES, EPSILONS

import paretopo_core as pp

NAN, INF = np.nan, np.inf
PAIR = np.array([[1.0, 2.0], [2.0, 1.0]])
POINTS, SETS, NONE = np.ones((4, 3)), np.ones((3, 4, 2)), np.empty((2, 0, 2))
CORNERS = np.zeros((2, 2)), np.ones((2, 2))
BOXES = pp.nondominated_boxes([[1.0, 2.0]], 0)
SEVERAL = pp.nondominated_boxes(np.ones((3, 1, 2)), 0)
SPOILT = np.where(np.arange(24).reshape(2, 4, 3) == 18, NAN, 1.0)  # at [1, 2, 0]


def advantage(**wrong):
    return pp.pareto_advantage(np.ones((4, 8, 2)), **{"weights": [1, 1], **wrong})


def choose(**wrong):
    return pp.hypervolume_subset(POINTS, 0, **{"k": 2, **wrong})


def direct(directions, points=POINTS, **more):
    more = {"k": 1, "method": "reference_directions", **more}
    return pp.select(points, directions=directions, **more)


def expect(means, deviations=1, **more):
    return pp.expected_hypervolume_improvement(means, deviations, **{"boxes": BOXES, **more})


def improve(candidates, boxes=BOXES, **more):
    return pp.hypervolume_improvement(candidates, boxes=boxes, **more)


def weigh(points=PAIR, boxes=CORNERS, weights=(1.0, 1.0)):
    return pp.weighted_hypervolume(points, 0, boxes=boxes, weights=weights)


def measure(target, points=PAIR, **more):
    return pp.inverted_generational_distance(points, target, **more)


def scalarise(points=POINTS, ideal=0, **more):
    return pp.r2_indicator(points, ideal, **more)


def attain(points, sets=(0, 0, 0), **more):
    return pp.attainment_surfaces(points, sets, **more)


WRONG = [
    (r"weights must have shape \(2,\).*got shape \(3,", lambda: advantage(weights=[1] * 3)),
    (r"or \(4, 2\) for one to", lambda: advantage(weights=np.ones((3, 2)))),
    ("weights must be finite, got nan", lambda: advantage(weights=np.full((4, 2), NAN))),
    (r"weights must be finite, got \[nan, 1.0\]", lambda: advantage(weights=[NAN, 1])),
    (r"beta must lie in 0\.\.1, got 1\.5", lambda: advantage(beta=1.5)),
    ("beta must lie in", lambda: advantage(beta=NAN)),
    ("centre must be one of mean, none, std, loo, got 'group'", lambda: advantage(centre="group")),
    (r"centre must be one of .*, got \['mean'\]", lambda: advantage(centre=["mean"])),
    *(
        (rf"k must be from 1 to 4.* got {k}", lambda k=k: pp.hypervolume_advantage(SETS, 0, k=k))
        for k in (0, 5, -1)
    ),
    ("one of exact, mean.*'median'", lambda: pp.hypervolume_advantage(SETS, 0, centre="median")),
    (
        "rewards with 64 points and 8 objectives span a grid",
        lambda: pp.hypervolume_advantage(np.ones((64, 8)), 0),
    ),
    ("sigma must be finite and above 0, got 0", lambda: pp.stochastic_dominance(PAIR, sigma=0)),
    ("sigma must be .* got nan", lambda: pp.stochastic_pareto_rank(PAIR, sigma=NAN)),
    ("margin .* or more, got -1", lambda: pp.stochastic_dominance(PAIR, sigma=1, margin=-1)),
    *(
        ("points must be finite, got", lambda x=x: pp.stochastic_dominance([[x, 0.0]], sigma=1))
        for x in (NAN, INF, -INF)
    ),
    (r"points must have shape .* got \(3,\)", lambda: pp.stochastic_dominance([1, 2, 3], sigma=1)),
    *(
        (message, lambda call=call, given=given: call(PAIR, 0, **given))
        for call in (pp.hypervolume_approx, pp.hypervolume_contributions_approx)
        for message, given in (
            ("samples must be at least 1", {"samples": 0}),
            ("rng must be at least 0", {"rng": -1}),
            (r"rng must be at most 2\*\*63 - 1", {"rng": 2**63}),
        )
    ),
    ("n_below must be at least 1, got 0", lambda: pp.pareto_rank(SETS, n_below=0)),
    *(
        (message, lambda given=given: pp.is_nondominated(SETS, **given))
        for message, given in (
            ("duplicate_tolerance must be at least 0, got", {"duplicate_tolerance": -1.0}),
            ("epsilon must be larger than 0, got", {"epsilon": 0}),
            ("epsilon must be finite", {"epsilon": [1, INF]}),
            (r"a number or have shape \(2,\)", {"epsilon": [1, 2, 3]}),
            ("points and epsilon= about boxes", {"dominance": "strict", "epsilon": 1}),
            ("several near ones: pass one", {"duplicates": "none", "epsilon": 1}),
            ("several near ones: pass one", {"duplicates": "none", "duplicate_tolerance": 1}),
        )
    ),
    *(
        (r"violation must have shape \(3, 4\)", lambda call=call, v=v: call(SETS, violation=v))
        for call in (pp.pareto_rank, pp.is_nondominated)
        for v in ([0, 1], np.zeros((3, 3)), 0.0)
    ),
    (r"ranks must have shape \(4,\), one int", lambda: pp.crowding_distance(POINTS, ranks=[0, 1])),
    (
        r"wanted must have shape \(4,\), one bool per point",
        lambda: pp.hypervolume_gradient(POINTS, 0, wanted=[True, False]),
    ),
    *(
        (f"scale must be.* got {x}", lambda x=x: pp.reference_point(PAIR, scale=x))
        for x in (-0.1, INF, NAN)
    ),
    *(
        (
            rf"{name} must be a number, or have shape \(2,\), or \(3, 2\)",
            lambda name=name, x=x: pp.normalise(SETS, **{name: x}),
        )
        for name in ("ideal", "nadir")
        for x in ([1, 2, 3], np.zeros((4, 2)))
    ),
    # ---- choices of points
    *((rf"k must be from 1 to 4, .* got {k}", lambda k=k: pp.select(POINTS, k=k)) for k in (0, 5)),
    *(
        (rf"k must be from 1 to 4, the points of a set, got {k}", lambda k=k: choose(k=k))
        for k in (0, -1, 5, 2**40)
    ),
    *(
        (r"k must be .* 1, as the sets have no points, got 0", call)
        for call in (
            lambda: pp.hypervolume_subset(NONE, 0, k=0),
            lambda: pp.select(NONE, k=0),
            lambda: pp.expected_hypervolume(NONE, 0, k=0),
            lambda: pp.hypervolume_advantage(NONE, 0, k=0),
        )
    ),
    *(
        (r"method must be one of greedy, greedy_removal, exact, got", lambda m=m: choose(method=m))
        for m in ("best", None, ["greedy"])
    ),
    (r"'exact' takes 1 or 2 objectives, got 3: .*NP-hard", lambda: choose(method="exact")),
    ("method 'hypervolume' needs ref=", lambda: pp.select(POINTS, k=2, method="hypervolume")),
    ("'SMS-EMOA' needs ref=", lambda: pp.select(POINTS, k=2, method="SMS-EMOA")),
    ("'reference_directions' needs directions=", lambda: direct(None)),
    ("'NSGA-III' needs directions=", lambda: direct(None, method="NSGA-III")),
    ("ref is only for method='hypervolume'", lambda: pp.select(POINTS, k=2, ref=0)),
    ("directions is only for .*'ref", lambda: direct(np.eye(3), method="hypervolume", ref=0)),
    ("crowding, .*, NSGA-II, .*, got 'nsga2'", lambda: pp.select(POINTS, k=2, method="nsga2")),
    (r"points\[1, 2, 0\] is .*; leave such points", lambda: direct(np.eye(3), SPOILT)),
    (r"points\[0, 0\] is -?inf", lambda: direct([[1, 1]], [[INF, 0.0]])),
    (r"shape \(directions, 3\), at least one, got shape \(2, 2\)", lambda: direct(np.eye(2))),
    (r"at least one, got shape \(0, 3\)", lambda: direct(np.zeros((0, 3)))),
    (r"directions .*got shape \(3,\)", lambda: direct(np.ones(3))),
    (r"none all zero, but directions\[1\]", lambda: direct([[1, 1, 1], [0, 0, 0]])),
    (r"none negative .* directions\[0\]", lambda: direct([[1, -1, 1]])),
    *(
        (r"finite, .* directions\[0\]", lambda row=row: direct([row]))
        for row in ([1, INF, 1], [1, NAN, 1], [1e300, 1e300, 1])
    ),
    (
        "takes at most 1000 objectives, got 1001",
        lambda: direct(np.ones((1, 1001)), np.ones((2, 1001))),
    ),
    *(("rng must", lambda rng=rng: direct(np.eye(3), rng=rng)) for rng in (-1, 2**63)),
    *(
        (r"(objectives|partitions) must be at least 1", lambda x=x: pp.reference_directions(*x))
        for x in ((0, 1), (2, 0), (-1, 2))
    ),
    *(
        (r"make more than 1e\+06 directions", lambda x=x: pp.reference_directions(*x))
        for x in ((15, 30), (10**12, 10**12))
    ),
    # ---- indicators and attainment
    ("target must have shape", lambda: measure(POINTS)),
    ("target must have shape", lambda: measure([1.0, 1.0])),
    ("cannot be broadcast", lambda: measure(np.ones((5, 3, 2)), SETS)),
    *(("p must be above 0", lambda p=p: measure(PAIR, p=p)) for p in (0, -1.0, NAN)),
    *(
        (message, lambda name=name, given=given: getattr(pp, name)(PAIR, **given))
        for name in (*DISTANCES, *EPSILONS)
        for message, given in (
            ("target must have at least one point", {"target": np.empty((0, 2))}),
            ("target_mask without any", {"target": PAIR, "target_mask": [False, False]}),
        )
    ),
    *(
        (message, lambda x=x: scalarise(weights=x))
        for message, x in (
            ("weights must be given for 3 objectives", None),
            ("at least 1 division", 0),
            ("take fewer divisions", 10_000),
            (r"weights must have shape \(vectors, 3\)", np.ones((2, 2))),
            ("at least one vector", np.ones((0, 3))),
            ("finite and not negative, got -1.0 in vector 0", [[1, -1, 1]]),
            ("finite and not negative", [[1, NAN, 1]]),
        )
    ),
    ("ideal must be finite", lambda: scalarise(ideal=NAN, weights=2)),
    (r"points\[0, 1\] is nan", lambda: scalarise([[1.0, NAN]])),
    (r"points must have shape \(points, 2\)", lambda: attain(np.ones((3, 4)))),
    (r"points must have shape \(points, 2\)", lambda: attain(np.ones((2, 3, 2)))),
    (r"sets must have shape \(3,\)", lambda: attain(np.ones((3, 2)), [0, 0])),
    (r"sets must name .* got NaN at \[1\]", lambda: attain(np.ones((3, 2)), [0, NAN, 1])),
    *(
        ("percentiles must be from 0 to 100", lambda x=x: attain(np.ones((3, 2)), percentiles=[x]))
        for x in (101, NAN)
    ),
    (r"points\[0, 1\] is nan", lambda: attain([[1.0, NAN]], [0])),
    # ---- boxes
    (r"candidates\[0, 1\] is inf, an infinite volume", lambda: improve([[1.0, INF]])),
    ("pass the maximise= that they were made with", lambda: improve(PAIR, maximise=False)),
    (r"one shape \(..., boxes, 3\)", lambda: improve(POINTS)),
    (r"one shape \(..., boxes, 2\)", lambda: improve(PAIR, (BOXES.lower, BOXES.upper[:-1]))),
    ("leading dimensions that cannot be broadcast", lambda: improve(np.ones((2, 1, 2)), SEVERAL)),
    (r"but means\[1, 1\] is nan", lambda: expect([[1, 1], [1, NAN]])),
    (r"finite on the better side, but means\[0, 1\] is inf", lambda: expect([[1, INF]])),
    (r"deviations must be .* but .*\[0, 1\] is -0.5", lambda: expect([[1, 1]], [[1, -0.5]])),
    (r"deviations\[0, 0\] is nan", lambda: expect([[1, 1]], NAN)),
    (r"deviations\[0, 0\] is inf", lambda: expect([[1, 1]], [INF, 1])),
    *(
        (r"deviations .*broadcasts to that of means", lambda s=s: expect([[1, 1]], np.ones(s)))
        for s in ((3,), (2, 2), (1, 1, 2))
    ),
    (r"boxes must have .* one shape \(\.\.\., boxes, 3", lambda: expect(POINTS)),
    (r"\[0, 0, 0\] are 1.0 and inf", lambda: expect(SETS, boxes=SEVERAL, maximise=False)),
    (r"weights must have shape \(..., 2\)", lambda: weigh(weights=[1.0])),
    ("weights must be finite", lambda: weigh(weights=[1.0, INF])),
    ("boxes must have lower and upper", lambda: weigh(boxes=(CORNERS[0], CORNERS[1][:1]))),
    (
        r"weights of shape .* cannot be broadcast",
        lambda: weigh(boxes=np.zeros((2, 3, 4, 2)).tolist(), weights=np.ones((2, 4))),
    ),
    ("with as many objectives", lambda: weigh(POINTS)),
    *(
        (
            f"points must have 2 or 3 objectives, got {m}.*torch.func.hessian",
            lambda m=m: pp.hypervolume_hessian(np.ones((2, m)), 0),
        )
        for m in (1, 4)
    ),
    (r"points\[0, 1\] is NaN", lambda: pp.hypervolume_hessian([[1.0, NAN]], 0)),
    (r"\[0, 1\] is inf, an infinite", lambda: pp.hypervolume_hessian([[1.0, INF]], 0)),
    # ---- settings
    ("count must be from 1 to 4096, got 0", lambda: pp.threads(0)),
    ("the instruction set must be one of portable", lambda: pp.isa("neon")),
]


@pytest.mark.parametrize(("message", "call"), WRONG)
def test_a_wrong_value_is_named(message, call):
    with pytest.raises(ValueError, match=message):
        call()
