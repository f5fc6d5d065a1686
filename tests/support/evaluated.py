"""Made-up evaluations whose folders look like real ones."""

from __future__ import annotations

from paretopo.evaluation.folder import EvaluationFolder, identity_of
from paretopo.evaluation.settings import EvaluationSettings
from paretopo.run.trajectories import Group, Rollout, Segment


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
                Rollout((Segment("model", "so"),), solved=solved, calls=calls)
                for solved, calls in samples
            )
            group = Group(question, "?", "!", rollouts, held_out=True, kind=datasource)
            folder.append(group, [100] * len(samples))
    folder.finish(status)
    return folder


def spread(questions, solved, calls):
    """Answers to so many questions, `solved` of them right, with `calls` in all."""
    each, rest = divmod(calls, questions)
    return {
        f"q{number}": [(number < solved, each + (number < rest))] for number in range(questions)
    }
