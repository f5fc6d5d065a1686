"""Create a small Qwen3 and its tokenizer: no download, trains on a CPU.

The tokenizer has one token for each word of the task, each single character, and each fixed phrase,
such as a part of a tool call. A call is therefore a handful of tokens. The chat template renders
tool calls and tool results and keeps prefixes, as TRL requires for multi-turn training.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, pre_tokenizers
from tokenizers.models import WordLevel
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from paretopo.tasks.task import PREFERENCE_ROLE, Task

_PAD, _UNKNOWN, _END = "<|pad|>", "<|unknown|>", "<|end|>"
_ROLES = {"user": "<|user|>", "assistant": "<|assistant|>", "tool": "<|tool|>"}
_PIECES = r" ?[A-Za-z]+|[\s\S]"  # a word with the space before it, or any one character
# Transformers decodes a token after this word to find its text.
_BEFORE_EVERY_TOKEN = "abcdef"
_CHARACTERS = "0123456789+-*/%().,:?!=' "

_CHAT_TEMPLATE = (
    "{%- for message in messages -%}"
    "{{- '<|' + message.role + '|>' -}}"
    "{%- for call in message.tool_calls or [] -%}"
    '{{- \'<call>{"name": "\' + call.function.name + \'", "arguments": \''
    " + (call.function.arguments | tojson) + '}</call>' -}}"
    "{%- endfor -%}"
    "{{- message.content + '<|end|>' -}}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{- '<|assistant|>' -}}{%- endif -%}"
)

# Parses generated text into a message: the reverse of the template above.
_RESPONSE_TEMPLATE = {
    "defaults": {"role": "assistant"},
    "start_anchor": "<|assistant|>",
    "fields": {
        "tool_calls": {
            "open": "<call>",
            "close_pattern": r"</call>\s*",
            "repeats": True,
            "content": "json",
            "transform": {"type": "function", "function": "{content}"},
        },
        "content": {"close_pattern": r"<\|end\|>\s*", "content": "text"},
    },
}


def make_task_tokenizer(task: Task) -> PreTrainedTokenizerFast:
    """Return a tokenizer for the texts of a synthetic task."""
    texts, phrases = task.words(), task.phrases()
    if not task.functions:  # a protocol, with stop strings
        texts = [*texts, _BEFORE_EVERY_TOKEN]
    if task.preferences is not None:  # one token each, in a message of their own
        lines = [one.line for one in task.preferences.all]
        phrases = [*phrases, f"<|{PREFERENCE_ROLE}|>", *lines]
    return make_tokenizer(texts, phrases)


def make_tokenizer(texts: Iterable[str], phrases: Sequence[str] = ()) -> PreTrainedTokenizerFast:
    """Return a tokenizer for the words of `texts`, for numbers, and for fixed phrases.

    Args:
        texts: Every text of the task with letters in it; other words become unknown tokens.
        phrases: Texts that are one token each, wherever they occur.

    Returns:
        A fast tokenizer with a chat template and a response template.
    """
    words = {word for text in texts for word in re.findall(_PIECES, text)}
    pieces = [_PAD, _UNKNOWN, _END, *_ROLES.values(), *phrases]
    pieces += sorted((words | set(_CHARACTERS)) - set(phrases))
    vocabulary = {piece: i for i, piece in enumerate(pieces)}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token=_UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(_PIECES), "isolated")
    tokenizer.decoder = decoders.Fuse()
    tokenizer.add_special_tokens([_PAD, _UNKNOWN, _END, *_ROLES.values()])
    # They are ordinary tokens, not special ones: decoding must keep them, or calls cannot be
    # parsed.
    tokenizer.add_tokens([AddedToken(phrase) for phrase in phrases])
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=_PAD,
        unk_token=_UNKNOWN,
        eos_token=_END,
        padding_side="left",
        clean_up_tokenization_spaces=False,
    )
    fast.chat_template = _CHAT_TEMPLATE
    fast.response_template = _RESPONSE_TEMPLATE
    return fast


def make_model(
    tokenizer: PreTrainedTokenizerFast,
    *,
    layers: int,
    width: int,
    heads: int,
    seed: int,
    positions: int = 512,
) -> Qwen3ForCausalLM:
    """Return a randomly initialised Qwen3.

    Args:
        tokenizer: Gives the vocabulary and the special tokens.
        layers: Transformer layers.
        width: Hidden size; `heads` divides it.
        heads: Attention heads, each with its own keys and values.
        seed: Fixes the weights.
        positions: Longest conversation in tokens.

    Returns:
        The model in float32 on the CPU.
    """
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        head_dim=width // heads,
        max_position_embeddings=positions,
        tie_word_embeddings=True,
        initializer_range=0.04,  # at this size copying takes half the steps of 0.02
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return Qwen3ForCausalLM(config)
