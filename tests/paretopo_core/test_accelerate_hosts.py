"""Each host accelerated gives its own answers, and is itself again afterwards."""

import ast
import copy
import importlib
import pickle
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import paretopo_core
from paretopo_core import accelerate

MODULE = sys.modules["paretopo_core.accelerate"]
# Warnings of a host's own are not about us.
pytestmark = pytest.mark.filterwarnings("default")


def need(host):
    try:
        version = metadata.version(host)
    except metadata.PackageNotFoundError:
        version = None
    if version not in MODULE.VERSIONS[host]:
        tested = " or ".join(MODULE.VERSIONS[host])
        found = f"{version} is installed" if version else "which is not installed"
        pytest.skip(f"needs {host} {tested}, {found}: scripts/test_hosts.sh")
    if host == "botorch":
        pytest.importorskip("gpytorch")


def load(name):
    """Import a module of a host, if the host is installed."""
    need(name.partition(".")[0])
    return importlib.import_module(name)


@pytest.fixture(params=MODULE.VERSIONS)
def any_host(request):
    need(request.param)
    return request.param


def test_nothing_of_ours_is_left_in_a_host(any_host):
    handle = accelerate(any_host)
    values = [one._value for one in MODULE._in_effect[any_host]]

    def left():
        return [
            f"{name}.{attribute}"
            for name, module in list(sys.modules.items())
            if name.partition(".")[0] == any_host
            for attribute, value in list(vars(module).items())
            if any(value is ours for ours in values)
            or (
                isinstance(value, type)
                and any(v is ours for v in vars(value).values() for ours in values)
            )
        ]

    assert left()
    handle.undo()
    assert not left()


def test_no_other_module_keeps_the_original(any_host):
    """A module of the host that imports a replaced function by name would keep its own."""
    with accelerate(any_host) as handle:
        replaced = {tuple(name.rpartition(".")[::2]) for name in handle.replaced}
    root = Path(importlib.import_module(any_host).__file__).parent
    found = []
    for path in root.rglob("*.py"):
        module = ".".join([any_host, *path.relative_to(root).with_suffix("").parts])
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                found += [
                    f"{module} imports {alias.name} of {node.module}"
                    for alias in node.names
                    if (node.module, alias.name) in replaced
                ]
    assert found == []


def test_hosts_are_imported_only_by_the_call(any_host):
    code = (
        "import sys, paretopo_core as pp;"
        f"assert {any_host!r} not in sys.modules;"
        f"handle = pp.accelerate({any_host!r});"
        f"assert {any_host!r} in sys.modules and not handle.undo()"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=300)


def both(host, compute):
    """The host's own answer, and the one with it accelerated."""
    own = compute()
    with accelerate(host):
        ours = compute()
    np.testing.assert_equal(compute(), own)  # nothing is left of it
    return own, ours


def count_calls(monkeypatch, name):
    """A list that grows by one with each call of a function of the package."""
    function, calls = getattr(paretopo_core, name), []

    def counted(*given, **keywords):
        calls.append(name)
        return function(*given, **keywords)

    monkeypatch.setattr(paretopo_core, name, counted)
    return calls


def assert_same(host, compute):
    own, ours = both(host, compute)
    np.testing.assert_equal(ours, own)


# pymoo


@pytest.mark.parametrize(
    ("algorithm", "module"),
    [("NSGA2", "nsga2"), ("NSGA3", "nsga3"), ("SMSEMOA", "sms"), ("AGEMOEA", "age")],
)
@pytest.mark.parametrize("objectives", [2, 3, 4])
def test_runs_of_pymoo_are_the_same_runs(algorithm, module, objectives):
    kind = getattr(load(f"pymoo.algorithms.moo.{module}"), algorithm)
    from pymoo.optimize import minimize
    from pymoo.problems import get_problem
    from pymoo.util.ref_dirs import get_reference_directions

    given = {"pop_size": 24}
    if algorithm == "NSGA3":
        directions = get_reference_directions("das-dennis", objectives, n_partitions=4)
        given = {"ref_dirs": directions}

    def run():
        problem = get_problem("dtlz2", n_var=objectives + 4, n_obj=objectives)
        return minimize(problem, kind(**given), ("n_gen", 8), seed=1).F

    assert_same("pymoo", run)


