"""Tasks of the package `verifiers` for TRL: questions, and one reward function with all values.

verifiers 0.4 scores a *trace*, the messages of a rollout, with the rewards and metrics of its task.
Here TRL generates the answer, and verifiers only scores it.
"""

from __future__ import annotations

import asyncio
import atexit
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import verifiers.v1 as vf
from verifiers.v1.configs.agent import WireAgentConfig
from verifiers.v1.state import state_cls

Row = dict[str, Any]


def read_tasks(
    tasks: Iterable[Any], components: Mapping[str, float] | None = None
) -> tuple[list[Row], Callable[..., list[dict[str, float | None]]]]:
    """Return the questions of single-turn tasks, and the reward function that scores their answers.

    The function declares the rewards, with their weights, and the metrics, with weight 0, as
    `reward_components`. So each reward is an objective, and a metric becomes one as soon as the
    `ScriptSession` names it. Values are as the task returns them, without their weights.

    The function runs in the thread that calls it, because math-verify works only in the main one.
    There must be no running event loop, as a notebook has.

    Args:
        tasks: A finite taskset, or tasks of one type.
        components: The names and weights of the values, if a reward or metric of the task returns a
            mapping: verifiers does not declare their names.

    Returns:
        Rows for `datasets.Dataset.from_list` with the columns prompt, id and task, in the order of
        the tasks; and a function for `reward_funcs`.

    Raises:
        ValueError: The tasks need more than one answer and its text: tools, a runtime, `setup` or
            `finalize`, a simulated user, images. The message says which.

    Example:
        >>> rows, rubric = read_tasks(vf.load_taskset(config))  # doctest: +SKIP
        >>> questions = Dataset.from_list(rows)  # doctest: +SKIP
        >>> ParetoGRPOTrainer(reward_funcs=[rubric], train_dataset=questions, …)  # doctest: +SKIP
    """
    chosen = list(tasks)
    if not chosen or len({type(task) for task in chosen}) > 1:
        kinds = sorted({type(task).__name__ for task in chosen})
        raise ValueError(f"tasks must be at least one task of one type, got {kinds}")
    needs = _find_needs(chosen[0])
    if isinstance(tasks, vf.Taskset) and tasks.toolsets(tasks.config):
        needs.append("toolsets")
    if needs:
        raise ValueError(
            f"{type(chosen[0]).__name__} needs {', '.join(needs)}, which only a rollout of "
            "verifiers has; here TRL generates one answer to each question"
        )
    runner = asyncio.Runner()
    atexit.register(runner.close)

    def rubric(
        completions: Sequence[Any], task: Sequence[int], **_: Any
    ) -> list[dict[str, float | None]]:
        async def score() -> list[dict[str, float | None]]:
            pairs = zip(task, completions, strict=True)
            return await asyncio.gather(*(_score(chosen[at], given) for at, given in pairs))

        return runner.run(score())

    rubric.reward_components = components or _name_values(chosen[0])  # type: ignore[attr-defined]
    return [_make_row(at, task) for at, task in enumerate(chosen)], rubric


def _find_needs(task: Any) -> list[str]:
    """Return everything that the task needs besides the text of one answer."""
    hooks = [*task.hooks("reward"), *task.hooks("metric")]
    hooks += [judge.score for judge in task.plugged_judges()]
    parameters = [inspect.signature(hook).parameters.get("runtime") for hook in hooks]
    found = {
        "a container": task.NEEDS_CONTAINER,
        "toolsets": bool(type(task).toolsets(task.config)),
        "setup": type(task).setup is not vf.Task.setup,
        "finalize": type(task).finalize is not vf.Task.finalize,
        # A parameter with a default value may be left out.
        "a runtime": any(one is not None and one.default is one.empty for one in parameters),
    }
    return [name for name, needed in found.items() if needed]


def _name_values(task: Any) -> dict[str, float]:
    """Return the weights of rewards and judges, and 0 for metrics, by name."""
    rewards = {one.__name__: getattr(one, "_vf_weight", 1.0) for one in task.hooks("reward")}
    judges = {one.reward_name: one.config.weight for one in task.plugged_judges()}
    return rewards | judges | {one.__name__: 0.0 for one in task.hooks("metric")}


def _make_row(at: int, task: Any) -> Row:
    if task.data.prompt is None:
        raise ValueError(f"task {at} has no prompt, because a simulated user begins it")
    prompt = [{"role": one.role, "content": one.content} for one in _list_messages(task.data)]
    if not all(isinstance(one["content"], str) for one in prompt):
        raise ValueError(f"task {at} has a prompt with parts other than text")
    return {"prompt": prompt, "id": str(task.data.id or at), "task": at}


def _list_messages(data: Any) -> list[Any]:
    """Return the messages of a prompt, which may be a text, after the system's."""
    system = [] if data.system_prompt is None else [vf.SystemMessage(content=data.system_prompt)]
    texts = [vf.UserMessage(content=data.prompt)] if isinstance(data.prompt, str) else data.prompt
    return [*system, *texts]


async def _score(task: Any, completion: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """Return the values of one answer; a value is None if verifiers did not compute it."""
    [answer] = completion
    messages = [*_list_messages(task.data), vf.AssistantMessage(content=answer["content"])]
    trace = vf.Trace(
        task=vf.TraceTask(type=type(task).__name__, data=task.data, key=task.key, hash=task.hash),
        agent=vf.AgentInfo(config=WireAgentConfig()),
        state=state_cls(type(task))(),
        nodes=[
            vf.MessageNode(
                parent=at - 1 if at else None, message=message, sampled=at == len(messages) - 1
            )
            for at, message in enumerate(messages)
        ],
    )
    limit = task.data.timeout.scoring
    clock = asyncio.timeout(limit)
    try:
        async with clock:  # verifiers applies it only to rollouts of its own
            await task.score(trace)
    except TimeoutError:
        if not clock.expired():  # the scoring raised it
            raise
        raise TimeoutError(
            f"the scoring took more than {limit:g} seconds, the task's timeout.scoring; raise it"
        ) from None
    rewards = {name: one and one.score for name, one in trace.rewards.items()}
    return {**rewards, **trace.metrics}
