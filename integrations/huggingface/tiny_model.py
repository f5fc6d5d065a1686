"""A small Qwen3 and its tokenizer, made on the spot: no download, trains on a CPU.

The tokenizer knows whole words of the task, single characters, and fixed phrases, such as the parts
of a tool call, as one token each, so that a call is a handful of tokens. Its chat template renders
tool calls and tool results and keeps prefixes, which is what TRL asks of a template for multi-turn
training.
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
# Transformers finds out what text a token makes by decoding it behind this word.
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

# How generated text becomes a message again; the reverse of the template above.
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
    """A tokenizer for what a made-up task reads and writes."""
    texts, phrases = task.words(), task.phrases()
    if not task.functions:  # a protocol, with texts to stop at
        texts = [*texts, _BEFORE_EVERY_TOKEN]
    if task.preferences is not None:  # each is one token, in a message of its own
        lines = [one.line for one in task.preferences.all]
        phrases = [*phrases, f"<|{PREFERENCE_ROLE}|>", *lines]
    return make_tokenizer(texts, phrases)


def make_tokenizer(texts: Iterable[str], phrases: Sequence[str] = ()) -> PreTrainedTokenizerFast:
    """A tokenizer for the words of `texts`, for numbers, and for fixed phrases.

    Args:
        texts: Every text of the task with letters in it; other words become unknown tokens.
        phrases: Texts that are one token each, wherever they stand.

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
    # They are text, not special tokens: decoding must keep them, or no call could be parsed.
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
    mlp_width: int,
    seed: int,
    positions: int = 512,
) -> Qwen3ForCausalLM:
    """A randomly initialised Qwen3.

    Args:
        tokenizer: Gives the vocabulary and the special tokens.
        layers: Transformer layers.
        width: Hidden size; `heads` divides it.
        heads: Attention heads, each with its own keys and values.
        mlp_width: Inner size of the feed-forward layers.
        seed: Fixes the weights.
        positions: Longest conversation in tokens.

    Returns:
        The model in float32 on the CPU.
    """
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=width,
        intermediate_size=mlp_width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        head_dim=width // heads,
        max_position_embeddings=positions,
        tie_word_embeddings=True,
        initializer_range=0.04,  # learns to copy in half the steps of the usual 0.02 at this size
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return Qwen3ForCausalLM(config)
