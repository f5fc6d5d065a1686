"""The two objectives as TRL reward functions: is the answer right, were the calls few."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from accelerate.utils import gather_object
from numpy.typing import NDArray

from paretopo_core.training.rewards.held_out import HeldOut
from paretopo_core.training.rewards.tool_calls import CallMinimum, tool_economy
from paretopo_core.training.sections import RewardsConfig

Message = dict[str, Any]
Completion = list[Message] | str


@dataclass(frozen=True)
class Scored:
    """One scored rollout.

    Attributes:
        row: Its row in the data set.
        id: Its prompt; several rows can hold the same prompt.
        held_out: Is it from the held-out data set?
        kind: The kind of question.
        solved: Was the answer right?
        calls: Tool executions.
    """

    row: int
    id: str
    held_out: bool
    kind: str
    solved: bool
    calls: int


class CallRewards:
    """`correct` and `economy` for the same rollouts, with the fewest calls known per prompt.

    TRL calls both functions for each batch, in every process with that process's rollouts. The
    fewest calls of a prompt are those of all its rollouts, so they are gathered first.

    The data set needs the columns row, id, kind, answer and held_out. Completions are messages, or
    texts where a protocol in plain text made them; then `calls` counts the tool executions.

    Args:
        config: Fall per call, scope and support of the minimum, what held-out minima do.
        is_correct: (response, answer) -> does the response give the answer?

    Attributes:
        scored: The rollouts of the latest batch, those of all processes, in TRL's order.
    """

    def __init__(self, config: RewardsConfig, is_correct: Callable[[str, str], bool]) -> None:
        self._config = config
        self._is_correct = is_correct
        support = config.n_opt_min_support
        # A held-out question has one answer per evaluation: by itself it would always be the best.
        self._minima = {
            False: CallMinimum(scope=config.n_opt_scope, min_support=support),
            True: CallMinimum(scope="running", min_support=support),
        }
        self._held_out = HeldOut(alpha=config.alpha, min_support=config.n_opt_min_support)
        self._frozen = False
        self.scored: list[Scored] = []

    def correct(
        self, completions: Sequence[Completion], answer: Sequence[str], **_: Any
    ) -> list[float]:
        """1.0 where the text or its last message answers rightly, else 0.0; one per completion."""
        return [
            float(self._solved(messages, right))
            for messages, right in zip(completions, answer, strict=True)
        ]

    def economy(
        self,
        completions: Sequence[Completion],
        answer: Sequence[str],
        row: Sequence[int],
        id: Sequence[str],
        kind: Sequence[str],
        held_out: Sequence[bool],
        calls: Sequence[int] | None = None,
        **_: Any,
    ) -> list[float]:
        """`exp(-alpha * |calls - fewest|)`; the rollouts at hand count towards the fewest."""
        if calls is None:
            calls = [calls_made(completion) for completion in completions]
        local = [
            Scored(at, name, held, of_kind, self._solved(completion, right), count)
            for completion, right, at, name, of_kind, held, count in zip(
                completions, answer, row, id, kind, held_out, calls, strict=True
            )
        ]
        self.scored = gather_object(local)
        self._learn(self.scored)
        return [self._economy(rollout) for rollout in local]

    def evaluated(
        self, rollouts: Sequence[Scored], vectors: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Take a whole evaluation in, and score it as `evaluation_n_opt` says.

        Args:
            rollouts: One per held-out row.
            vectors: (rows, 2) as the reward functions scored them.

        Returns:
            The vectors to go by, (rows, 2); with "recompute", where this evaluation changed the
            score of earlier ones, also all of theirs, (evaluations, rows, 2), else None.
        """
        self._frozen = self._config.evaluation_n_opt == "frozen"
        if self._config.evaluation_n_opt != "recompute":
            return vectors, None
        before = self._held_out.vectors()
        self._held_out.add(
            [f"{one.row}: {one.id}" for one in rollouts],  # several rows can ask one fact
            [one.calls for one in rollouts],
            [one.solved for one in rollouts],
        )
        *earlier, latest = self._held_out.vectors()
        changed = not np.array_equal(before, np.reshape(earlier, before.shape))
        return latest, np.array(earlier) if changed else None

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to continue, JSON-able."""
        return {
            "training": self._minima[False].state_dict(),
            "held_out": self._minima[True].state_dict(),
            "evaluations": self._held_out.state_dict(),
            "frozen": self._frozen,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from :meth:`state_dict`."""
        self._minima[False].load_state_dict(state["training"])
        self._minima[True].load_state_dict(state["held_out"])
        self._held_out.load_state_dict(state["evaluations"])
        self._frozen = bool(state["frozen"])

    def _solved(self, messages: Completion, answer: str) -> bool:
        """A response that ends in a tool call or its result gave no answer."""
        if isinstance(messages, str):
            return self._is_correct(messages, answer)
        if not messages or messages[-1]["role"] != "assistant" or messages[-1].get("tool_calls"):
            return False
        return self._is_correct(messages[-1]["content"], answer)

    def _learn(self, rollouts: Sequence[Scored]) -> None:
        by_prompt: dict[tuple[bool, str], list[Scored]] = {}
        for rollout in rollouts:
            by_prompt.setdefault((rollout.held_out, rollout.id), []).append(rollout)
        for (held_out, name), group in by_prompt.items():
            if not (held_out and self._frozen):
                self._minima[held_out].update(
                    name, [one.calls for one in group], [one.solved for one in group]
                )

    def _economy(self, rollout: Scored) -> float:
        fewest = self._minima[rollout.held_out].n_opt(rollout.id)
        return float(tool_economy(np.array([rollout.calls]), fewest, self._config.alpha)[0])


def calls_made(messages: Completion) -> int:
    """Tool executions in a response; each leaves one message of role "tool".

    Raises:
        ValueError: The response is a text, which does not tell.

    >>> calls_made([{"role": "assistant"}, {"role": "tool"}, {"role": "assistant"}])
    1
    """
    if isinstance(messages, str):
        raise ValueError("calls of a text are not to be seen: the rollouts must hand over `calls`")
    return sum(message["role"] == "tool" for message in messages)