@pytest.mark.parametrize("objectives", [2, 3, 4])
def test_volumes_and_fronts_of_pymoo_are_the_same(objectives):
    sorting = load("pymoo.util.nds.non_dominated_sorting")
    from pymoo.indicators.hv import HV
    from pymoo.indicators.hv.approximate import ApproximateHypervolume

    points = np.random.default_rng(objectives).random((60, objectives)).round(1)
    ref = np.full(objectives, 1.1)

    def measure():
        return HV(ref_point=ref)(points), ApproximateHypervolume(ref).add(points).hvc

    def sort():
        fronts, ranks = sorting.NonDominatedSorting().do(points, return_rank=True)
        some = sorting.NonDominatedSorting().do(points, n_stop_if_ranked=20)
        return (ranks, sorting.find_non_dominated(points), *fronts, *some)

    for own, ours in zip(*both("pymoo", measure), strict=True):
        np.testing.assert_allclose(ours, own, atol=1e-7)
    assert_same("pymoo", sort)


@pytest.mark.parametrize("objectives", [2, 3, 5])
@pytest.mark.parametrize("keywords", [{}, {"zero_to_one": True}, {"norm_by_dist": True}], ids=str)
def test_distances_of_pymoo_are_the_same(objectives, keywords):
    epsilon = load("pymoo.indicators.epsilon")
    from pymoo.indicators import gd, gd_plus, igd, igd_plus

    rng = np.random.default_rng(objectives)
    points, front = rng.random((40, objectives)) + 0.1, rng.random((70, objectives))
    kinds = [igd.IGD, igd_plus.IGDPlus, gd.GD, gd_plus.GDPlus]
    if not keywords:
        kinds += [epsilon.Epsilon, epsilon.EpsilonMultiplicative]
    broken = points.copy()
    broken[3, 0] = np.inf
    for kind in kinds:
        for given in (points, points[0], broken, points[:0]):
            own, ours = both("pymoo", lambda kind=kind, given=given: kind(front, **keywords)(given))
            assert ours == pytest.approx(own, rel=1e-12, nan_ok=True)
    moved = gd.GD(front)
    moved.dist_func = lambda a, b, norm: np.abs(a - b).max(axis=1)  # a user's own
    assert_same("pymoo", lambda: moved(points))


# Optuna


def losses(count, objectives, seed, digits=1):
    return np.random.default_rng(seed).random((count, objectives)).round(digits)


def front(count, objectives, seed):
    """Make trials on a sphere, where none dominates another."""
    directions = np.abs(np.random.default_rng(seed).normal(size=(count, objectives)))
    return 1 - directions / np.linalg.norm(directions, axis=1, keepdims=True)


@pytest.mark.parametrize("objectives", [1, 2, 3, 4])
@pytest.mark.parametrize("n_below", [None, 0, 1, 7, 20, 1000])
@pytest.mark.parametrize("seed", range(4))
def test_ranks_of_optuna_are_the_same(objectives, n_below, seed):
    ranking = load("optuna.study._multi_objective")
    values = losses(50, objectives, seed)
    values[seed, 0] = np.inf
    penalty = losses(50, 1, seed)[:, 0] - 0.5

    def rank():
        return (
            ranking._fast_non_domination_rank(values, n_below=n_below),
            ranking._fast_non_domination_rank(values, penalty=penalty, n_below=n_below),
            ranking._is_pareto_front(values, assume_unique_lexsorted=False),
            ranking._fast_non_domination_rank(values[:0]),
        )

    for mine, theirs in zip(*both("optuna", rank), strict=True):
        np.testing.assert_array_equal(mine, theirs)
        assert mine.dtype == theirs.dtype


@pytest.mark.parametrize("objectives", [1, 2, 3, 4, 5])
def test_volumes_of_optuna_are_the_same(objectives):
    compute_hypervolume = load("optuna._hypervolume").compute_hypervolume
    values = losses(30, objectives, objectives)
    odd = values.copy()
    odd[0, 0] = -np.inf
    ref = np.ones(objectives)

    def measure():
        found = [
            compute_hypervolume(values, ref),
            compute_hypervolume(values, ref, assume_pareto=False),
            compute_hypervolume(values[:0], ref),
            compute_hypervolume(values, np.full(objectives, np.inf)),
        ]
        return found if objectives < 2 else [*found, compute_hypervolume(odd, ref)]

    own, ours = both("optuna", measure)
    np.testing.assert_allclose(ours, own, rtol=1e-12)
    with accelerate("optuna"), pytest.raises(ValueError, match="must dominate or equal"):
        compute_hypervolume(values + 1.0, ref)


