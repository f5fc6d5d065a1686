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
from research.agent import QUESTIONS, Adam
from research.tables import TabularTask
from research.tasks import TASKS

Floats = NDArray[np.float64]
MEASURES = ("hypervolume", "preference")
STEPS = (400, 1200)
WEIGHTS = (0.5, 0.6)  # of correctness
METHODS = ("rloo", "worth")
SEEDS = {"tune": range(3), "fresh": range(770, 776)}
RECORDS = Path(__file__).with_suffix("") / "records.json.xz"


def train(
    task: TabularTask, estimator: str, seeds: Sequence[int], steps: Sequence[int] = STEPS
) -> Floats:
    """Train a policy for each pair of weights and seed; return their scores.

    Args:
        task: The questions; ``named`` gives each kind a price of its own.
        estimator: "rloo" or "worth", on gated savings, of which the least counts.
        seeds: One policy for each.
        steps: Steps after which the policies are scored.

    Returns:
        (weights, seeds, steps, measures) shares of the best policy's score.
    """
    rng = np.random.default_rng([seeds[0], *task.name.encode()])
    rows, kinds = task.policy_rows, len(task.success)
    at = np.arange(kinds)[:, None, None]
    start = 0.3 * rng.standard_normal((len(seeds), rows.max() + 1, task.ways))
    start += 0.0 if task.start is None else task.start
    logits = np.tile(start, (len(WEIGHTS), 1, 1))
    first = np.repeat(WEIGHTS, len(seeds) * kinds * QUESTIONS)
    costs_count = task.objectives - 1
    weights = np.stack([first, *[(1.0 - first) / costs_count] * costs_count], axis=-1)
    unit, optimiser = task.units[seeds[0] % len(task.units)], Adam(logits.shape)
    prices: dict[tuple[int, ...], SuccessPrice] = {}
    each = np.eye(task.ways)
    scores = []
    for step in range(1, max(steps) + 1):
        policy = _softmax(logits)[:, rows, None]
        draws = rng.random((len(logits), kinds, QUESTIONS, task.group, 1))
        chosen = (draws > policy.cumsum(axis=-1)[:, :, :, None, :-1]).sum(axis=-1)
        success = task.success_at(step)[at, chosen][..., None]
        right = (rng.random((*chosen.shape, task.parts)) < success).mean(axis=-1)
        costs = unit.draw(task.costs[at, chosen], rng)
        saved = _save(costs, right, prices, named=task.named)
        vectors = np.concatenate([right[..., None], saved], axis=-1)
        vectors = vectors.reshape(-1, task.group, task.objectives)
        gated = apply_gate(vectors, "success", ("worst",) * costs_count)
        inside = np.ones(gated.shape[:2], np.bool_)
        least, shares = keep_least_economy(gated, weights)
        advantages = ESTIMATORS[estimator](least, shares, mask=inside).reshape(chosen.shape)
        moves = advantages[..., None] * (each[chosen] - policy[:, :, :, None])
        gradient = np.zeros_like(logits)
        np.add.at(gradient, (slice(None), rows), moves.mean(axis=(2, 3)))
        logits += optimiser.step(gradient)
        if step in steps:
            scores.append(
                [[task.score(one, name, step) for name in MEASURES] for one in _softmax(logits)]
            )
    return np.array(scores).reshape(len(steps), len(WEIGHTS), len(seeds), -1).transpose(1, 2, 0, 3)


def _softmax(logits: Floats) -> Floats:
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    policy: Floats = weights / weights.sum(axis=-1, keepdims=True)
    return policy


def _save(
    costs: Floats, right: Floats, prices: dict[tuple[int, ...], SuccessPrice], *, named: bool
) -> Floats:
    """Return the saved shares, (policies, kinds, questions, group, costs)."""
    saved = np.empty(costs.shape)
    kinds = range(costs.shape[1]) if named else (slice(None),)
    for policy in range(len(costs)):
        for number, kind in enumerate(kinds):
            for cost in range(costs.shape[-1]):
                price = prices.setdefault((policy, number, cost), SuccessPrice())
                paid, solved = costs[policy, kind, ..., cost], right[policy, kind]
                price.update(paid, solved)
                share = saving(paid, price.of_groups(paid, solved)[..., None])
                saved[policy, kind, ..., cost] = share
    return saved


def load() -> dict[str, dict[str, Any]]:
    """Return the records: task → method → scores as :func:`train` returns them."""
    if not RECORDS.exists():
        return {}
    records: dict[str, dict[str, Any]] = json.loads(lzma.decompress(RECORDS.read_bytes()))
    return records


def fill(tasks: str) -> None:
    """Train what has no record yet, on the tasks whose names begin with this word."""
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


def tabulate(records: Mapping[str, Mapping[str, Any]], tasks: str, *, step: int) -> list[str]:
    """Return rows of a table: worst case and mean over tasks, in %, by both measures.

    Args:
        records: As :func:`load` returns them.
        tasks: Begin of the names of the tasks, which also come with named kinds.
        step: 0 for the scores after the first of the steps, 1 for the second.
    """
    rows = []
    for named in (False, True):
        of_kind = [
            by_method
            for name, by_method in records.items()
            if name.startswith(tasks) and name.endswith("_named") == named
        ]
        for method in METHODS:
            scores = 100.0 * np.array([one[method] for one in of_kind])[:, :, :, step]
            for at, weight in enumerate(WEIGHTS):
                cells = []
                for measure in range(len(MEASURES)):
                    one = scores[:, at, :, measure]
                    worst = one.min(axis=0)
                    cells += [f"{worst.mean():.1f} ± {worst.std(ddof=1):.1f}", f"{one.mean():.1f}"]
                price = "of its kind" if named else "of all"
                rows.append(f"| `{method}` | {weight} | {price} | {' | '.join(cells)} |")
    return rows


def main() -> None:
    """Print the tables; with ``--train``, train first."""
    parser = argparse.ArgumentParser(description="Choose and judge the recommended recipe.")
    parser.add_argument("--train", choices=sorted(SEEDS), help="train what has no record")
    arguments = parser.parse_args()
    if arguments.train:
        fill(arguments.train)
    for tasks, step in (("tune", 0), ("fresh", 0), ("fresh", 1)):
        if any(name.startswith(tasks) for name in load()):
            print(f"{tasks}, {STEPS[step]} steps", *tabulate(load(), tasks, step=step), sep="\n")


if __name__ == "__main__":
    main()
