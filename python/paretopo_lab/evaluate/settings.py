"""The settings of an evaluation that affect its numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from paretopo.config import ConfigError

Tool = Literal["none", "python", "search", "rag"]
EngineName = Literal["transformers", "vllm"]

_CALLS: dict[str, int] = {"none": 0, "python": 3, "search": 4, "rag": 1}
_TOKENS: dict[str, int] = {"none": 3072, "python": 3072, "search": 4096, "rag": 3072}


@dataclass(frozen=True)
class EvaluationSettings:
    """Prompts, tools and sampling of an evaluation.

    Attributes:
        model: Folder or Hub name.
        tool: "none", "python" (ToRL's protocol), "search" (Search-R1's), or "rag", which puts the
            passages of one search for the question before it.
        engine: The generator.
        max_calls: Rounds with the tool; None takes 3 for python, 4 for search.
        max_tokens: Longest response, observations included; None takes 4096 for search, else 3072.
        temperature: 0 decodes greedily.
        samples: Responses to each question.
        limit: Questions of each data file, the first ones; 0 for all.
        chat_template: True to apply the model's chat template to messages.
        seed: Fixes the samples.

    >>> EvaluationSettings("runs/A/model", tool="python").max_calls
    3
    """

    model: str
    tool: Tool = "none"
    engine: EngineName = "transformers"
    max_calls: int | None = None
    max_tokens: int | None = None
    temperature: float = 0.0
    samples: int = 1
    limit: int = 0
    chat_template: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        if self.max_calls is None:
            object.__setattr__(self, "max_calls", _CALLS[self.tool])
        elif self.tool in ("none", "rag") and self.max_calls != _CALLS[self.tool]:
            raise ConfigError(
                f"max_calls is for the tools python and search, got {self.max_calls} "
                f"for {self.tool}"
            )
        if self.max_tokens is None:
            object.__setattr__(self, "max_tokens", _TOKENS[self.tool])
        least = {"max_calls": 0, "max_tokens": 1, "samples": 1, "limit": 0, "seed": 0}
        for name, low in least.items():
            value = getattr(self, name)
            if value < low:
                raise ConfigError(f"{name} must be an integer of at least {low}, got {value!r}")
        if not 0 <= self.temperature < math.inf:
            raise ConfigError(f"temperature must be a number from 0, got {self.temperature!r}")
        if self.temperature == 0 and self.samples > 1:
            raise ConfigError(
                f"samples is {self.samples}, but with temperature 0 all of them are equal: give a "
                "temperature above 0"
            )

    @property
    def rounds(self) -> int:
        """Return `max_calls` or its default."""
        assert self.max_calls is not None
        return self.max_calls

    @property
    def room(self) -> int:
        """Return `max_tokens` or its default."""
        assert self.max_tokens is not None
        return self.max_tokens
