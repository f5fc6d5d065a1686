"""The choice of the recommended recipe: candidates on tuning tasks, then judged on fresh tables.

All candidates with one estimator train as one array, with all seeds. ``python -m research.recipe``
prints the tables of research/recipe.md from the records; ``--train`` first makes missing records.
"""

from __future__ import annotations

import argparse
import json
import lzma
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paretopo.controller.estimators import ESTIMATORS
from paretopo.controller.gate import apply_gate, keep_least_economy
from paretopo.rewards.economy import saving
from paretopo.rewards.learnt_costs import SuccessPrice
from paretopo_lab.statistics.intervals import sign_flips
from research.agent import QUESTIONS, Adam, softmax
from research.tables import Measure, TabularTask
from research.tasks import TASKS

Floats = NDArray[np.float64]
Candidate = tuple[str, float, bool]  # method, weight of correctness, a price for each kind
MEASURES: tuple[Measure, ...] = ("hypervolume", "preference")
STEPS = (400, 1200)
WEIGHTS = (0.5, 0.6)  # of correctness
METHODS = ("rloo", "worth")
SEEDS = {"tune": range(3), "fresh": range(770, 776)}
MARGIN, LEVEL = 1.0, 0.05  # points, p
RECORDS = Path(__file__).with_suffix("") / "records.json.xz"


def train(
    task: TabularTask, estimator: str, seeds: Sequence[int], steps: Sequence[int] = STEPS
) -> Floats:
    """Train a policy for each pair of weights and seed; return their scores.

    Args:
        task: The questions; ``named`` gives each kind a price of its own.
        estimator: "rloo" or "worth", on gated savings; only the least counts.
        seeds: One policy for each.
        steps: Steps after which the policies are scored.

    Returns:
        (weights, seeds, steps, measures) shares of the best policy's score.
    """
    rng = np.random.default_rng([seeds[0], *task.name.removesuffix("_named").encode()])
    rows, kinds = task.policy_rows, len(task.success)
    at = np.arange(kinds)[:, None, None]
    start = 0.3 * rng.standard_normal((len(seeds), rows.max() + 1, task.ways))
    start += 0.0 if task.start is None else task.start
    logits = np.tile(start, (len(WEIGHTS), 1, 1))
    first = np.repeat(WEIGHTS, len(seeds) * kinds * QUESTIONS)
    costs_count = task.objectives - 1
    weights = np.stack([first, *[(1.0 - first) / costs_count] * costs_count], axis=-1)
    unit, optimiser = task.units[seeds[0] % len(task.units)], Adam(logits.shape)
    shape = len(logits) * (kinds if task.named else 1), -1, task.group
    prices = [Prices(shape[0]) for _ in range(costs_count)]
    each, answered = np.eye(task.ways), np.eye(rows.max() + 1)[rows]  # kinds by rows
    scores = []
    for step in range(1, max(steps) + 1):
        policy = softmax(logits)[:, rows, None]
        draws = rng.random((len(logits), kinds, QUESTIONS, task.group, 1))
        chosen = (draws > policy.cumsum(axis=-1)[:, :, :, None, :-1]).sum(axis=-1)
        success = task.success_at(step)[at, chosen][..., None]
        right = (rng.random((*chosen.shape, task.parts)) < success).mean(axis=-1)
        costs = unit.draw(task.costs[at, chosen], rng)
        vectors = [right]
        for price, paid in zip(prices, np.moveaxis(costs, -1, 0), strict=True):
            of_groups = price.learn(paid.reshape(shape), right.reshape(shape))
            vectors.append(saving(paid, of_groups.reshape(*paid.shape[:-1], 1)))
        rewards = np.stack(vectors, axis=-1).reshape(-1, task.group, task.objectives)
        gated = apply_gate(rewards, "success", ["worst"] * costs_count)
        inside = np.ones(gated.shape[:2], np.bool_)
        least, shares = keep_least_economy(gated, weights)
        advantages = ESTIMATORS[estimator](least, shares, mask=inside).reshape(chosen.shape)
        moves = advantages[..., None] * (each[chosen] - policy[:, :, :, None])
        logits += optimiser.step(np.einsum("kr,pkw->prw", answered, moves.mean(axis=(2, 3))))
        if step in steps:
            scores.append(
                [[task.score(one, name, step) for name in MEASURES] for one in softmax(logits)]
            )
    return np.array(scores).reshape(len(steps), len(WEIGHTS), len(seeds), -1).transpose(1, 2, 0, 3)


