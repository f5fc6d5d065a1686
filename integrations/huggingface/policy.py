"""The policy at the start of a run: created or loaded, with adapters, and warmed up."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from paretopo.config import NONE, SMALL, TINY, ConfigError, RunConfig
from paretopo.config.python_files import hash_own_files
from paretopo.integrations.huggingface.files import find_model_files, link_or_copy
from paretopo.integrations.huggingface.loading import (
    compute_dtype,
    load_model,
    load_tokenizer,
    prepare_training,
    save_policy,
)
from paretopo.integrations.huggingface.threads import use_threads
from paretopo.preference import preferences_of
from paretopo.records.folder import RunFolder
from paretopo.tasks.choice import load_demonstrate, takes_preference
from paretopo.tasks.task import Task

_MADE = "start"  # under checkpoints/
_POSITIONS = 512  # longest conversation with a tiny model, in tokens
_NOT_OF_WARMUP = ("rewards.file", "task.held_out")


def open_policy(
    config: RunConfig,
    task: Task,
    *,
    tokenizer: Any = None,
    device: str = "cpu",
    positions: int = _POSITIONS,
) -> tuple[Any, Any]:
    """Create or load model and tokenizer as `[model]` configures them.

    Args:
        config: A Hub name, a folder or a file; or "tiny" with its sizes.
        task: Its words are the vocabulary of the tiny model.
        tokenizer: The model's tokenizer, if it is already loaded.
        device: Device of the model.
        positions: Longest sequence of a created model, in tokens.

    Returns:
        (model, tokenizer). Trained weights are float32; weights that adapters leave frozen have the
        dtype of computation.

    Raises:
        ConfigError: There is no such model, or it does not suit the configuration.
    """
    import torch

    from paretopo.integrations.huggingface.tiny_model import make_model, make_task_tokenizer

    sizes = config.model
    if tokenizer is None:
        named = replace(sizes, path=sizes.path.removeprefix(SMALL))
        tokenizer = make_task_tokenizer(task) if sizes.path == TINY else load_tokenizer(named)
    if sizes.is_made:
        model = make_model(
            tokenizer,
            layers=sizes.layers,
            width=sizes.width,
            heads=sizes.heads,
            seed=config.seed,
            positions=positions,
        )
    else:
        computed = compute_dtype(sizes, device)
        kept = computed if sizes.lora.rank else torch.float32
        model = load_model(sizes, tokenizer, dtype=kept)
        if device == "cpu" and computed == torch.bfloat16:
            # The backward pass of torch's own attention is slow here: on 8 x 100 tokens, a forward
            # and backward pass takes 2.6 seconds of a core instead of 1.9.
            model.set_attn_implementation("eager")
    with torch.random.fork_rng():
        torch.manual_seed(config.seed)
        return prepare_training(model, sizes).to(device), tokenizer


def warm_up_policy(
    config: RunConfig,
    task: Task,
    model: Any,
    tokenizer: Any,
    state_file: Path,
    should_stop: Callable[[], bool],
) -> None:
    """Warm up the policy, or load the warm-up from `warmup.shared`; save the result there too.

    Runs that begin at the same time each warm up, and all take the warm-up that ends first.

    Args:
        config: The run's configuration.
        task: Writes the traces.
        model: Trained in place.
        tokenizer: The model's tokenizer.
        state_file: As for `warm_up`.
        should_stop: As for `warm_up`.

    Raises:
        KeyboardInterrupt: `should_stop` returned True; the finished steps are kept.
    """
    from paretopo.integrations.huggingface.warmup import make_trace_source, warm_up

    train_or_load = partial(
        warm_up,
        model,
        tokenizer,
        make_trace_source(task, config.warmup),
        config.warmup,
        state_file,
        should_stop,
        functions=task.functions,
        dtype=compute_dtype(config.model, model.device.type),
    )
    shared = None if config.warmup.shared == NONE else shared_warmup(config)
    if shared is None or not shared.exists():
        if not train_or_load():
            raise KeyboardInterrupt
        if shared is None or _publish(state_file, shared):
            return
    state_file.unlink(missing_ok=True)  # it may be incomplete, or a copy of another run's
    link_or_copy(shared, state_file)
    if not train_or_load():
        raise KeyboardInterrupt


def _publish(state_file: Path, shared: Path) -> bool:
    """Share a warm-up whole; return False if another run has shared its own first."""
    shared.parent.mkdir(parents=True, exist_ok=True)
    temporary = shared.with_name(f"{shared.name}.{os.getpid()}")
    link_or_copy(state_file, temporary)
    try:
        os.link(temporary, shared)  # a replacement would overwrite the other run's
    except FileExistsError:
        return False
    except OSError:  # a file system without links
        temporary.replace(shared)
    finally:
        temporary.unlink(missing_ok=True)
    return True


def shared_warmup(config: RunConfig) -> Path:
    """Return the path of a finished warm-up for other runs; its name covers all that it depends on.

    The name leaves out the method, the objectives, the rewards and the held-out questions. The runs
    of a comparison therefore begin with one policy for each seed.

    Args:
        config: A configuration with `warmup.shared`.
    """
    files = hash_own_files(config)
    about = {
        "seed": config.seed,
        "held out": config.evaluation.prompts,
        "solver": config.tool.solver_price > 0.0,
        "model": dataclasses.asdict(config.model),
        "weights": _describe_weights(config.model.path),
        "task": dataclasses.asdict(config.task),
        "warmup": dataclasses.asdict(dataclasses.replace(config.warmup, shared=NONE)),
        "files": {key: one for key, one in files.items() if key not in _NOT_OF_WARMUP},
    }
    given = preferences_of(config)
    if given is not None:
        about["preferences"] = [one.text for one in given.all]
    elif takes_preference(load_demonstrate(config)):
        about["weights of objectives"] = [one.weight for one in config.objectives]
    name = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:16]
    return Path(config.warmup.shared) / f"{name}.pt"


def _describe_weights(path: str) -> list[tuple[str, int, int]]:
    """Return name, size and time of a local model's files, to notice when it is trained further."""
    place = Path(path)
    files = sorted(place.iterdir()) if place.is_dir() else [place]
    found = [(one.name, one.stat()) for one in files if one.is_file()]
    return [(name, about.st_size, about.st_mtime_ns) for name, about in found]


