"""The rewards of a training script of one's own: its functions' numbers, checked, as rollouts."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from accelerate.utils import gather_object
from numpy.typing import NDArray

from paretopo.integrations.trl.rewards import count_turns
from paretopo.integrations.trl.trainer import ParetoGRPOTrainer, name_prompt
from paretopo.rollout import BadRollout, Rollout

_HANDED_OVER = ("calls", "turns", "seconds")  # by a `rollout_func`, a number for each rollout


class ScriptRewards:
    """The rollouts of a script's trainer, with what its reward functions say.

    Args:
        trainer: Its latest batch is taken.
        objectives: Names of the rewards that are taken; others are watched alone.

    Attributes:
        rollouts: Those of the latest batch, of all processes, in TRL's order, not scored.
        rows: For each of them, its number in the evaluation at hand.
    """

    def __init__(self, trainer: ParetoGRPOTrainer, objectives: Sequence[str]) -> None:
        self._trainer = trainer
        self._columns = {
            name: at for at, name in enumerate(trainer.reward_func_names) if name in objectives
        }
        self.rollouts: list[Rollout] = []
        self.rows: list[int] = []
        self._arrived = 0

    def take(self, rewards: NDArray[np.float64]) -> None:
        """Take a batch in.

        Args:
            rewards: (rollouts of all processes, reward functions), NaN where one does not apply.
        """
        trainer, inputs = self._trainer, self._trainer.generated.inputs
        held_out = not trainer.model.training
        start = trainer.accelerator.process_index * len(inputs)
        local = []
        for at, (row, completion) in enumerate(
            zip(inputs, trainer.generated.completions, strict=True)
        ):
            given = rewards[start + at].tolist()
            components: dict[str, float | None] = {
                **count_turns(completion),
                **{name: row[name] for name in _HANDED_OVER if row.get(name) is not None},
                **{
                    name: None if math.isnan(given[column]) else given[column]
                    for name, column in self._columns.items()
                },
            }
            kind = row.get("kind")
            local.append(
                Rollout(
                    name_prompt(row),
                    components,
                    kind=kind if isinstance(kind, str) else "all",
                    held_out=held_out,
                )
            )
        self.rollouts = gather_object(local)
        self.rows = list(range(self._arrived, self._arrived + len(self.rollouts)))
        if held_out:
            self._arrived += len(self.rollouts)
            # The last batch of several processes is filled with rollouts of the first rows.
            most = len(trainer.eval_dataset) * trainer.num_generations_eval
            self.rows = [row if row < most else row - most for row in self.rows]

    def await_evaluation(self) -> None:
        """The next batch that is held out begins an evaluation."""
        self._arrived = 0


def check_reward(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A reward function whose numbers are checked before they become a tensor.

    Afterwards NaN and None are the same.
    """

    def check(values: Any, prompts: Sequence[Any]) -> Any:
        for prompt, value in zip(prompts, values, strict=False):  # TRL checks the length
            if value is None:
                continue
            try:
                finite = math.isfinite(value)
            except TypeError:
                finite = False
            if not finite:
                raise BadRollout(
                    f"the reward function {name!r} returned {value!r} for the prompt "
                    f"{name_prompt({'prompt': prompt})!r}, expected a finite number, or None where "
                    "it does not apply"
                )
        return values

    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004
    ):

        @functools.wraps(function)
        async def waited(*, prompts: Any, **kwargs: Any) -> Any:
            return check(await function(prompts=prompts, **kwargs), prompts)

        return waited

    @functools.wraps(function)
    def called(*, prompts: Any, **kwargs: Any) -> Any:
        return check(function(prompts=prompts, **kwargs), prompts)

    return called
