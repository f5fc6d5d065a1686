"""Brains of the OpenRLHF adapter, and groups of rollouts for them."""

from __future__ import annotations

from paretopo.config import loads
from paretopo.integrations.openrlhf.brain import Brain
from paretopo.integrations.openrlhf.rollouts import Rollout
from paretopo.run.records import RunFolder


def brain_of(tmp_path, text="", **keywords) -> tuple[Brain, RunFolder]:
    run = RunFolder.create(tmp_path, loads("[paretopo]\nstage1_steps = 1\n" + text))
    return Brain(str(run.path), 64, **keywords), run


def group(calls, correct, tokens=10) -> list[Rollout]:
    return [
        Rollout("q", "one", float(right), count, tokens=tokens)
        for count, right in zip(calls, correct, strict=True)
    ]


def scored(brain, rollouts):
    economy, _ = brain.score(rollouts)
    return [
        Rollout(one.prompt_id, one.kind, one.correct, one.calls, paid, one.tokens)
        for one, paid in zip(rollouts, economy, strict=True)
    ]