class Prices:
    """Many prices of the class `SuccessPrice`, as arrays; a test compares the two.

    Args:
        count: Number of prices.
    """

    def __init__(self, count: int) -> None:
        self._one = SuccessPrice()
        self._latest = np.full((count, self._one.groups), np.inf)
        self._seen = np.zeros(count, np.int64)
        self.values = np.zeros(count)

    def learn(self, costs: Floats, right: Floats) -> Floats:
        """Learn from groups, (prices, groups, points); return the price of each group."""
        solved = right > 0.0
        dearest = np.max(costs, axis=-1, where=solved, initial=0.0)
        known = self._seen >= self._one.groups
        for paid in dearest.T:
            [some] = np.nonzero(paid > 0.0)
            self._latest[some, self._seen[some] % self._one.groups] = paid[some]
            self._seen[some] += 1
        ordered = np.where(self._seen[:, None] > 0, np.sort(self._latest, axis=-1), 0.0)
        last = np.clip(self._seen, 1, self._one.groups) - 1
        below, share = np.divmod(self._one.quantile * last, 1.0)
        each, low = np.arange(len(last)), below.astype(np.int64)
        first, second = ordered[each, low], ordered[each, np.minimum(low + 1, last)]
        now = first + share * (second - first)
        self.values = np.where(known, np.maximum(now, self.values), now)
        several = np.where(solved.sum(axis=-1) > 1, dearest, 0.0)
        prices: Floats = np.maximum(self.values[:, None], several)
        return prices


def load() -> dict[str, dict[str, Any]]:
    """Return the records: task → method → scores as :func:`train` returns them."""
    if not RECORDS.exists():
        return {}
    records: dict[str, dict[str, Any]] = json.loads(lzma.decompress(RECORDS.read_bytes()))
    return records


def fill(tasks: str) -> None:
    """Train the methods without records, on the tasks whose names begin with this word."""
    RECORDS.parent.mkdir(exist_ok=True)
    steps = STEPS if tasks == "fresh" else STEPS[:1]
    for name, task in TASKS.items():
        for method in METHODS:
            records = load()
            if name.startswith(tasks) and method not in records.get(name, {}):
                scores = train(task, method, SEEDS[tasks], steps)
                records.setdefault(name, {})[method] = scores.round(4).tolist()
                RECORDS.write_bytes(lzma.compress(json.dumps(records).encode()))
                print(name, method, (100.0 * scores.mean(axis=1)).round(1).tolist(), flush=True)


def collect(
    records: Mapping[str, Mapping[str, Any]], tasks: str, *, step: int
) -> dict[Candidate, Floats]:
    """Return the scores of each candidate, in % of the best policy's.

    Args:
        records: As :func:`load` returns them.
        tasks: Begin of the names of the tasks.
        step: 0 for the scores after the first of the steps, 1 for the second.

    Returns:
        Candidate → (measures, 2, seeds), worst case and mean over the tasks.
    """
    found = {}
    for named in (False, True):
        names = [one for one in records if one.startswith(tasks)]
        names = [one for one in names if one.endswith("_named") == named]
        for method in METHODS:
            scores = 100.0 * np.array([records[one][method] for one in names])[:, :, :, step]
            for at, weight in enumerate(WEIGHTS):
                one = scores[:, at].transpose(2, 0, 1)
                found[method, weight, named] = np.stack([one.min(axis=1), one.mean(axis=1)], axis=1)
    return found


def tabulate(records: Mapping[str, Mapping[str, Any]], tasks: str, *, step: int) -> list[str]:
    """Return rows of a table: by both measures, worst case and mean; see :func:`collect`."""
    rows = []
    for (method, weight, named), scores in collect(records, tasks, step=step).items():
        cells = [
            cell
            for worst, mean in scores
            for cell in (f"{worst.mean():.1f} ± {worst.std(ddof=1):.1f}", f"{mean.mean():.1f}")
        ]
        price = "of its kind" if named else "of all"
        rows.append(f"| `{method}` | {weight} | {price} | {' | '.join(cells)} |")
    return rows


def is_worse(one: Floats, other: Floats) -> bool:
    """Return whether scores, (seeds,), are worse by the criterion of research/recipe.md."""
    gaps = one - other
    return bool(gaps.mean() < -MARGIN and sign_flips(gaps) < LEVEL)


def find_worse(records: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the scores on fresh tables that speak against the choice, by the criterion."""
    found = []
    for step, count in enumerate(STEPS):
        scores = collect(records, "fresh", step=step)
        pairs: list[tuple[Candidate, Candidate, tuple[int, ...]]] = [
            (("rloo", 0.5, named), ("worth", 0.5, named), (0, 1)) for named in (False, True)
        ]
        if count == max(STEPS):
            pairs.append((("rloo", 0.5, True), ("rloo", 0.5, False), (1,)))
        for ours, theirs, rows in pairs:
            found += [
                f"{ours} against {theirs}: {('worst case', 'mean')[row]} of {name}, {count} steps"
                for at, name in enumerate(MEASURES)
                for row in rows
                if is_worse(scores[ours][at, row], scores[theirs][at, row])
            ]
    return found


def main() -> None:
    """Print the tables; with ``--train``, train first."""
    parser = argparse.ArgumentParser(description="Choose and judge the recommended recipe.")
    parser.add_argument("--train", choices=sorted(SEEDS), help="make missing records")
    arguments = parser.parse_args()
    if arguments.train:
        fill(arguments.train)
    for tasks, step in (("tune", 0), ("fresh", 0), ("fresh", 1)):
        if any(name.startswith(tasks) for name in load()):
            print(f"{tasks}, {STEPS[step]} steps", *tabulate(load(), tasks, step=step), sep="\n")
    print("against the choice:", *(find_worse(load()) or ["nothing"]), sep="\n")


if __name__ == "__main__":
    main()
