"""Made-up trainings on any number of objectives, as their records tell them."""

from __future__ import annotations

import math

from paretopo.config import loads
from paretopo.records.folder import RunFolder

# Name, value at the start, value at the end. For measures other than ours, more is better.
OBJECTIVES = (
    ("correct", 0.5, 0.9),
    ("calls", 3.0, 1.0),
    ("tokens", 400.0, 200.0),
    ("polite", 0.75, 0.25),
    ("seconds", 6.0, 2.0),
    ("grounded", -1.0, 2.0),
    ("dollars", 0.012, 0.004),
    ("turns", 4.0, 2.0),
)
_FEWER = {"calls", "tokens", "seconds", "dollars", "turns"}


def tell_objectives(out, names, *, seed=0, steps=6, every=2) -> RunFolder:
    """A run whose objectives go straight from start to end, but for a wave in all but the first."""
    tables = "".join(f'[[objectives]]\nname = "{name}"\n' for name in names)
    config = loads(f"seed = {seed}\n{tables}", {"paretopo.stage2_estimator": "gd2po"})
    run = RunFolder.create(out, config, command=["paretopo", "train"], method="recommended")
    for step in range(steps + 1):
        measured = measure_at(step / steps, names, seed)
        rewards = {name: -value if name in _FEWER else value for name, value in measured.items()}
        means = {"measured": measured, "rewards": rewards}
        length = {"response_tokens": 100.0 - step}
        if step:
            stage = 1 if 2 * step <= steps else 2
            row = {"step": step, "stage": stage, "multiplier": 0.5 + 1 / step}
            run.append_step(row | means | length)
        if step % every:
            continue
        phase = "pretrained" if step == 0 else "final" if step == steps else "train"
        run.append_evaluation(
            {
                "step": step,
                "phase": phase,
                "solved": measured.get("correct"),
                "outcome": rewards,
                "hypervolume": step / steps,
                "archive_size": 3,
                "by_kind": {"easy": means, "hard": means},
                **means,
                **length,
            }
        )
    run.finish()
    return run


def names_of(count):
    """The first so many objectives."""
    return [name for name, _, _ in OBJECTIVES[:count]]


def measure_at(done, names, seed=0):
    """The measures when a share of the training is done."""
    ends = {name: (start, end) for name, start, end in OBJECTIVES}
    measured = {}
    for number, name in enumerate(names):
        start, end = ends[name]
        wave = 0.2 * number * math.sin(math.pi * done * (number + 1))
        measured[name] = start + (end - start) * (done * (1 + 0.01 * seed) + wave)
    return measured
