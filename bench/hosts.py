"""Measure whole runs of the hosts with and without acceleration.

``python -m bench.hosts [HOST]... [--out FILE]``, from a checkout, with the extra ``hosts``. Each
run is made with and without :func:`paretopo_core.accelerate`, in one process and on one thread.
The results are compared first, then processor times. A ratio covers the whole run, including the
host's models, operators and bookkeeping.
"""

from __future__ import annotations

import argparse
import logging
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import paretopo_core as pp
from paretopo_core.accelerate import VERSIONS


class Run(NamedTuple):
    """A whole run of a host: its description, a function that makes it, and a tolerance."""

    host: str
    label: str
    make: Callable[[], Any]
    tolerance: float = 0.0
    has_own: bool = True  # False if the host's own code does not end


def spheres(x: np.ndarray, objectives: int) -> np.ndarray:
    """DTLZ2, (objectives, ...) of (variables, ...): the front is a part of the sphere."""
    radius = 1 + ((x[objectives - 1 :] - 0.5) ** 2).sum(axis=0)
    angles = x[: objectives - 1] * np.pi / 2
    values: np.ndarray = radius * np.array(
        [
            np.prod(np.cos(angles[: objectives - 1 - m]), axis=0)
            * (np.sin(angles[objectives - 1 - m]) if m else 1.0)
            for m in range(objectives)
        ]
    )
    return values


def pymoo_run(
    name: str, objectives: int, generations: int, problem_name: str = "dtlz2"
) -> Callable[[], Any]:
    """100 individuals on a problem of DTLZ."""

    def make() -> Any:
        from pymoo.algorithms.moo import nsga2, sms
        from pymoo.optimize import minimize
        from pymoo.problems import get_problem

        algorithm = {"NSGA-II": nsga2.NSGA2, "SMS-EMOA": sms.SMSEMOA}[name](pop_size=100)
        problem = get_problem(problem_name, n_var=objectives + 9, n_obj=objectives)
        return minimize(problem, algorithm, ("n_gen", generations), seed=1).F

    return make


def pymoo_indicators(names: Sequence[str], objectives: int, sets: int) -> Callable[[], Any]:
    """Compute distances of each population of a run from a front of 1,000 points."""

    def make() -> Any:
        from pymoo.indicators import gd, gd_plus, igd, igd_plus

        rng = np.random.default_rng(0)
        front = np.abs(rng.normal(size=(1_000, objectives)))
        front /= np.linalg.norm(front, axis=1, keepdims=True)
        populations = 1 + rng.random((sets, 100, objectives))
        kinds = {"IGD": igd.IGD, "IGD+": igd_plus.IGDPlus, "GD": gd.GD, "GD+": gd_plus.GDPlus}
        indicators = [kinds[name](front) for name in names]
        return np.array([[measure(each) for measure in indicators] for each in populations])

    return make


