"""The evaluation itself: from questions to graded trajectories, with any generator."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from paretopo.progress import make_bar
from paretopo.records.schema import Example
from paretopo.records.trajectories import Group, shorten
from paretopo.rollout import Rollout, Segment, format_answer
from paretopo_lab.evaluate.folder import EvaluationFolder
from paretopo_lab.evaluate.grading import Grader
from paretopo_lab.evaluate.prompting import RolloutRequest, Tools, make_requests
from paretopo_lab.evaluate.settings import EvaluationSettings

_MOST_CHARACTERS = 200_000  # of a response or a prompt; only a runaway response has more


@dataclass(frozen=True)
class RolloutResult:
    """A finished rollout, not graded yet.

    Attributes:
        prompt: The prompt as the model reads it.
        segments: The texts of the model and its tool, in order.
        written: The model's own text.
        tokens: Number of its tokens.
        calls: Tool executions.
        truncated: True if the response ran out of room.
    """

    prompt: str
    segments: tuple[Segment, ...]
    written: str
    tokens: int
    calls: int
    truncated: bool


RunRollouts = Callable[[Sequence[RolloutRequest]], list[RolloutResult]]


def evaluate(
    folder: EvaluationFolder,
    rows: Sequence[Example],
    settings: EvaluationSettings,
    run_rollouts: RunRollouts,
    tools: Tools,
    grader: Grader,
    *,
    batch: int = 64,
    should_stop: Callable[[], bool] = lambda: False,
) -> bool:
    """Ask every question without an answer in the folder, under a progress bar.

    Each question is saved as soon as its batch is graded, so a kill loses one batch. Samples depend
    only on `settings.seed`, question and sample number, not on the batch, as far as the engine's
    arithmetic allows.

    Args:
        folder: Keeps the trajectories.
        rows: All questions.
        settings: Their prompts and sampling.
        run_rollouts: Runs rollouts to their ends, concurrently; one for each request.
        tools: The available tools.
        grader: Grades the answers.
        batch: Number of rollouts in a batch.
        should_stop: Called before every batch; True ends the evaluation early.

    Returns:
        True if all questions are answered.

    Raises:
        ServerError: A tool's server does not answer; finished answers are kept.
    """
    known = {(row.datasource, row.id): row for row in rows}
    solved = calls = responses = 0
    for one in folder.read_answers():
        known.pop((one.datasource, one.id), None)
        solved, calls = solved + one.solved.count(True), calls + sum(one.calls)
        responses += len(one.solved)
    left = list(known.values())
    at_once = max(1, batch // settings.samples)
    with make_bar(
        desc=folder.name, total=len(rows), initial=len(rows) - len(left), unit=" questions"
    ) as bar:
        for start in range(0, len(left), at_once):
            if should_stop():
                return False
            for group in _answer_questions(
                left[start : start + at_once], settings, run_rollouts, tools, grader, batch
            ):
                folder.append(group)
                solved += sum(bool(one.solved) for one in group.rollouts)
                calls += sum(int(one.reward_components["calls"] or 0) for one in group.rollouts)
                responses += len(group.rollouts)
                bar.update()
            bar.set_postfix_str(f"{solved / responses:.1%} right, {calls / responses:.2f} calls")
    return True


def _answer_questions(
    rows: Sequence[Example],
    settings: EvaluationSettings,
    run_rollouts: RunRollouts,
    tools: Tools,
    grader: Grader,
    batch: int,
) -> list[Group]:
    """Return the graded responses to some questions."""
    wanted = [(row, sample) for row in rows for sample in range(settings.samples)]
    seeds = [_derive_seed(settings.seed, row, sample) for row, sample in wanted]
    requests = make_requests([row for row, _ in wanted], seeds, settings, tools)
    finished: list[RolloutResult] = []
    for start in range(0, len(requests), batch):
        finished += run_rollouts(requests[start : start + batch])
    solved = grader.grade_all([one.row for one in requests], [one.written for one in finished])
    answers = []
    for number, row in enumerate(rows):
        own = slice(number * settings.samples, (number + 1) * settings.samples)
        rollouts = tuple(
            Rollout(
                prompt_id=row.id,
                reward_components={
                    "correct": None if right is None else float(right),
                    "calls": float(one.calls),
                },
                solved=bool(right),
                kind=row.datasource,
                held_out=True,
                tokens=one.tokens,
                truncated=one.truncated,
                prompt=one.prompt,
                answer=format_answer(row.answers),
                segments=one.segments,
            )
            for one, right in zip(finished[own], solved[own], strict=True)
        )
        answers.append(shorten(Group(rollouts, objectives=()), _MOST_CHARACTERS))
    return answers


def _derive_seed(seed: int, row: Example, sample: int) -> int:
    text = f"{seed} {row.datasource} {row.id} {sample}".encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:4], "big") >> 1
