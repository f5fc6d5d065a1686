"""Coverage and width of the interval of a hypervolume, by simulation.

Prints a row for each cell: how often the interval holds the truth, and its width relative to the
basic bootstrap interval. Models share the difficulty of the questions; the first objective is 0 or
1, the others are lognormal. The reference is fixed, or the default one.

    python bench/coverage_of_volumes.py --runs 2000          # two hours on one core
"""

import argparse
import itertools
import math
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

import paretopo_core
from paretopo_lab.compare.analysis import guess_reference
from paretopo_lab.statistics.bootstrap import pull_together, volume_interval

Floats = NDArray[np.float64]

SENSES = np.array([1.0, -1.0, -1.0])
REPLICATES = 400
SHARED = 20  # runs with the same draws


def place_models(kind: str, models: int) -> Floats:
    """Return the true means (models, 3) of accuracy, tokens and seconds."""
    rise = np.linspace(0.0, 1.0, models)
    accuracy, tokens, seconds = {
        "equal": (np.full(models, 0.6), np.ones(models), np.ones(models)),
        "similar": (0.58 + 0.04 * rise, 1 + 0.1 * rise, 1 + 0.1 * rise[::-1] * (rise > 0.5)),
        "spread": (0.4 + 0.4 * rise, 1 + 2 * rise, 1 + 2 * np.abs(rise - 0.5)),
    }[kind]
    return np.stack([accuracy, tokens, seconds], axis=-1)


def draw_answers(rng: np.random.Generator, truth: Floats, questions: int) -> Floats:
    """Return (questions, models, 3) values of answers."""
    shape = questions, len(truth)
    limits = [NormalDist().inv_cdf(right) * math.sqrt(2) for right in truth[:, 0]]
    right = rng.normal(size=shape) + rng.normal(size=(questions, 1)) < limits
    size = 0.6 * (rng.normal(size=(questions, 1)) + rng.normal(size=shape)) / math.sqrt(2)
    late = 0.5 * size + 0.3 * rng.normal(size=shape)
    tokens = truth[:, 1] * np.exp(size - 0.18)
    return np.stack([right, tokens, truth[:, 2] * np.exp(late - 0.09)], axis=-1)


def simulate(
    kind: str, models: int, questions: int, objectives: int, runs: int
) -> list[tuple[float, float]]:
    """Return for both references the coverage, and the mean width relative to the basic one."""
    rng = np.random.default_rng([models, questions, objectives, len(kind)])
    truth, senses = place_models(kind, models), SENSES[:objectives]
    fixed = np.array([0.0, 4.5, 4.5] if kind == "spread" else [0.0, 1.65, 1.65])[:objectives]
    found = np.zeros((2, 3))
    for run in range(runs):
        if run % SHARED == 0:
            evenly = np.full(questions, 1 / questions)
            weights = rng.multinomial(questions, evenly, REPLICATES) / questions
        values = draw_answers(rng, truth, questions)[..., :objectives]
        means = values.mean(axis=0)
        drawn = (weights @ values.reshape(questions, -1)).reshape(-1, models, objectives)
        pulled = pull_together(means, drawn, questions)
        errors = values.std(axis=0, ddof=1) / math.sqrt(questions)
        for number, corner in enumerate((fixed, guess_reference(means, errors, senses.tolist()))):

            def volume(points: Floats, corner: Any = corner) -> Any:
                return paretopo_core.hypervolume(points, corner, maximise=list(senses > 0))

            volumes = volume(drawn)
            alike = float(volume(drawn - means + pulled).mean() - volume(pulled))
            low, high = volume_interval(float(volume(means)), volumes, alike, questions)
            held = low <= volume(truth[:, :objectives]) <= high
            found[number] += held, high - low, np.ptp(np.quantile(volumes, [0.025, 0.975]))
    return [(float(held) / runs, float(wide / basic)) for held, wide, basic in found]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--models", type=int, nargs="+", default=[2, 5, 10, 20, 50])
    parser.add_argument("--questions", type=int, nargs="+", default=[20, 50, 200, 500])
    parser.add_argument("--objectives", type=int, nargs="+", default=[2, 3])
    arguments = parser.parse_args()
    print("objectives models questions kind     fixed: covers width  default: covers width")
    cells = arguments.objectives, arguments.models, arguments.questions
    for objectives, models, questions in itertools.product(*cells):
        for kind in ("equal", "similar", "spread"):
            fixed, default = simulate(kind, models, questions, objectives, arguments.runs)
            print(
                f"{objectives:10} {models:6} {questions:9} {kind:8} {100 * fixed[0]:12.1f} % "
                f"{fixed[1]:5.2f} {100 * default[0]:14.1f} % {default[1]:5.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
