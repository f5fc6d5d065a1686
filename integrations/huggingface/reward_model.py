"""A reward model as a reward function: a sequence classifier with one label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from paretopo.config import ConfigError

_AT_ONCE = 8  # responses per pass


class RewardModel:
    """Gives each response the model's logit; the first call loads the model.

    Prompt and response pass through the chat template of the model's tokenizer. Without a template,
    the response follows the prompt directly.

    Args:
        name: On the Hugging Face Hub, or a folder.
    """

    is_model = True

    def __init__(self, name: str) -> None:
        self._name = name
        self._loaded: tuple[Any, Any] | None = None

    def __call__(self, prompts: Sequence[Any], completions: Sequence[Any], **_: Any) -> list[float]:
        """Return the reward of each response."""
        model, tokenizer = self._load()
        texts = [_write(tokenizer, *pair) for pair in zip(prompts, completions, strict=True)]
        rewards: list[float] = []
        for at in range(0, len(texts), _AT_ONCE):
            batch = tokenizer(
                texts[at : at + _AT_ONCE],
                return_tensors="pt",
                padding=True,
                padding_side="right",
                add_special_tokens=False,
            ).to(model.device)
            with torch.inference_mode():
                rewards += model(**batch).logits[:, 0].float().tolist()
        return rewards

    def check(self) -> None:
        """Check that the model exists, without loading it.

        Raises:
            ConfigError: There is no model of that name.
        """
        from transformers import AutoConfig

        try:
            AutoConfig.from_pretrained(self._name)
        except (OSError, ValueError) as error:
            raise ConfigError(f"the reward model {self._name}: {error}") from error

    def _load(self) -> tuple[Any, Any]:
        if self._loaded is None:
            from transformers import AutoModelForSequenceClassification, AutoTokenizer

            self.check()
            tokenizer = AutoTokenizer.from_pretrained(self._name)
            model = AutoModelForSequenceClassification.from_pretrained(self._name, num_labels=1)
            if tokenizer.pad_token is None:
                tokenizer.pad_token = tokenizer.eos_token
            model.config.pad_token_id = tokenizer.pad_token_id
            self._loaded = (
                model.to("cuda" if torch.cuda.is_available() else "cpu").eval(),
                tokenizer,
            )
        return self._loaded


def _write(tokenizer: Any, prompt: Any, completion: Any) -> str:
    """Return prompt and response as one text."""
    asked = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(prompt)
    said = completion
    if isinstance(completion, str):
        said = [{"role": "assistant", "content": completion}]
    if tokenizer.chat_template:
        text: str = tokenizer.apply_chat_template([*asked, *said], tokenize=False)
        return text
    return "".join(one.get("content") or "" for one in [*asked, *said])
