"""`paretopo ask`: a trained policy answers questions under a preference on the terminal."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch

from paretopo.config import ConfigError, RunConfig
from paretopo.integrations.agents.of_tasks import make_agent
from paretopo.integrations.huggingface.loading import load_model, load_tokenizer
from paretopo.integrations.huggingface.prompts import prompt_tokens
from paretopo.integrations.huggingface.threads import use_threads
from paretopo.records.folder import RunFolder
from paretopo.tasks.choice import ensure_search_server, make_task
from paretopo.tasks.task import Question, Task

_UNKNOWN = "nan"  # answer of a user's question; matches no response


def answer_on_terminal(
    run: RunFolder, read: Callable[[str], str], parse: Callable[[str], list[float]]
) -> Iterator[str]:
    """Read questions and preferences until the input ends.

    Args:
        run: The run whose policy answers, with its own tools.
        read: Shows a text and reads a line.
        parse: Converts a line to the numbers of a preference.

    Yields:
        Lines to show.
    """
    with ensure_search_server(run.config, run.data) as config:
        task = make_task(config)
        trained = config.model.trained(str(run.model))
        tokenizer = load_tokenizer(trained)
        model = load_model(trained, tokenizer).eval()
        use_threads(config.run.threads, made=config.model.is_made)
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
    """Yield the turns of policy and tools, then their cost."""
    label = {
        "id": question.id,
        "kind": question.kind,
        "answer": question.answer,
        "columns": dict(question.columns),
    }
    agent = make_agent(config, tokenizer, label)
    tokens = prompt_tokens(tokenizer, task.ask(question), task.functions)
    left = config.optimiser.max_completion_tokens
    done = False
    while left > 0 and not done:
        given = torch.tensor([tokens])
        options: dict[str, Any] = {"max_new_tokens": min(left, agent.turn_tokens or left)}
        if agent.stop:
            options |= {"stop_strings": list(agent.stop), "tokenizer": tokenizer}
        with torch.no_grad():
            whole = model.generate(
                input_ids=given, attention_mask=torch.ones_like(given), do_sample=False, **options
            )[0]
        written = whole[len(tokens) :].tolist()
        left -= len(written)
        turn_text = tokenizer.decode(written)
        yield f"  policy: {turn_text.removesuffix(tokenizer.eos_token)}"
        turn = asyncio.run(agent.take(turn_text))
        done = turn.done
        said = tokenizer(turn.feedback, add_special_tokens=False)["input_ids"]
        tokens += written + said
        if turn.feedback:
            left -= len(said)
            yield f"  tools:  {turn.feedback.strip()}"
    measured = agent.measured if question.answer != _UNKNOWN else {"calls": agent.calls}
    facts = (f"{name} {value:g}" for name, value in measured.items() if value is not None)
    yield f"  {', '.join(facts)}"