@pytest.mark.parametrize("objectives", [2, 3, 4, 5])
@pytest.mark.parametrize("size", [1, 2, 10, 40, 80])
@pytest.mark.parametrize("seed", range(5))
def test_greedy_subsets_of_optuna_are_the_same(objectives, size, seed):
    """TPE asks for subsets of one front; the next test says where they are not the same."""
    solve, ref = load("optuna._hypervolume")._solve_hssp, np.full(objectives, 1.1)
    values = front(80, objectives, seed)
    values[7] = values[3]
    assert_same("optuna", lambda: solve(values, np.arange(100, 180), size, ref))


@pytest.mark.parametrize("seed", range(10))
def test_tied_greedy_subsets_have_equal_volumes(seed):
    """Among trials with equal contributions, Optuna's choice depends on rounding."""
    module, ref = load("optuna._hypervolume"), np.full(3, 1.1)
    values = losses(60, 3, seed)
    own, ours = both("optuna", lambda: module._solve_hssp(values, np.arange(60), 12, ref))
    assert len(set(ours.tolist())) == 12
    first, second = (module.compute_hypervolume(values[chosen], ref) for chosen in (own, ours))
    assert second == pytest.approx(first, rel=0.02)


@pytest.mark.parametrize("reference", [np.inf, 1.1])
def test_odd_losses_are_optunas_own_matter(reference):
    solve, ref = load("optuna._hypervolume")._solve_hssp, np.full(3, reference)
    values = losses(20, 3, 0, digits=17)
    values[5, 1] = -np.inf
    with np.errstate(invalid="ignore"):
        assert_same("optuna", lambda: solve(values, np.arange(20), 6, ref))


@pytest.mark.parametrize("objectives", [2, 3, 4])
def test_boxes_of_optuna_cover_the_same_region(objectives):
    get_non_dominated_box_bounds = load("optuna._hypervolume").get_non_dominated_box_bounds
    values = losses(15, objectives, objectives, digits=17)
    ref = np.full(objectives, 1.1)
    own, ours = both("optuna", lambda: get_non_dominated_box_bounds(values, ref))
    points = np.random.default_rng(0).random((2000, 1, objectives)) * 1.1

    def inside(bounds):
        return ((bounds[0] <= points) & (points < bounds[1])).all(-1).sum(-1)

    np.testing.assert_array_equal(inside(ours), inside(own))
    assert inside(ours).max() == 1


def boxes_of_optuna(objectives):
    """Outcomes, larger is better, boxes above them, and candidates; some improve nothing."""
    need("optuna")
    import torch
    from optuna._gp import acqf

    outcomes = -torch.from_numpy(front(12, objectives, objectives))
    lower, upper = acqf._get_non_dominated_box_bounds(outcomes, np.full(objectives, 1.1))
    rng = np.random.default_rng(0)
    candidates = torch.from_numpy(rng.uniform(-1.2, 0, (9, 16, objectives)))
    candidates[0] = -2.0
    return acqf, outcomes, (lower, (upper - lower).clamp_min(acqf._EPS)), candidates


def value_and_slopes(function, points):
    import torch

    points = points.clone().requires_grad_()
    values = function(points)
    return values.detach().numpy(), torch.autograd.grad(values.sum(), points)[0].numpy()


@pytest.mark.parametrize("objectives", [2, 3, 5, 21])
def test_acquisition_of_optuna_has_the_same_values(objectives):
    """Also where no sample improves anything: Optuna then measures sides of 1e-12."""
    acqf, _, boxes, candidates = boxes_of_optuna(min(objectives, 5))
    if objectives > 5:  # more than a product of sides can have in float64
        boxes = [one[:20].repeat(1, 5)[:, :objectives] for one in boxes]
        candidates = candidates.repeat(1, 1, 5)[..., :objectives]
    own, ours = both(
        "optuna", lambda: value_and_slopes(lambda at: acqf.logehvi(at, *boxes), candidates)
    )
    for mine, theirs in zip(ours, own, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12)
    one, single = both("optuna", lambda: acqf.logehvi(candidates[1], *boxes).item())
    assert single == pytest.approx(one, rel=1e-12)


