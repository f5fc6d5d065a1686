"""Optuna accelerated gives its own answers."""

import subprocess
import sys

import numpy as np
import pytest
from support.hosts import (
    assert_same,
    both,
    count_calls,
    front,
    load,
    losses,
    need,
    value_and_slopes,
)

from paretopo_core import accelerate

# Warnings of a host's own are not about us.
pytestmark = pytest.mark.filterwarnings("default")


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
    candidates = torch.from_numpy(rng.uniform(-1.2, 0, (90, 16, objectives)))
    candidates[0] = -2.0
    return acqf, outcomes, (lower, (upper - lower).clamp_min(acqf._EPS)), candidates


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
    assert improves.mean() > 0.1
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


STUDY = """
import sys
import optuna, paretopo_core as pp

sampler = getattr(optuna.samplers, {sampler!r})(seed=1)
handle = pp.accelerate("optuna")
study = optuna.create_study(directions=["minimize"] * 2, sampler=sampler)
study.optimize(lambda trial: [trial.suggest_float("x", 0, 1), trial.params["x"] ** 2], {trials})
study.best_trials
assert ("torch" in sys.modules) == {loads}
assert ("optuna._gp.acqf.logehvi" in handle.replaced) == {loads}
handle.undo()
if {loads}:
    from optuna._gp import acqf

    assert acqf.logehvi.__module__ == acqf.__name__
    assert pp.accelerate("optuna").replaced[-1] == "optuna._gp.acqf.logehvi"
"""


@pytest.mark.parametrize(
    ("sampler", "trials", "loads"),
    [
        ("NSGAIISampler", 60, False),
        ("NSGAIIISampler", 60, False),
        ("TPESampler", 12, False),
        ("GPSampler", 10, False),  # the first 10 trials are random
        ("GPSampler", 11, True),
    ],
)
def test_only_gaussian_processes_load_torch(sampler, trials, loads):
    need("optuna")
    code = STUDY.format(sampler=sampler, trials=trials, loads=loads)
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=300)
