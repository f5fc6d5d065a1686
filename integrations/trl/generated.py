"""A batch that TRL generated: its data rows, responses and tokens, and the text of each rollout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from paretopo.rollout import format_answer, format_prompt, split_messages, split_tokens


@dataclass
class Generated:
    """The rollouts that one process generated.

    Attributes:
        inputs: The data rows, one per rollout.
        completions: The responses, as texts or as messages.
        tokens: (rollouts, longest) the same as tokens.
        mask: (rollouts, longest) 1 where there is a token, 0 where there is padding.
        written: (rollouts, longest) 1 where the policy wrote it; None where it wrote all.
    """

    inputs: list[dict[str, Any]]
    completions: list[Any]
    tokens: torch.Tensor | None = None
    mask: torch.Tensor | None = None
    written: torch.Tensor | None = None

    def text(self, row: int, tokenizer: Any) -> dict[str, Any]:
        """The fields ``prompt``, ``answer`` and ``segments`` of a rollout.

        Args:
            row: Its number in this process.
            tokenizer: Decodes the responses of text protocols.
        """
        tokens, mask = self._tokens()
        inside = mask[row].bool()
        own: list[int] = tokens[row][inside].tolist()
        written = [1] * len(own)
        if self.written is not None:
            written = self.written[row][inside].tolist()
        completion, given = self.completions[row], self.inputs[row]
        # Where a text protocol answered a chat, TRL takes all of it for one message of the policy.
        in_messages = not isinstance(completion, str) and (len(completion) > 1 or all(written))
        return {
            "prompt": format_prompt(given["prompt"]),
            "answer": format_answer(given.get("answer", "")),
            "segments": split_messages(completion)
            if in_messages
            else split_tokens(own, written, tokenizer.decode, tokenizer.eos_token),
        }

    def truncated(self, most: int, end: int) -> torch.Tensor:
        """(rollouts,) bool: did the response reach ``most`` tokens without the token ``end``?"""
        tokens, mask = self._tokens()
        lengths = mask.sum(dim=1)
        last = tokens.gather(1, (lengths - 1).clamp(min=0)[:, None]).squeeze(1)
        return (lengths >= most) & (last != end)

    def _tokens(self) -> tuple[torch.Tensor, torch.Tensor]:
        if self.tokens is None or self.mask is None:
            raise RuntimeError("TRL has not handed over the tokens of this batch yet")
        return self.tokens, self.mask
