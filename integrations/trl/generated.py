"""A batch that TRL generated: its data rows, responses and tokens, as transcripts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from paretopo.run.transcripts import (
    Transcript,
    answer_text,
    of_messages,
    of_tokens,
    said,
)


@dataclass
class Generated:
    """What one process generated.

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

    def transcript(self, row: int, tokenizer: Any, most: int) -> Transcript:
        """What a rollout wrote.

        Args:
            row: Its number in this process.
            tokenizer: Decodes the responses of text protocols.
            most: Tokens after which a response was cut off.
        """
        if self.tokens is None or self.mask is None:
            raise RuntimeError("TRL has not handed over the tokens of this batch yet")
        inside = self.mask[row].bool()
        tokens: list[int] = self.tokens[row][inside].tolist()
        written = [1] * len(tokens)
        if self.written is not None:
            written = self.written[row][inside].tolist()
        completion, given = self.completions[row], self.inputs[row]
        # Where a text protocol answered a chat, TRL takes all of it for one message of the policy.
        in_messages = not isinstance(completion, str) and (len(completion) > 1 or all(written))
        return Transcript(
            prompt=said(given["prompt"]),
            answer=answer_text(given.get("answer", "")),
            segments=of_messages(completion)
            if in_messages
            else of_tokens(tokens, written, tokenizer.decode, tokenizer.eos_token),
            truncated=len(tokens) >= most and tokens[-1] != tokenizer.eos_token_id,
        )
