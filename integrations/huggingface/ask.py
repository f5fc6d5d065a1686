"""A trained policy answers on the terminal: a question, a preference, what it does with both."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch
from transformers import AutoModelForCausalLM

from paretopo.config import ConfigError, RunConfig
from paretopo.integrations.agents.of_tasks import make_agent
from paretopo.integrations.huggingface.prompts import load_tokenizer, prompt_text
from paretopo.run.folder import RunFolder
from paretopo.tasks.choice import ensure_search_server, make_task
from paretopo.tasks.task import Question, Task

_UNKNOWN = "nan"  # the answer to a question of the user's: no response is it


def answer_on_terminal(
    run: RunFolder, read: Callable[[str], str], parse: Callable[[str], list[float]]
) -> Iterator[str]:
    """Ask for questions and preferences until the input ends.

    Args:
        run: Whose policy answers, with its own tools.
        read: Shows a text and reads a line.
        parse: From a line to the numbers of a preference.

    Yields:
        Lines to show.
    """
    with ensure_search_server(run.config, run.data) as config:
        task = make_task(config)
        tokenizer = load_tokenizer(str(run.model))
        model = AutoModelForCausalLM.from_pretrained(str(run.model), dtype=torch.float32).eval()
        if config.run.threads > 0:
            torch.set_num_threads(config.run.threads)
        known = {question.text: question for question in task.held_out}
        later = iter(task.held_out)
        given = None if task.preferences is None else task.preferences.grid[0]
        yield "Enter takes the next held-out question, or keeps the preference; Ctrl-D ends."
        while True:
            try:
                if task.preferences is not None and given is not None:
                    wish = read(f"preference [{given.text}]> ").strip()
                    given = task.preferences.find(parse(wish)) if wish else given
                text = read("question> ").strip()
            except EOFError:
                return
            except ConfigError as error:
                yield str(error)
                continue
            own = Question("own", "own", text, _UNKNOWN, columns={"prompt": text})
            question = known.get(text, own)
            if not text:
                question = next(later, task.held_out[0])
                yield question.text
            asked = replace(question, preference=given)
            yield from _answer(config, task, asked, model, tokenizer)


def _answer(
    config: RunConfig, task: Task, question: Question, model: Any, tokenizer: Any
) -> Iterator[str]:
    """The turns of policy and tools, and what they cost."""
    label = {
        "id": question.id,
        "kind": question.kind,
        "answer": question.answer,
        "columns": dict(question.columns),
    }
    agent = make_agent(config, tokenizer, label)
    text = prompt_text(tokenizer, task.ask(question), task.functions)
    left = config.optimiser.max_completion_tokens
    done = False
    while left > 0 and not done:
        tokens = tokenizer(text, return_tensors="pt", add_special_tokens=False)
        options: dict[str, Any] = {"max_new_tokens": min(left, agent.turn_tokens or left)}
        if agent.stop:
            options |= {"stop_strings": list(agent.stop), "tokenizer": tokenizer}
        with torch.no_grad():
            whole = model.generate(**tokens, do_sample=False, **options)[0]
        written = whole[tokens["input_ids"].shape[1] :]
        left -= len(written)
        turn_text = tokenizer.decode(written)
        yield f"  policy: {turn_text.removesuffix(tokenizer.eos_token)}"
        turn = asyncio.run(agent.take(turn_text))
        done = turn.done
        text += turn_text + turn.feedback
        if turn.feedback:
            left -= len(tokenizer(turn.feedback, add_special_tokens=False)["input_ids"])
            yield f"  tools:  {turn.feedback.strip()}"
    measured = agent.measured if question.answer != _UNKNOWN else {"calls": agent.calls}
    told = (f"{name} {value:g}" for name, value in measured.items() if value is not None)
    yield f"  {', '.join(told)}"
