"""The evaluation itself: questions in, graded trajectories out, whatever generates."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from tqdm import tqdm

from paretopo.data.schema import Row
from paretopo.evaluation.asking import Asked, Tools, ask
from paretopo.evaluation.folder import EvaluationFolder
from paretopo.evaluation.grading import Grader
from paretopo.evaluation.settings import EvaluationSettings
from paretopo.rollout import Rollout, Segment, format_answer
from paretopo.run.trajectories import Group, shortened


@dataclass(frozen=True)
class Played:
    """A rollout at its end.

    Attributes:
        prompt: What the model read, rendered.
        segments: What it and its tool wrote, in order.
        written: What it wrote itself.
        tokens: How many tokens that were.
        calls: Tool executions.
        truncated: Did it end for want of room?
    """

    prompt: str
    segments: tuple[Segment, ...]
    written: str
    tokens: int
    calls: int
    truncated: bool


class Play(Protocol):
    """Takes rollouts to their ends, side by side."""

    def __call__(self, asked: Sequence[Asked]) -> list[Played]:
        """One played rollout for each that was asked for."""
        ...


def evaluate(
    folder: EvaluationFolder,
    rows: Sequence[Row],
    settings: EvaluationSettings,
    play: Play,
    tools: Tools,
    grader: Grader,
    *,
    batch: int = 64,
    stopped: Callable[[], bool] = lambda: False,
) -> bool:
    """Ask every question that the folder has no answer to yet, under a progress bar.

    Each question is kept as soon as its batch is graded, so a kill loses one batch. What is sampled
    depends on `settings.seed`, question and sample alone, not on the batch it was in, as far as
    the engine's arithmetic allows.

    Args:
        folder: Keeps the trajectories.
        rows: All questions.
        settings: How they are asked.
        play: Generates.
        tools: What there is to call.
        grader: Says what is right.
        batch: Rollouts at a time.
        stopped: Asked before every batch; True ends the evaluation early.

    Returns:
        Are all questions answered?

    Raises:
        ServerError: A tool's server is gone; what was answered is kept.
    """
    known = {(row.datasource, row.id): row for row in rows}
    solved = calls = responses = 0
    for one in folder.answered():
        known.pop((one.datasource, one.id), None)
        solved, calls = solved + sum(one.solved), calls + sum(one.calls)
        responses += len(one.solved)
    left = list(known.values())
    at_once = max(1, batch // settings.samples)
    with tqdm(
        desc=folder.name, total=len(rows), initial=len(rows) - len(left), unit=" questions"
    ) as bar:
        for start in range(0, len(left), at_once):
            if stopped():
                return False
            for group in _answer(
                left[start : start + at_once], settings, play, tools, grader, batch
            ):
                folder.append(group)
                solved += sum(one.solved for one in group.rollouts)
                calls += sum(one.calls for one in group.rollouts)
                responses += len(group.rollouts)
                bar.update()
            bar.set_postfix_str(f"{solved / responses:.1%} right, {calls / responses:.2f} calls")
    return True


def _answer(
    rows: Sequence[Row],
    settings: EvaluationSettings,
    play: Play,
    tools: Tools,
    grader: Grader,
    batch: int,
) -> list[Group]:
    """The graded responses to some questions."""
    wanted = [(row, sample) for row in rows for sample in range(settings.samples)]
    seeds = [_seed(settings.seed, row, sample) for row, sample in wanted]
    asked = ask([row for row, _ in wanted], seeds, settings, tools)
    played: list[Played] = []
    for start in range(0, len(asked), batch):
        played += play(asked[start : start + batch])
    solved = grader.grade_all([one.row for one in asked], [one.written for one in played])
    answers = []
    for number, row in enumerate(rows):
        own = slice(number * settings.samples, (number + 1) * settings.samples)
        rollouts = tuple(
            Rollout(
                prompt_id=row.id,
                correct=float(right),
                calls=one.calls,
                kind=row.datasource,
                held_out=True,
                tokens=one.tokens,
                truncated=one.truncated,
                prompt=one.prompt,
                answer=format_answer(row.answers),
                segments=one.segments,
            )
            for one, right in zip(played[own], solved[own], strict=True)
        )
        answers.append(shortened(Group(rollouts, objectives=()), _MOST_CHARACTERS))
    return answers


_MOST_CHARACTERS = 200_000  # of a response or a prompt; only what runs wild has more


def _seed(seed: int, row: Row, sample: int) -> int:
    text = f"{seed} {row.datasource} {row.id} {sample}".encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:4], "big") >> 1
