"""The run behind a job of slime: its folder, by what slime's arguments say.

The YAML file of `--custom-config-path`, whose keys slime puts among its arguments, names a
configuration (``paretopo_config``). The folder of `--save` becomes the run folder, beside the
checkpoints that slime writes there.
"""

from __future__ import annotations

import json
import warnings
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from paretopo.config import NONE, ConfigError, RunConfig, apply_method, from_table, read_table
from paretopo.config.keys import nearest
from paretopo.config.notes import say
from paretopo.run.folder import Folder, RunFolder
from paretopo.run.trackers import check_trackers

_PREFIX = "paretopo_"
_SETTINGS = ("paretopo_config", "paretopo_method")
_STATE = "rollout/paretopo_{}.json"
# Those that take a number for each sample and give it to all of its tokens.
_ESTIMATORS = ("grpo", "gspo", "cispo")


def check_arguments(args: Any) -> None:
    """Refuse what our hooks would have to ignore, or what would undo them.

    Args:
        args: slime's arguments.

    Raises:
        ConfigError: Names the option, and what to do.
    """
    unknown = [name for name in vars(args) if name.startswith(_PREFIX) and name not in _SETTINGS]
    if unknown:
        raise ConfigError(
            f"--custom-config-path has {unknown[0]}; {nearest(unknown[0], _SETTINGS)}"
        )
    if not hasattr(args, "paretopo_config"):
        raise ConfigError(
            "the file of --custom-config-path needs a line paretopo_config: FILE, a TOML file with "
            "the objectives and the method (docs/slime.md)"
        )
    needed = {
        "--save": args.save,
        "--reward-key": args.reward_key,
        "--custom-reward-post-process-path": args.custom_reward_post_process_path,
    }
    if args.eval_interval is None:
        warnings.warn(
            "there is no --eval-interval: nothing is evaluated, the archive stays empty, and the "
            "multiplier of stage 1 stays 1",
            stacklevel=3,
        )
    else:
        path = args.custom_eval_rollout_log_function_path
        needed["--custom-eval-rollout-log-function-path"] = path
    for option, value in needed.items():
        if value is None:
            raise ConfigError(f"{option} is missing: docs/slime.md has the options to add")
    if args.advantage_estimator not in _ESTIMATORS:
        raise ConfigError(
            f"--advantage-estimator must be {' or '.join(_ESTIMATORS)}, which take advantages as "
            f"they are, got {args.advantage_estimator!r}"
        )
    if args.normalize_advantages:
        raise ConfigError(
            "--normalize-advantages would whiten advantages a second time: leave it out"
        )
    for option in ("custom_convert_samples_to_train_data_path", "custom_advantage_function_path"):
        if getattr(args, option, None) is not None:
            raise ConfigError(
                f"--{option.replace('_', '-')} takes the place of what our advantages go through: "
                "leave it out"
            )
    if (args.dynamic_sampling_filter_path or "").startswith("slime."):
        raise ConfigError(
            "--dynamic-sampling-filter-path must be paretopo.integrations.slime.hooks."
            f"keep_informative, got {args.dynamic_sampling_filter_path!r}: by one number, groups "
            "that differ in another objective would be lost"
        )
    if getattr(args, "rollout_data_transport", None) == "straw":
        raise ConfigError(
            "--rollout-data-transport straw wants a data source of its own kind, which keeps no "
            "state of ours: take object-store"
        )


def claim_folder(args: Any) -> AbstractContextManager[None]:
    """Keep other jobs from writing into the run folder.

    Raises:
        ConfigError: Another works there.
    """
    path = Path(args.save).absolute()
    path.mkdir(parents=True, exist_ok=True)
    return Folder(path).claim()


def open_folder(args: Any, *, prompts: int, rollout_id: int) -> RunFolder:
    """The run folder, which is claimed, with its configuration written; begun, or gone on with.

    Args:
        args: slime's arguments.
        prompts: Training prompts.
        rollout_id: Of the checkpoint that slime goes on from; -1 where it begins.

    Raises:
        ConfigError: The configuration cannot be read, or the folder holds another run.
    """
    path = Path(args.save).absolute()
    run = RunFolder(path, _make_config(args, prompts, path))
    if (path / "config.toml").exists():
        if rollout_id < 0 and any(path.glob(_STATE.format("*"))):
            raise ConfigError(
                f"{path} holds the checkpoints of a run: go on with it, --load {path}, or give "
                "another --save"
            )
        run.check_goes_on("give another --save")
        run.write_config()  # a longer run
    elif rollout_id >= 0:
        raise ConfigError(
            f"slime goes on from rollout {rollout_id}, and --save {path} does not hold the records "
            "of that run: give its own folder, or begin anew without --load"
        )
    else:
        run.begin(method=getattr(args, "paretopo_method", None), script=True)
    return run


def state_path(folder: str | Path, rollout_id: int) -> Path:
    """Where a session's state lies: beside that of slime's data source."""
    return Path(folder) / _STATE.format(rollout_id)


def read_state(args: Any, rollout_id: int) -> dict[str, Any]:
    """The state of the checkpoint that slime goes on from.

    Raises:
        ConfigError: There is none.
    """
    path = state_path(args.load or args.save, rollout_id)
    try:
        state: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"slime goes on from rollout {rollout_id}, and {path} cannot be read ({error}): that "
            "checkpoint was written without paretopo, or the job was killed before it was whole; "
            "go on from an earlier one, --ckpt-step, or begin anew without --load"
        ) from None
    return state


def _make_config(args: Any, prompts: int, path: Path) -> RunConfig:
    """The user's table, with what slime's arguments say already."""
    method = getattr(args, "paretopo_method", None)
    known = {
        "backend": "slime",
        "seed": int(args.seed),
        "model.path": str(args.hf_checkpoint),
        "warmup.steps": 0,
        "optimiser.steps": _count_steps(args, prompts),
        "optimiser.prompts_per_step": int(args.rollout_batch_size),
        "optimiser.group_size": int(args.n_samples_per_prompt),
        "optimiser.learning_rate": float(args.lr),
        "optimiser.max_completion_tokens": int(args.rollout_max_response_len),
        "evaluation.every": int(args.eval_interval or 1),
        "run.out": str(path),
    }
    table = read_table(args.paretopo_config)
    config = from_table(table, ({} if method is None else apply_method(table, method, {})) | known)
    say(config.notes)
    if config.run.wandb_project != NONE:
        raise ConfigError(
            "run.wandb_project would end the run of Weights & Biases that slime has in the same "
            "process: take run.tensorboard"
        )
    check_trackers(config.run)
    return config


def _count_steps(args: Any, prompts: int) -> int:
    """Rollouts of the job, as slime counts them; an evaluation alone has none."""
    if args.num_rollout is not None:
        return max(1, int(args.num_rollout))
    return max(1, prompts // int(args.rollout_batch_size) * int(args.num_epoch))
