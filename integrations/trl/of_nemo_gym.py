"""Tasks of NeMo-Gym for TRL: questions, and one reward function that asks a resources server.

TRL generates the answer. The server runs in an environment of its own, and only verifies.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx

Row = dict[str, Any]
_AT_ONCE = 32  # requests to the server


def read_tasks(
    tasks: Iterable[Mapping[str, Any]],
    url: str,
    components: Sequence[str] | Mapping[str, float],
    *,
    timeout: float = 600.0,
) -> tuple[list[Row], Callable[..., list[dict[str, float | None]]]]:
    """Return the questions of tasks, and the reward function that asks the server to verify.

    Each of the `components` is an objective. They are None, which means that no objective applies,
    if the server answers that its reward is no valid measurement (`mask_sample`).

    Args:
        tasks: Lines of a NeMo-Gym data set: each has `responses_create_params` and everything else
            that the server's `/verify` reads.
        url: The address of the resources server, for instance `http://127.0.0.1:8000`.
        components: Names of the `reward_components` that the server returns, or weights by name.
        timeout: Seconds for an answer of the server.

    Returns:
        Rows for `datasets.Dataset.from_list` with the columns prompt, id and task, in the order of
        the tasks; and a function for `reward_funcs`. It raises ValueError if the server refuses a
        request or does not return a component, and `httpx.HTTPError` if it cannot be reached.

    Raises:
        ValueError: A prompt has parts other than text.

    Example:
        >>> rows, rubric = read_tasks(tasks, url, ("correctness", "format"))  # doctest: +SKIP
        >>> questions = Dataset.from_list(rows)  # doctest: +SKIP
        >>> ParetoGRPOTrainer(reward_funcs=[rubric], train_dataset=questions, …)  # doctest: +SKIP
    """
    chosen = [dict(task) for task in tasks]

    def rubric(
        completions: Sequence[Any], task: Sequence[int], **_: Any
    ) -> list[dict[str, float | None]]:
        with httpx.Client(base_url=url, timeout=timeout) as client:

            def verify(at: int, messages: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
                reply = client.post("/verify", json=chosen[at] | {"response": _respond(messages)})
                return _read_reply(reply, components)

            with ThreadPoolExecutor(_AT_ONCE) as threads:
                return list(threads.map(verify, task, completions))

    rubric.reward_components = components  # type: ignore[attr-defined]
    return [_make_row(at, task) for at, task in enumerate(chosen)], rubric


def _make_row(at: int, task: Mapping[str, Any]) -> Row:
    given = task["responses_create_params"]["input"]
    messages = [{"role": "user", "content": given}] if isinstance(given, str) else given
    if not all(isinstance(one.get("content"), str) for one in messages):
        raise ValueError(f"task {at} has a prompt with parts other than text")
    prompt = [
        {
            # Chat templates of open models know no developer.
            "role": "system" if one["role"] == "developer" else one["role"],
            "content": one["content"],
        }
        for one in messages
    ]
    return {"prompt": prompt, "id": str(at), "task": at}


def _respond(messages: Sequence[Mapping[str, Any]]) -> Row:
    """Return the response of OpenAI's API that has these messages of a chat as its output."""
    output: list[Row] = []
    unanswered: list[str] = []
    for at, one in enumerate(messages):
        if one["role"] == "tool":
            call, text = unanswered.pop(0), str(one["content"])
            output.append({"type": "function_call_output", "call_id": call, "output": text})
            continue
        if one.get("content"):
            part = {"type": "output_text", "text": one["content"], "annotations": []}
            message = {"type": "message", "role": "assistant", "content": [part]}
            output.append(message | {"id": f"message_{at}", "status": "completed"})
        for number, function in enumerate(call["function"] for call in one.get("tool_calls") or ()):
            unanswered.append(f"call_{at}_{number}")
            called = {"type": "function_call", "call_id": unanswered[-1], "name": function["name"]}
            output.append(called | {"arguments": json.dumps(function["arguments"])})
    about = {"id": "response", "created_at": 0, "model": "policy", "object": "response"}
    tools = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    return about | tools | {"output": output}


def _read_reply(reply: httpx.Response, names: Iterable[str]) -> dict[str, float | None]:
    if reply.is_error:
        raise ValueError(f"{reply.url} answered {reply.status_code}: {reply.text[:500]}")
    answer = reply.json()
    found = answer.get("reward_components", {})
    if not set(names) <= set(found):
        raise ValueError(
            f"{reply.url} must return the reward_components {sorted(names)}, got {sorted(found)}"
            + ("" if found else f": only reward = {answer.get('reward')}")
        )
    return dict.fromkeys(names) if answer.get("mask_sample") else {one: found[one] for one in names}