@pytest.mark.parametrize("objectives", [2, 3, 4])
def test_samples_of_optuna_have_the_same_values(objectives):
    """Each sample has its own guesses for the running trials; infeasible ones are left out."""
    acqf, outcomes, _, candidates = boxes_of_optuna(objectives)
    import torch

    guesses = torch.from_numpy(-front(16 * 3, objectives, 5)).reshape(16, 3, objectives)
    ragged = [own[: i % 4] for i, own in enumerate(guesses)]
    made = acqf._PerSampleParetoBaseline(outcomes, ragged)

    def value(samples):
        return value_and_slopes(samples.compute_per_sample_log_hvi, candidates[1:])

    for mine, theirs in zip(*both("optuna", lambda: value(made)), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12)
    own, ours = both("optuna", lambda: value(acqf._PerSampleParetoBaseline(outcomes, ragged))[0])
    improves = own > np.log(1e-6)  # elsewhere the sides of 1e-12 count, one for each box
    assert improves.mean() > 0.2
    np.testing.assert_allclose(ours[improves], own[improves], rtol=1e-5)


def test_boxes_of_all_samples_of_optuna_are_one_call(monkeypatch):
    acqf, outcomes, _, candidates = boxes_of_optuna(3)
    counted = count_calls(monkeypatch, "nondominated_boxes")
    with accelerate("optuna"):
        acqf._PerSampleParetoBaseline(outcomes, list(candidates))
    assert len(counted) == 1


