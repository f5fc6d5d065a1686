"""The rewards of a training script of one's own: its functions' numbers, checked, as rollouts."""

from __future__ import annotations

import asyncio
import functools
import inspect
import math
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import numpy as np
from accelerate.utils import gather_object
from numpy.typing import NDArray

from paretopo.integrations.trl.rewards import count_turns
from paretopo.integrations.trl.trainer import ParetoGRPOTrainer, name_prompt
from paretopo.rewards.own import Hung, blame, call_with_limit, check_values
from paretopo.rollout import Rollout

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


def check_reward(
    function: Callable[..., Any], name: str, seconds: float | None = None
) -> Callable[..., Any]:
    """A reward function whose numbers are checked before they become a tensor.

    Afterwards NaN and None are the same.

    Args:
        function: As TRL takes it, synchronous or not.
        name: What errors call it.
        seconds: Limit of a call; None leaves it without one, and in the thread of the script.
    """

    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004
    ):

        @functools.wraps(function)
        async def waited(*, prompts: Any, **kwargs: Any) -> Any:
            names = [name_prompt({"prompt": prompt}) for prompt in prompts]
            with blame(name, names, seconds):
                values = await _await_with_limit(function(prompts=prompts, **kwargs), seconds)
            return check_values(name, names, values)

        return waited

    @functools.wraps(function)
    def called(*, prompts: Any, **kwargs: Any) -> Any:
        names = [name_prompt({"prompt": prompt}) for prompt in prompts]
        call = functools.partial(function, prompts=prompts, **kwargs)
        with blame(name, names, seconds):
            values = call() if seconds is None else call_with_limit(call, seconds)
        return check_values(name, names, values)

    return called


async def _await_with_limit(result: Awaitable[Any], seconds: float | None) -> Any:
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            return await result
    except TimeoutError:
        if limit.expired():  # not one of the function's own
            raise Hung from None
        raise
