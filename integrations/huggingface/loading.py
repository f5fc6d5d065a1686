"""Load any causal language model as a policy, with its tokenizer and adapters, and save it.

Warm-up, training and evaluation use this module, under every framework.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from paretopo.config import OWN, ConfigError, ModelConfig
from paretopo.integrations.huggingface.chat_templates import fill_response, set_chat_template
from paretopo.integrations.huggingface.files import ModelFiles, find_model_files
from paretopo.integrations.huggingface.special_tokens import settle_special_tokens

_LOADING_ERRORS = (OSError, ValueError, KeyError)  # raised by transformers; KeyError for GGUF


def load_tokenizer(model: ModelConfig) -> Any:
    """Load the tokenizer of a model; it ends turns and pads as the model does.

    It has the chat template that `model.chat_template` selects. It pads on the left, as generation
    requires.

    Raises:
        ConfigError: There is no tokenizer, or its special tokens or the chat template do not suit
            the model; the message says what to do.
    """
    from transformers import AutoTokenizer

    files = find_model_files(model.path)
    try:
        tokenizer = AutoTokenizer.from_pretrained(files.name, padding_side="left", **files.options)
    except _LOADING_ERRORS as error:
        raise ConfigError(
            f"model.path: cannot load the tokenizer of {model.path!r}: {error}"
        ) from error
    tokenizer.clean_up_tokenization_spaces = False  # keeps spaces before punctuation
    ends = find_ends(files)
    settle_special_tokens(tokenizer, ends, model.path)
    if model.chat_template != OWN:
        response = set_chat_template(tokenizer, model.chat_template, model.path)
        settle_special_tokens(tokenizer, ends, model.path)
        tokenizer.response_template = fill_response(response, tokenizer.eos_token)
    return tokenizer


def load_model(model: ModelConfig, tokenizer: Any, *, dtype: Any = None) -> Any:
    """Load a model; it ends texts with its own end tokens and with the tokenizer's.

    Args:
        model: The model to load.
        tokenizer: The tokenizer from `load_tokenizer`.
        dtype: The dtype of the weights. The default is float32, also for weights stored in half
            precision, because bfloat16 would lose steps as small as those of reinforcement
            learning.

    Raises:
        ConfigError: There is no such model, or the tokenizer has more tokens than the model.
    """
    import torch
    from transformers import AutoModelForCausalLM

    files = find_model_files(model.path)
    try:
        loaded = AutoModelForCausalLM.from_pretrained(
            files.name, dtype=dtype or torch.float32, **files.options
        )
    except _LOADING_ERRORS as error:
        raise ConfigError(f"model.path: cannot load {model.path!r}: {error}") from error
    rows = loaded.get_input_embeddings().num_embeddings
    if len(tokenizer) > rows:
        raise ConfigError(
            f"model.path: the tokenizer of {model.path!r} has {len(tokenizer)} tokens, the model "
            f"{rows}: resize its embeddings, model.resize_token_embeddings(len(tokenizer))"
        )
    settings = loaded.generation_config
    ends = [tokenizer.eos_token_id, *as_tokens(settings.eos_token_id)]
    settings.eos_token_id = list(dict.fromkeys(ends))
    settings.pad_token_id = loaded.config.pad_token_id = tokenizer.pad_token_id
    head = loaded.get_output_embeddings()
    if head is not None:
        head.register_forward_pre_hook(_make_contiguous)
    return loaded


def _make_contiguous(_module: Any, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Make the input of the head contiguous, so that torch does not copy the weights for each row.

    For a slice of each row it did. That was 83 % of the time of reading 32 x 20 tokens, in bfloat16
    on a CPU.
    """
    return (inputs[0].contiguous(), *inputs[1:])


def find_ends(files: ModelFiles) -> list[int]:
    """Return the tokens that end a text according to the model's files; empty if they name none."""
    from transformers import AutoConfig, GenerationConfig

    found: dict[int, None] = {}
    # Generation settings are in a file of their own; a .gguf file has none.
    for kind, options in ((GenerationConfig, {}), (AutoConfig, files.options)):
        try:
            config = kind.from_pretrained(files.name, **options)
        except _LOADING_ERRORS:  # only a tokenizer, or no generation settings
            continue
        found |= dict.fromkeys(as_tokens(config.eos_token_id))
    return list(found)


