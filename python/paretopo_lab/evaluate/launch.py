"""`paretopo evaluate`: load a model and its tools, and run rollouts on any engine."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Protocol

from paretopo.integrations.huggingface.prompts import prompt_text, prompt_tokens
from paretopo.integrations.huggingface.rollouts import Piece, RolloutState, run_rollouts
from paretopo.interrupt import Interrupt
from paretopo.records.schema import Example
from paretopo.rollout import format_prompt, split_tokens
from paretopo.tools.python_interpreter import PythonInterpreter
from paretopo.tools.search import SearchClient
from paretopo_lab.evaluate.evaluate import RolloutResult, evaluate
from paretopo_lab.evaluate.folder import EvaluationFolder
from paretopo_lab.evaluate.grading import Grader
from paretopo_lab.evaluate.prompting import RolloutRequest, Tools
from paretopo_lab.evaluate.settings import EvaluationSettings

_WORKERS = 4  # programs, or comparisons of mathematics, that run together
_PASSAGES = 3  # of a search, as in Search-R1


class InferenceEngine(Protocol):
    """A loaded model that generates text."""

    tokenizer: Any
    context: int  # tokens that prompt and response may have together

    def generate(self, rollouts: Sequence[RolloutState], stop: tuple[str, ...]) -> Sequence[Piece]:
        """Generate one piece for each rollout."""
        ...

    def close(self) -> None:
        """Free the memory."""
        ...


@dataclass(frozen=True)
class RuntimeOptions:
    """Where and how fast an evaluation runs; these options should not change its numbers.

    Attributes:
        batch: Number of rollouts generated together.
        gpus: Number of GPUs that share the model, for vLLM.
        memory: Share of a GPU's memory, for vLLM.
        isolation: Isolation of model-written programs and of comparisons of mathematics.
        search_url: Address of the search server.
    """

    batch: int = 64
    gpus: int = 1
    memory: float = 0.9
    isolation: Literal["bubblewrap", "process"] = "bubblewrap"
    search_url: str = "http://127.0.0.1:8000"


def run(
    folder: EvaluationFolder,
    rows: Sequence[Example],
    settings: EvaluationSettings,
    options: RuntimeOptions,
) -> bool:
    """Evaluate into a folder; return False if Ctrl-C came between two batches.

    Raises:
        KeyboardInterrupt: Ctrl-C came within a batch, which is dropped.
        ConfigError: The model cannot be loaded.
        SandboxError: Programs cannot be run here.
        ServerError: The search server or the sandbox server does not answer.
    """
    with ExitStack() as opened:
        # Open the tools first: a missing tool is reported before the model is loaded.
        tools = opened.enter_context(_open_tools(settings, options))
        grader = opened.enter_context(Grader(rows, workers=_WORKERS, isolation=options.isolation))
        interrupt = opened.enter_context(Interrupt())
        engine = open_engine(settings, options, lambda: interrupt.came)
        opened.callback(engine.close)
        return evaluate(
            folder, rows, settings, partial(run_requests, engine, settings), tools, grader,
            batch=options.batch, should_stop=lambda: interrupt.came,
        )  # fmt: skip


def run_requests(
    engine: InferenceEngine, settings: EvaluationSettings, requests: Sequence[RolloutRequest]
) -> list[RolloutResult]:
    """Return one finished rollout for each request.

    Args:
        engine: Generates the text.
        settings: Longest response, and the use of the chat template.
        requests: Run together.
    """
    tokenizer, keep = engine.tokenizer, settings.chat_template
    decode = partial(tokenizer.decode, skip_special_tokens=True)
    prompts = [one.prompt if keep else format_prompt(one.prompt) for one in requests]
    rollouts = []
    for request, prompt in zip(requests, prompts, strict=True):
        tokens = prompt_tokens(tokenizer, prompt)
        room = min(settings.room, engine.context - len(tokens))
        rollouts.append(RolloutState(tokens, request.episode, room, request.seed))
    run_rollouts(rollouts, engine.generate, tokenizer)
    return [
        RolloutResult(
            prompt_text(tokenizer, prompt),
            split_tokens(rollout.tokens, rollout.written, decode),
            decode(rollout.written_tokens()),
            sum(rollout.written),
            rollout.episode.calls,
            rollout.truncated,
        )
        for rollout, prompt in zip(rollouts, prompts, strict=True)
    ]


def open_engine(
    settings: EvaluationSettings,
    options: RuntimeOptions,
    should_stop: Callable[[], bool] = lambda: False,
) -> InferenceEngine:
    """Load the model into the engine that the settings name.

    Args:
        settings: Names the model and the engine.
        options: GPUs and memory.
        should_stop: Called at every token that transformers generates; True drops the batch.
    """
    if settings.engine == "vllm":
        from paretopo_lab.evaluate.vllm_engine import VllmEngine

        return VllmEngine(settings.model, settings, gpus=options.gpus, memory=options.memory)
    from paretopo.integrations.huggingface.threads import use_threads
    from paretopo_lab.evaluate.transformers_engine import TransformersEngine

    use_threads(0, made=False)
    return TransformersEngine(settings.model, settings, should_stop=should_stop)


@contextlib.contextmanager
def _open_tools(settings: EvaluationSettings, options: RuntimeOptions) -> Iterator[Tools]:
    if settings.tool == "none":
        yield Tools()
    elif settings.tool != "python":
        with SearchClient(options.search_url, topk=_PASSAGES) as search:
            search.search("is there a server")  # fails before a model is loaded
            yield Tools(search=search)
    else:
        with PythonInterpreter(workers=_WORKERS, isolation=options.isolation) as python:
            yield Tools(python)