@pytest.mark.parametrize("together", [1, 2])
def test_gaussian_processes_of_optuna_suggest_nearly_the_same(together):
    """A second trial is suggested while the first is running."""
    optuna = load("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    directions = ["minimize", "maximize", "minimize"]

    def reach(trial):
        x = np.array([trial.suggest_float(f"x{i}", 0, 1) for i in range(2)])
        return [sign * float(((x - i / 3) ** 2).sum()) for i, sign in enumerate((1, -1, 1))]

    def run():
        sampler = optuna.samplers.GPSampler(seed=3, n_startup_trials=6)
        study = optuna.create_study(directions=directions, sampler=sampler)
        study.optimize(reach, n_trials=6)
        running = [(trial := study.ask(), reach(trial)) for _ in range(together)]
        return [values for _, values in running]

    own, ours = both("optuna", run)
    np.testing.assert_allclose(ours, own, atol=0.02)


@pytest.mark.parametrize("objectives", [2, 4])
def test_a_study_of_optuna_is_the_same_study(objectives):
    optuna = load("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)

    def aims(trial):
        x = np.array([trial.suggest_float(f"x{i}", 0, 1) for i in range(4)])
        return [float(((x - i / objectives) ** 2).sum()) for i in range(objectives)]

    def run():
        sampler = optuna.samplers.TPESampler(seed=3)
        study = optuna.create_study(directions=["minimize"] * objectives, sampler=sampler)
        study.optimize(aims, n_trials=40)
        return [trial.values for trial in study.trials], [t.number for t in study.best_trials]

    assert_same("optuna", run)


# BoTorch


def partitions(kind, points, ref):
    import torch
    from botorch.utils.multi_objective.box_decompositions import dominated, non_dominated

    made = {
        "nondominated": non_dominated.FastNondominatedPartitioning,
        "dominated": dominated.DominatedPartitioning,
    }[kind]
    return made(ref_point=torch.as_tensor(ref), Y=torch.as_tensor(points))


@pytest.mark.parametrize("kind", ["nondominated", "dominated"])
@pytest.mark.parametrize("objectives", [2, 3, 4])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_partitionings_of_botorch_cover_the_same_region(kind, objectives, dtype):
    need("botorch")
    import torch

    rng = np.random.default_rng(objectives)
    points = rng.random((14, objectives)).astype(dtype)
    more = rng.random((5, objectives)).astype(dtype)
    ref = np.full(objectives, 0.1, dtype)
    probes = torch.as_tensor(rng.random((3000, 1, objectives)).astype(dtype))

    def cover():
        found = []
        for first in (points, points[:0], np.full((1, objectives), 0.05, dtype)):
            partitioning = partitions(kind, first, ref)
            for step in (None, more):
                if step is not None:
                    partitioning.update(torch.as_tensor(step))
                lower, upper = partitioning.get_hypercell_bounds()
                inside = ((lower <= probes) & (probes < upper)).all(-1).sum(-1)
                assert inside.max() <= 1
                volume = partitioning.compute_hypervolume()
                assert volume.dtype == lower.dtype == partitioning.pareto_Y.dtype
                found += [inside.tolist(), partitioning.pareto_Y.tolist(), round(volume.item(), 5)]
        return found

    assert_same("botorch", cover)


def test_a_partitioning_of_botorch_outlives_undo():
    non_dominated = load("botorch.utils.multi_objective.box_decompositions.non_dominated")
    import torch

    rng = np.random.default_rng(0)
    points, more = rng.random((2, 10, 3))
    before = partitions("nondominated", points, np.zeros(3))
    with accelerate("botorch"):
        made = partitions("nondominated", points, np.zeros(3))
        assert isinstance(made, non_dominated.FastNondominatedPartitioning)
        before.update(torch.as_tensor(more))  # made by BoTorch's own code, and still its own
        copies = [made, copy.deepcopy(made), pickle.loads(pickle.dumps(made))]
    for one in copies:
        one.update(torch.as_tensor(more))
        assert torch.equal(one.pareto_Y, before.pareto_Y)
        torch.testing.assert_close(one.compute_hypervolume(), before.compute_hypervolume())


def test_botorch_errors_are_preserved():
    non_dominated = load("botorch.utils.multi_objective.box_decompositions.non_dominated")
    import torch

    class Own(non_dominated.FastNondominatedPartitioning):
        pass

    with accelerate("botorch"):
        with pytest.raises(NotImplementedError):
            partitions("nondominated", np.ones((2, 4, 3)), np.zeros(3))
        with pytest.raises(ValueError, match="NaN inputs are not supported"):
            partitions("nondominated", np.full((4, 3), np.nan), np.zeros(3))
        own = Own(ref_point=torch.zeros(3), Y=torch.rand(5, 3))
        assert type(own) is Own  # a subclass stays as it is
        assert own._U is not None
        below = partitions("nondominated", np.ones((1, 3)), np.full(3, -np.inf))
        assert type(below) is non_dominated.FastNondominatedPartitioning


@pytest.mark.parametrize("objectives", [2, 3, 5])
def test_hypervolumes_of_botorch_are_the_same(objectives):
    hypervolume = load("botorch.utils.multi_objective.hypervolume")
    import torch

    generator = torch.Generator().manual_seed(objectives)
    points = torch.rand(12, objectives, generator=generator, dtype=torch.float64)
    measure = hypervolume.Hypervolume(ref_point=torch.full((objectives,), 0.1, dtype=torch.float64))
    own, ours = both("botorch", lambda: [measure.compute(points), measure.compute(points[:0])])
    np.testing.assert_allclose(ours, own, rtol=1e-12)
    assert type(ours[0]) is type(own[0])


@pytest.fixture(scope="module")
def model():
    need("botorch")
    import torch
    from botorch.models import SingleTaskGP
    from botorch.models.transforms import Standardize

    generator = torch.Generator().manual_seed(0)
    x = torch.rand(16, 3, generator=generator, dtype=torch.float64)
    y = torch.stack([-((x - c) ** 2).sum(-1) for c in (0.2, 0.5, 0.8)], dim=-1)
    return SingleTaskGP(x, y, outcome_transform=Standardize(m=3)), x, y


@pytest.mark.parametrize("name", ["analytic", "EHVI", "NEHVI", "LogEHVI", "LogNEHVI"])
def test_acquisition_of_botorch_has_the_same_values(model, name):
    """The logarithms smooth each box on its own: their values depend a little on the division."""
    import torch
    from botorch.acquisition.multi_objective import analytic, logei, monte_carlo
    from botorch.sampling import SobolQMCNormalSampler

    gp, x, y = model
    ref = y.min(dim=0).values
    at = torch.rand(6, 2, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    kinds = {
        "EHVI": monte_carlo.qExpectedHypervolumeImprovement,
        "NEHVI": monte_carlo.qNoisyExpectedHypervolumeImprovement,
        "LogEHVI": logei.qLogExpectedHypervolumeImprovement,
        "LogNEHVI": logei.qLogNoisyExpectedHypervolumeImprovement,
    }

    def expect():
        partitioning = partitions("nondominated", y, ref)
        acquisition = analytic.ExpectedHypervolumeImprovement(gp, ref.tolist(), partitioning)
        return value_and_slopes(acquisition, at[:, :1])

    def value():
        given = {"sampler": SobolQMCNormalSampler(torch.Size([16]), seed=5)}
        if "NEHVI" in name:
            given["X_baseline"] = x
        else:
            given["partitioning"] = partitions("nondominated", y, ref)
        return value_and_slopes(kinds[name](model=gp, ref_point=ref, **given), at)

    own, ours = both("botorch", expect if name == "analytic" else value)
    for mine, theirs in zip(ours, own, strict=True):
        tolerance = 1e-2 if "Log" in name else 1e-9
        np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("objectives", [2, 3, 5])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_analytic_expected_improvement_of_botorch_is_the_same(objectives, dtype):
    need("botorch")
    import torch
    from botorch.acquisition.multi_objective.analytic import ExpectedHypervolumeImprovement

    rng = np.random.default_rng(objectives)
    outcomes = (front(8, objectives, 1) - 1.1).astype(dtype)
    means = torch.as_tensor(rng.uniform(-1.5, 0.5, (2, 6, 1, objectives)).astype(dtype))
    means[1, 5] = -4.0  # where BoTorch's own can be negative
    scales = torch.as_tensor(rng.uniform(0.05, 1, (objectives,)).astype(dtype))
    ref = np.full(objectives, -1.2, dtype)

    model = SimpleNamespace(
        num_outputs=objectives,
        batch_shape=torch.Size([]),
        posterior=lambda x, **_: SimpleNamespace(mean=x, variance=(scales**2).expand_as(x)),
    )

    def value():
        acquisition = ExpectedHypervolumeImprovement(
            model, ref.tolist(), partitions("nondominated", outcomes, ref)
        )
        values, slopes = value_and_slopes(acquisition, means)
        assert acquisition(means[0]).shape == (6,)
        assert values.dtype == slopes.dtype == dtype
        with pytest.raises(ValueError, match=r"Expected value|means must be"):
            acquisition(means * torch.nan)
        return values, slopes

    tolerance = 1e-9 if dtype == "float64" else 1e-3
    own, ours = both("botorch", value)
    assert (ours[0] >= 0).all()
    for mine, theirs in zip(ours, own, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance)


def noisy(model, **given):
    """Make a qNEHVI of 16 samples."""
    import torch
    from botorch.acquisition.multi_objective.monte_carlo import (
        qNoisyExpectedHypervolumeImprovement,
    )
    from botorch.sampling import SobolQMCNormalSampler

    gp, x, y = model
    given = {"X_baseline": x, "ref_point": y.min(dim=0).values} | given
    sampler = SobolQMCNormalSampler(torch.Size([16]), seed=5)
    return qNoisyExpectedHypervolumeImprovement(model=gp, sampler=sampler, **given)


def test_boxes_of_all_samples_of_botorch_are_one_call(model, monkeypatch):
    calls = count_calls(monkeypatch, "nondominated_boxes")
    with accelerate("botorch"):
        noisy(model)
    assert len(calls) == 1


@pytest.mark.parametrize("constraint", [None, lambda samples: samples[..., 0] + 0.3])
def test_samples_of_botorch_have_the_same_fronts(model, constraint):
    """Constraints leave some outcomes of each sample out; pending points come later."""
    need("botorch")
    import torch

    given = {"constraints": constraint and [constraint], "incremental_nehvi": False}
    pending = torch.rand(3, 3, generator=torch.Generator().manual_seed(2), dtype=torch.float64)

    def state():
        acquisition = noisy(model, **given)
        found = []
        for step in (None, pending):
            if step is not None:
                acquisition.set_X_pending(step)
            fronts = acquisition.partitioning.pareto_Y
            assert len(fronts) == 16
            found += [[one.tolist() for one in fronts]]
            for volumes in (acquisition._initial_hvs, acquisition._hypervolumes):
                assert volumes.shape == (16,)
                found += [volumes.numpy().round(9)]
            lower, upper = acquisition.cell_lower_bounds, acquisition.cell_upper_bounds
            inside = (upper.clamp_max(0.1) - lower).clamp_min(0).prod(-1).sum(-1)
            found += [inside.numpy().round(9)]
        return [*found, acquisition._prev_nehvi.numpy().round(9)]

    assert_same("botorch", state)


@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_odd_samples_are_botorchs_own_matter(model, value):
    need("botorch")
    from botorch.acquisition.multi_objective.objective import GenericMCMultiOutputObjective

    def spoil(samples, X=None):
        samples = samples.clone()
        samples[3, 0, 1] = value
        return samples

    def state():
        try:
            acquisition = noisy(model, objective=GenericMCMultiOutputObjective(spoil))
        except ValueError as error:
            return str(error)
        return [front.tolist() for front in acquisition.partitioning.pareto_Y]

    assert_same("botorch", state)


# DEAP


@pytest.fixture(scope="module")
def made():
    need("deap")
    from deap import base, creator

    for count in (1, 2, 3, 4):
        weights = tuple((-1.0) ** m * (m + 1) for m in range(count))
        creator.create(f"PairedFitness{count}", base.Fitness, weights=weights)
        creator.create(f"Paired{count}", list, fitness=getattr(creator, f"PairedFitness{count}"))

    def population(count, objectives, levels, seed=0):
        rng = np.random.default_rng(seed)
        found = []
        for values in rng.integers(0, levels, (count, objectives)).astype(float):
            one = getattr(creator, f"Paired{objectives}")([len(found)])
            one.fitness.values = tuple(values)
            found.append(one)
        return found

    return population


def numbers(fronts):
    """Which individuals, in their order."""
    return [[one[0] for one in front] for front in fronts]


@pytest.mark.parametrize("objectives", [1, 2, 3, 4])
@pytest.mark.parametrize(("count", "levels"), [(1, 5), (12, 2), (80, 6), (80, 10**6)])
def test_fronts_of_deap_are_the_same_in_the_same_order(made, objectives, count, levels):
    from deap import tools

    population = made(count, objectives, levels)

    def sort():
        found = [
            tools.sortNondominated(population, k, first)
            for k in (0, 1, count // 2, count, 2 * count)
            for first in (False, True)
        ]
        if objectives > 1:  # DEAP's own has no end with one
            found += [tools.sortLogNondominated(population, k) for k in (0, count // 2, count)]
            found += [[tools.sortLogNondominated(population, count, first_front_only=True)]]
            found += [[tools.selNSGA2(population, count // 2, nd="log")]]
        found += [[tools.selNSGA2(population, max(1, count // 2))]]
        return [numbers(one) for one in found]

    assert_same("deap", sort)


def test_deap_handles_empty_fronts(made):
    from deap import tools

    with accelerate("deap"):
        assert tools.sortNondominated([], 3) == [[]]


def test_a_dominance_of_its_own_is_left_to_deap(made):
    from deap import base, tools

    class Reversed(base.Fitness):
        weights = (1.0, 1.0)

        def dominates(self, other, *rest):
            return base.Fitness.dominates(other, self, *rest)

    population = made(20, 2, 5)
    for one in population:
        one.fitness = Reversed(one.fitness.values)
    assert_same("deap", lambda: numbers(tools.sortNondominated(population, 20)))


@pytest.mark.parametrize("objectives", [2, 3, 4])
def test_the_least_contribution_of_deap_is_the_same(made, objectives):
    from deap import tools

    population = made(60, objectives, 10**6)
    front = tools.sortNondominated(population, 60, True)[0]

    def least():
        return [
            tools.hypervolume(front),
            tools.hypervolume(front, ref=np.full(objectives, 10.0**7)),
            tools.hypervolume(front[:1]),
        ]

    assert_same("deap", least)
    # Several dominated ones contribute nothing; which of them is found is a matter of rounding.
    for choice in both("deap", lambda: tools.hypervolume(population)):
        assert not any(population[choice] is one for one in front)


def test_toolboxes_of_deap_registered_before_are_served(made):
    from deap import base, tools

    toolbox = base.Toolbox()
    toolbox.register("select", tools.selNSGA2)
    population = made(40, 3, 6)
    calls = []
    ours = importlib.import_module("paretopo_core.accelerate.deap")
    with pytest.MonkeyPatch.context() as patch:
        real = ours.sort_standard
        patch.setattr(ours, "sort_standard", lambda *a, **k: calls.append(1) or real(*a, **k))
        with accelerate("deap"):
            toolbox.select(population, 10)
    assert calls == [1]