def as_tokens(tokens: int | Sequence[int] | None) -> list[int]:
    """Return a field that holds a token, several tokens or None as a list.

    >>> as_tokens(None), as_tokens(2), as_tokens([2, 1])
    ([], [2], [2, 1])
    """
    return [] if tokens is None else [tokens] if isinstance(tokens, int) else list(tokens)


def compute_dtype(model: ModelConfig, device: str) -> Any:
    """Return the torch.dtype of computation that `model.dtype` selects.

    A processor without instructions for bfloat16 computes in it many times slower than in float32:
    on an AVX2 core 1.2 GFLOP/s instead of 62. A processor with them is about twice as fast in
    bfloat16.

    Args:
        model: Its `dtype` is the choice.
        device: "cpu" or "cuda".

    Raises:
        ConfigError: The choice is bfloat16, and the device has no instructions for it.
    """
    import torch

    if model.dtype == "float32":
        return torch.float32
    has = torch.cuda.is_bf16_supported() if device != "cpu" else has_bfloat16()
    if model.dtype == "bfloat16" and not has:
        raise ConfigError(
            'model.dtype = "bfloat16" needs a GPU or a processor with instructions for it (AVX-512 '
            'BF16 or AMX), and this one would be many times slower: use "auto"'
        )
    made = model.is_made and device == "cpu" and model.dtype == "auto"
    return torch.bfloat16 if has and not made else torch.float32


def has_bfloat16() -> bool:
    """Return whether this processor multiplies matrices in bfloat16."""
    import torch

    known = torch.cpu.get_capabilities()
    return bool(known.get("avx512_bf16") or known.get("amx_bf16"))


@contextmanager
def computing_in(dtype: Any, device: str) -> Iterator[None]:
    """Compute in this dtype inside the context; the dtype of the weights stays as it is."""
    import torch

    with torch.autocast(device, dtype, enabled=dtype != torch.float32):
        yield


def prepare_training(model: Any, config: ModelConfig) -> Any:
    """Add adapters as configured; return the model to train.

    Args:
        model: The model from `load_model`.
        config: Selects the trained weights.

    Raises:
        ConfigError: The package peft is missing.
    """
    if not config.lora.rank:
        return model
    if importlib.util.find_spec("peft") is None:
        raise ConfigError("model.lora needs the package peft: pip install peft")
    import peft

    adapted = peft.get_peft_model(
        model,
        peft.LoraConfig(
            task_type="CAUSAL_LM",
            r=config.lora.rank,
            lora_alpha=config.lora.alpha,
            lora_dropout=0.0,
            target_modules="all-linear",
        ),
    )
    if not (Path(config.path) / "config.json").is_file() and Path(config.path).exists():
        # For a .gguf file, peft would look for its configuration on the Hub at every checkpoint.
        adapted.peft_config["default"].base_model_name_or_path = ""
    return adapted


def save_policy(model: Any, tokenizer: Any, folder: Path, *, dtype: Any = None) -> None:
    """Save a policy as a folder that `from_pretrained` takes; adapters are merged into the weights.

    The trained adapters are also saved in ``adapter/``, in peft's format.

    Args:
        model: The policy. A model with adapters is changed and must not be trained afterwards.
        tokenizer: The model's tokenizer.
        folder: The target folder, created if missing.
        dtype: The dtype of the saved weights. The default is float32 with adapters, else the dtype
            of the model.
    """
    if is_adapted(model):
        import torch

        model.save_pretrained(str(folder / "adapter"), selected_adapters=["default"])
        # Merge in float32: bfloat16 would round the adapters' contribution away.
        model = model.to(torch.float32).merge_and_unload()
    if dtype is not None:
        model = model.to(dtype)
    model.save_pretrained(str(folder))
    tokenizer.save_pretrained(str(folder))


def is_adapted(model: Any) -> bool:
    """Return whether the model has adapters of peft."""
    return hasattr(model, "peft_config")
