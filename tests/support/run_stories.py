"""Made-up trainings and evaluations whose folders look like real ones."""

from __future__ import annotations

import math

from paretopo.config import from_table
from paretopo.records.folder import RunFolder
from paretopo.records.trajectories import Group
from paretopo.rollout import Rollout, Segment
from paretopo_lab.evaluate.folder import EvaluationFolder, identity_of
from paretopo_lab.evaluate.settings import EvaluationSettings


def tell(out, *, seed=0, recipe="recommended", steps=6, stage_1=3, status="finished") -> RunFolder:
    """A run from 50 % at 2 calls towards 90 % at 1 call."""
    run = RunFolder.create(
        out, from_table({"recipe": recipe, "seed": seed}), command=["paretopo", "train"]
    )
    evaluate(run, 0, "pretrained", accuracy=0.0, calls=0.0, tokens=100.0)
    evaluate(run, 0, "warmup", accuracy=0.5, calls=2.0, tokens=60.0)
    for step in range(1, steps + 1):
        stage, done = (1 if step <= stage_1 else 2), step / steps
        run.append_step(
            {
                "step": step,
                "stage": stage,
                "solved": 0.5 + 0.35 * done,
                "measured": {"correct": 0.5 + 0.35 * done, "calls": 2.1 - done},
                "response_tokens": 62.0 - 20 * done,
                "multiplier": 0.5 + 1 / (step + 1),
                "loss": math.nan,
            }
        )
        phase = "final" if step == steps else "train"
        evaluate(run, step, phase, 0.5 + 0.4 * done, 2.0 - done, 60.0 - 20 * done)
    run.finish(status)
    return run


def evaluate(run, step, phase, accuracy, calls, tokens):
    economy = accuracy * math.exp(-0.7 * abs(calls - 1))
    run.append_evaluation(
        {
            "step": step,
            "phase": phase,
            "solved": accuracy,
            "measured": {"correct": accuracy, "calls": calls},
            "rewards": {"correct": accuracy, "calls": economy},
            "outcome": {"correct": accuracy, "calls": economy},
            "response_tokens": tokens,
            "archive_size": 2,
            "hypervolume": accuracy * economy,
            "by_kind": {
                "direct": {"measured": {"correct": accuracy, "calls": calls / 2}},
                "two calls": {"measured": {"correct": accuracy, "calls": calls * 1.5}},
            },
        }
    )


def answer_all(path, name, data, **settings):
    """An evaluation's folder.

    `data` is {data set: {question: [(solved, calls), … one for each sample]}}.
    """
    chosen = EvaluationSettings(name, **settings)
    questions = sum(map(len, data.values()))
    identity = identity_of(chosen, [], None)
    folder = EvaluationFolder.start(path, identity, name=name, questions=questions)
    for datasource, answers in data.items():
        for question, samples in answers.items():
            rollouts = tuple(
                Rollout(
                    question,
                    {"correct": float(solved), "calls": float(calls)},
                    solved=bool(solved),
                    kind=datasource,
                    held_out=True,
                    tokens=100,
                    prompt="?",
                    answer="!",
                    segments=(Segment("model", "so"),),
                )
                for solved, calls in samples
            )
            folder.append(Group(rollouts))
    folder.finish()
    return folder
