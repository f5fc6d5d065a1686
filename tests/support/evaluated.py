"""Made-up evaluations whose folders look like real ones."""

from __future__ import annotations

from paretopo.evaluation.folder import EvaluationFolder, identity_of
from paretopo.evaluation.settings import EvaluationSettings
from paretopo.rollout import Rollout, Segment
from paretopo.run.trajectories import Group


def answer_all(path, name, data, *, status="finished", **settings):
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
                    float(solved),
                    calls,
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
    folder.finish(status)
    return folder


def spread(questions, solved, calls):
    """Answers to so many questions, `solved` of them right, with `calls` in all."""
    each, rest = divmod(calls, questions)
    return {
        f"q{number}": [(number < solved, each + (number < rest))] for number in range(questions)
    }