def optuna_run(name: str, objectives: int, trials: int, together: int = 1) -> Callable[[], Any]:
    """TPE on DTLZ2, or Gaussian processes; several trials are started together."""

    def make() -> Any:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)

        def aims(trial: Any) -> list[float]:
            x = [trial.suggest_float(f"x{i}", 0, 1) for i in range(objectives + 2)]
            return [float(value) for value in spheres(np.array(x), objectives)]

        sampler = getattr(optuna.samplers, f"{name}Sampler")(seed=1)
        study = optuna.create_study(directions=["minimize"] * objectives, sampler=sampler)
        for _ in range(trials // together):
            running = [(trial := study.ask(), aims(trial)) for _ in range(together)]
            for trial, reached in running:
                study.tell(trial, reached)
        values = np.array([trial.values for trial in study.trials])
        # Other boxes of the same region lead the second to other suggestions, which are as good.
        return values if name == "TPE" else pp.hypervolume(values, ref=2.0, maximise=False)

    return make


def botorch_run(name: str, objectives: int, samples: int) -> Callable[[], Any]:
    """One suggestion: boxes, and an acquisition that L-BFGS climbs; answers are values of it."""

    def make() -> Any:
        import torch
        from botorch.acquisition.multi_objective import logei
        from botorch.models import SingleTaskGP
        from botorch.optim import optimize_acqf
        from botorch.sampling import SobolQMCNormalSampler
        from botorch.utils.multi_objective.box_decompositions.non_dominated import (
            FastNondominatedPartitioning,
        )

        torch.manual_seed(0)
        x = torch.rand(30, 6, dtype=torch.float64)
        y = -torch.as_tensor(np.array([spheres(row, objectives) for row in x.numpy()]))
        y = (y - y.mean(dim=0)) / y.std(dim=0)
        ref = y.min(dim=0).values
        model = SingleTaskGP(x, y)
        sampler = SobolQMCNormalSampler(torch.Size([samples]), seed=0)
        if name == "qLogNEHVI":
            acquisition = logei.qLogNoisyExpectedHypervolumeImprovement(
                model, ref, X_baseline=x, sampler=sampler
            )
        else:
            boxes = FastNondominatedPartitioning(ref_point=ref, Y=y)
            acquisition = logei.qLogExpectedHypervolumeImprovement(
                model, ref, partitioning=boxes, sampler=sampler
            )
        bounds = torch.tensor([[0.0] * 6, [1.0] * 6], dtype=torch.float64)
        options = {"maxiter": 20}
        optimize_acqf(acquisition, bounds, 1, 2, raw_samples=32, options=options)
        return acquisition(torch.rand(64, 1, 6, dtype=torch.float64)).detach().numpy()

    return make


def botorch_front(name: str, objectives: int) -> Callable[[], Any]:
    """Measure a part of BoTorch on a front of 30: the analytic EHVI, or the boxes of samples."""

    def make() -> Any:
        import torch
        from botorch.acquisition.multi_objective import analytic, logei
        from botorch.models import SingleTaskGP
        from botorch.sampling import SobolQMCNormalSampler
        from botorch.utils.multi_objective.box_decompositions.non_dominated import (
            FastNondominatedPartitioning,
        )

        torch.manual_seed(0)
        x = torch.full((30, objectives + 1), 0.5, dtype=torch.float64)
        x[:, : objectives - 1] = torch.rand(30, objectives - 1, dtype=torch.float64)
        y = -torch.as_tensor(np.array([spheres(row, objectives) for row in x.numpy()]))
        ref = y.min(dim=0).values - 0.1
        model = SingleTaskGP(x, y)
        if name == "EHVI":
            boxes = FastNondominatedPartitioning(ref_point=ref, Y=y)
            acquisition = analytic.ExpectedHypervolumeImprovement(model, ref.tolist(), boxes)
            for _ in range(10):
                at = torch.rand(64, 1, objectives + 1, dtype=torch.float64, requires_grad=True)
                values = acquisition(at)
                values.sum().backward()
            return values.detach().numpy()
        sampler = SobolQMCNormalSampler(torch.Size([128]), seed=0)
        acquisition = logei.qLogNoisyExpectedHypervolumeImprovement(
            model, ref, X_baseline=x, sampler=sampler
        )
        best = y.max(dim=0).values + 1
        lower, upper = acquisition.cell_lower_bounds, acquisition.cell_upper_bounds
        return (upper.minimum(best) - lower).clamp_min(0).prod(dim=-1).sum(dim=-1).numpy()

    return make


def deap_run(objectives: int, generations: int) -> Callable[[], Any]:
    """NSGA-II, 200 individuals on DTLZ2."""

    def make() -> Any:
        import random

        from deap import algorithms, base, creator, tools

        if not hasattr(creator, "Timed"):
            creator.create("TimedFitness", base.Fitness, weights=(-1.0,) * objectives)
            creator.create("Timed", list, fitness=creator.TimedFitness)
        random.seed(1)
        box = base.Toolbox()
        box.register("value", random.random)
        box.register("one", tools.initRepeat, creator.Timed, box.value, objectives + 9)
        box.register("evaluate", lambda one: tuple(spheres(np.array(one), objectives)))
        box.register("mate", tools.cxSimulatedBinaryBounded, low=0.0, up=1.0, eta=20.0)
        box.register("mutate", tools.mutPolynomialBounded, low=0.0, up=1.0, eta=20.0, indpb=0.1)
        box.register("select", tools.selNSGA2)
        population = tools.initRepeat(list, box.one, 200)
        algorithms.eaMuPlusLambda(population, box, 200, 200, 0.6, 0.4, generations, verbose=False)
        return np.array([one.fitness.values for one in population])

    return make


def evox_run(population: int, generations: int) -> Callable[[], Any]:
    """NSGA-II on DTLZ2 with 3 objectives, uncompiled."""

    def make() -> Any:
        import torch
        from evox.algorithms import NSGA2
        from evox.problems.numerical import DTLZ2
        from evox.workflows import StdWorkflow

        torch.manual_seed(1)
        algorithm = NSGA2(population, 3, torch.zeros(12), torch.ones(12))
        steps = StdWorkflow(algorithm, DTLZ2(d=12, m=3))
        steps.init_step()
        for _ in range(generations):
            steps.step()
        return steps.algorithm.fit.numpy()

    return make


def evotorch_run(population: int, generations: int) -> Callable[[], Any]:
    """A genetic algorithm with Pareto ranks on DTLZ2 with 3 objectives."""

    def make() -> Any:
        import torch
        from evotorch import Problem
        from evotorch.algorithms import GeneticAlgorithm
        from evotorch.operators import GaussianMutation, SimulatedBinaryCrossOver

        def aims(x: Any) -> Any:
            return torch.as_tensor(spheres(x.numpy().T, 3).T)

        logging.getLogger("evotorch").setLevel(logging.WARNING)
        options = {"solution_length": 12, "bounds": (0, 1), "vectorized": True, "seed": 1}
        problem = Problem(["min"] * 3, aims, **options)
        cross = SimulatedBinaryCrossOver(problem, tournament_size=4, eta=20)
        operators = [cross, GaussianMutation(problem, stdev=0.03)]
        search = GeneticAlgorithm(problem, popsize=population, operators=operators)
        search.run(generations)
        return search.population.evals.numpy()

    return make


RUNS = [
    Run("pymoo", "SMS-EMOA, 3 objectives, 20 generations", pymoo_run("SMS-EMOA", 3, 20)),
    Run("pymoo", "SMS-EMOA, 4 objectives, 20 generations", pymoo_run("SMS-EMOA", 4, 20)),
    Run("pymoo", "SMS-EMOA, 5 objectives, 20 generations", pymoo_run("SMS-EMOA", 5, 20)),
    *(
        Run(
            "pymoo",
            f"SMS-EMOA on {name.upper()}, 4 objectives, 20 generations",
            pymoo_run("SMS-EMOA", 4, 20, name),
            np.inf,  # among equal contributions, another point may leave
        )
        for name in ("dtlz1", "dtlz7")
    ),
    Run("pymoo", "NSGA-II, 4 objectives, 40 generations", pymoo_run("NSGA-II", 4, 40)),
    *(
        Run(
            "pymoo",
            f"{' and '.join(names)} of 100 populations",
            pymoo_indicators(names, 3, 100),
            1e-12,
        )
        for names in (("IGD", "IGD+"), ("GD", "GD+"))
    ),
    Run("optuna", "TPE, 3 objectives, 300 trials", optuna_run("TPE", 3, 300)),
    Run("optuna", "TPE, 4 objectives, 300 trials", optuna_run("TPE", 4, 300)),
    *(
        Run("optuna", f"GP, {count} objectives, 15 trials", optuna_run("GP", count, 15), 0.5)
        for count in (2, 3, 4, 5)
    ),
    Run(
        "optuna",
        "GP, 3 objectives, 16 trials, two at a time",
        optuna_run("GP", 3, 16, together=2),
        0.5,
    ),
    Run("optuna", "GP, 7 objectives, 40 trials", optuna_run("GP", 7, 40), has_own=False),
    *(
        Run("botorch", f"EHVI, {objectives} objectives", botorch_front("EHVI", objectives), 1e-9)
        for objectives in (2, 3, 4, 5)
    ),
    *(
        Run(
            "botorch",
            f"boxes of qLogNEHVI, {objectives} objectives, 128 samples",
            botorch_front("qLogNEHVI", objectives),
            1e-9,
        )
        for objectives in (2, 3, 4, 5)
    ),
    # The logarithms smooth each box on its own, and ours are other boxes of the same region.
    Run("botorch", "qLogEHVI, 4 objectives, 128 samples", botorch_run("qLogEHVI", 4, 128), 0.1),
    Run("botorch", "qLogNEHVI, 3 objectives, 16 samples", botorch_run("qLogNEHVI", 3, 16), 0.1),
    Run("deap", "NSGA-II, 4 objectives, 20 generations", deap_run(4, 20)),
    *(
        Run(
            host,
            f"{name}, population {size:,}, {count} generations",
            make(size, count),
            has_own=size < 20_000,  # EvoX's own takes 16 GB, EvoTorch's 24 GB
        )
        for host, name, make in (
            ("evox", "NSGA-II", evox_run),
            ("evotorch", "genetic algorithm", evotorch_run),
        )
        for size, count in ((100, 50), (1_000, 10), (5_000, 5), (20_000, 5))
    ),
]


def timed(make: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of processor time, and the answer."""
    start = time.process_time()
    answer = make()
    return time.process_time() - start, answer


def measure(run: Run) -> str:
    """Measure a row of the table; exit if the result differs too much from the host's own."""
    with pp.accelerate(run.host):
        run.make()  # warm up, so that imports, compilation and caches count for neither
    own_s, own = timed(run.make) if run.has_own else (np.nan, None)
    with pp.accelerate(run.host):
        ours_s, ours = timed(run.make)
    version = metadata.version(run.host)
    if own is None:
        return f"| {run.host} {version} | {run.label} | | {ours_s:.2f} | | |"
    difference = float(np.abs(ours - own).max())
    if ours.shape != own.shape or not difference <= run.tolerance:
        raise SystemExit(f"{run.host}, {run.label}: results differ by {difference}")
    same = "equal" if difference == 0 else f"differ by {difference:.1g}"
    ratio = own_s / ours_s
    return (
        f"| {run.host} {version} | {run.label} | {own_s:.2f} | {ours_s:.2f} | {ratio:.1f} "
        f"| {same} |"
    )


def main() -> None:
    """Measure the named hosts and print a table."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("hosts", nargs="*", help=f"{', '.join(VERSIONS)}; all without")
    parser.add_argument("--only", default="", help="only the runs whose label contains this")
    parser.add_argument("--out", type=Path, help="where the table is written, too")
    asked = parser.parse_args()
    if "torch" in sys.modules or os.environ.get("OMP_NUM_THREADS") != "1":
        os.environ["OMP_NUM_THREADS"] = "1"
        os.execv(sys.executable, [sys.executable, "-m", "bench.hosts", *sys.argv[1:]])
    pp.threads(1)
    lines = [
        f"`python -m bench.hosts {' '.join(asked.hosts)}`".replace(" `", "`")
        + f", {platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__}, "
        "one thread, processor time:",
        "",
        "| host | run | original, s | accelerated, s | speed-up | results |",
        "|---|---|---:|---:|---:|---|",
    ]
    print("\n".join(lines), flush=True)
    for run in RUNS:
        if (not asked.hosts or run.host in asked.hosts) and asked.only in run.label:
            lines.append(measure(run))
            print(lines[-1], flush=True)
    if asked.out:
        asked.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