def keep_policy(
    config: RunConfig,
    run: RunFolder,
    task: Task,
    interrupted: Callable[[], bool],
    *,
    positions: int,
    least_head: int = 1,
) -> str:
    """Return the Hub name or folder from which the processes of a framework load the policy.

    The run folder keeps a policy that is created, warmed up, or read from a .gguf file, and one
    with another chat template or a corrected tokenizer. A resumed run finds it there.

    Args:
        config: The model to create or load.
        run: The run folder, which keeps it.
        task: Its words are the tokenizer's.
        interrupted: Called during the warm-up; True stops it.
        positions: Longest sequence in tokens.
        least_head: Smallest head size that the engines accept.

    Raises:
        ConfigError: The model does not suit the engines, or cannot be loaded.
        KeyboardInterrupt: `interrupted` returned True during the warm-up.
    """
    import torch

    folder = run.checkpoints / _MADE
    if (folder / "whole").exists():
        return str(folder.resolve())
    sizes = config.model
    if sizes.is_made and sizes.width // sizes.heads < least_head:
        raise ConfigError(
            f"model.width / model.heads must be at least {least_head} for the engines, got "
            f"{sizes.width} / {sizes.heads}"
        )
    tokenizer = None
    if not sizes.is_made:
        files = find_model_files(sizes.path)
        tokenizer = load_tokenizer(sizes)
        if files.gguf is None and not starts_warmed_up(config) and _is_as_saved(tokenizer, files):
            here = Path(sizes.path)  # processes of a framework run elsewhere
            return str(here.resolve()) if here.is_dir() else sizes.path
    use_threads(config.run.threads, made=sizes.is_made)
    model, tokenizer = open_policy(config, task, tokenizer=tokenizer, positions=positions)
    if starts_warmed_up(config):
        state = run.checkpoints / "warmup.pt"
        warm_up_policy(config, task, model, tokenizer, state, interrupted)
    save_policy(model, tokenizer, folder, dtype=torch.bfloat16)
    (folder / "whole").touch()
    return str(folder.resolve())


def _is_as_saved(tokenizer: Any, files: Any) -> bool:
    """Return whether a framework that loads the tokenizer itself would get the same one."""
    from transformers import AutoTokenizer

    own = AutoTokenizer.from_pretrained(files.name)
    return bool(
        own.eos_token_id == tokenizer.eos_token_id and own.chat_template == tokenizer.chat_template
    )


def starts_warmed_up(config: RunConfig) -> bool:
    """Return whether the policy is warmed up before the first evaluation.

    A rehearsal with random weights in place of a model has no warm-up.
    """
    return config.warmup.steps > 0 and not config.model.path.startswith(SMALL)
