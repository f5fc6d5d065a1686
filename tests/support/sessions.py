"""Sessions in a folder of the test, and groups of rollouts for them."""

from __future__ import annotations

import json

from paretopo.config import loads
from paretopo.records.folder import RunFolder
from paretopo.rollout import Rollout
from paretopo.session import Session


def new_session(tmp_path, text="", *, kind=Session, prompts=64, **settings) -> Session:
    """A session of a fresh run: one step of stage 1, then stage 2, or as `settings` say."""
    overrides = {name.replace("__", "."): value for name, value in settings.items()}
    config = loads("[paretopo]\nstage1_steps = 1\n" + text, overrides)
    run = RunFolder.create(tmp_path, config)
    return kind(run, prompts=prompts, steps_per_epoch=prompts // config.optimiser.prompts_per_step)


def group(calls, correct, tokens=10, prompt_id="q") -> list[Rollout]:
    return [
        Rollout(prompt_id, {"correct": float(right), "calls": n}, kind="one", tokens=tokens)
        for n, right in zip(calls, correct, strict=True)
    ]


def score(session, rollouts) -> list[Rollout]:
    """The rollouts of one group with their rewards."""
    [scored] = session.score([rollouts])
    return list(scored.rollouts)


def read_records(folder) -> dict[str, list[dict]]:
    """The rows of a run's three files, without the seconds of the clock."""
    rows = {}
    for name in ("steps", "evaluations", "trajectories"):
        lines = (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        rows[name] = [json.loads(line) for line in lines]
        for row in rows[name]:
            row.pop("seconds", None)
    return rows
