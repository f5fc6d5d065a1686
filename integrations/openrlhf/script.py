"""Several objectives for a launch script of OpenRLHF, whose options stay as they are.

`python -m paretopo.integrations.openrlhf objectives.toml OPTIONS` replaces
`python -m openrlhf.cli.train_ppo_ray OPTIONS`. The file has the objectives and the method. The
agent or the reward function of the options gives their values by name. `--ckpt.output_dir` becomes
the run folder.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from paretopo.config import ConfigError, RunConfig, apply_method, read_table
from paretopo.config.notes import Note, say
from paretopo.config.python_files import load_module
from paretopo.integrations.openrlhf.options import CORRECTIONS, SAME, check_openrlhf
from paretopo.integrations.openrlhf.rehearsal.plan import describe_gaps, plan_options
from paretopo.integrations.openrlhf.rehearsal.stand_ins import prepare_process
from paretopo.integrations.openrlhf.train import print_proofs, run_openrlhf
from paretopo.records.folder import RunFolder
from paretopo.records.foreign import ForeignJob
from paretopo.rollout import BadRollout

_JOB = ForeignJob(
    folder="--ckpt.output_dir",
    resume="--ckpt.load_enable",
    trackers="--logger.wandb.key or --logger.tensorboard_dir",
    held_out="--eval.dataset",
    rewards="--train.agent_func_path or --reward.remote_url",
)
# `paretopo train` sets these in other ways.
_READ = {
    "seed": "train.seed",
    "model.path": "actor.model_name_or_path",
    "openrlhf.asynchronous": "train.async_enable",
    "openrlhf.dynamic_sampling": "algo.dynamic_filtering_enable",
    "openrlhf.overlong_penalty": "reward.overlong_penalty_factor",
}


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m paretopo.integrations.openrlhf",
        usage="%(prog)s OBJECTIVES.toml [--method NAME] [--rehearse] OPTIONS",
        description="Train with OpenRLHF on several objectives. OPTIONS are those of "
        "openrlhf.cli.train_ppo_ray (docs/openrlhf.md).",
        allow_abbrev=False,
    )
    parser.add_argument("objectives", help="TOML file with [[objectives]] and [paretopo]")
    parser.add_argument("--method", help="method that changes the settings of the file")
    parser.add_argument(
        "--rehearse", action="store_true", help="run on a CPU, at the size of the options"
    )
    given, words = parser.parse_known_args()
    try:
        train_script(given.objectives, words, method=given.method, rehearsing=given.rehearse)
    except (ConfigError, BadRollout) as error:
        sys.exit(f"paretopo: {error}")


def train_script(
    objectives: str, words: Sequence[str], *, method: str | None = None, rehearsing: bool = False
) -> None:
    """Run OpenRLHF's command to its end, with the session's advantages and records.

    Args:
        objectives: A TOML file of objectives and method.
        words: OpenRLHF's options.
        method: A method on top of the file.
        rehearsing: Replace CUDA by a CPU.

    Raises:
        ConfigError: The installed OpenRLHF, the file or an option does not fit.
        BadRollout: A rollout has no finite value of an objective.
        RuntimeError: A process failed or died.
    """
    check_openrlhf()
    if rehearsing:
        prepare_process()
    from paretopo.integrations.openrlhf.launch import parse_options  # after `prepare_process`

    options = parse_options(words)
    check_options(options)
    prompts, held_out = _count_prompts(options)
    config = make_config(objectives, options, prompts, held_out, method)
    run = RunFolder(Path(options.ckpt.output_dir).absolute(), config)
    resuming = begin_run(run, options, method)
    if rehearsing:
        words = plan_options(words)
        (run.path / "rehearsal").mkdir(exist_ok=True)
        run.update_manifest(rehearsal=describe_gaps(config, real_model=True))
    say(config.notes)
    with run.claim(), run.note_failure():
        again = "the same command and --ckpt.load_enable"
        done = run_openrlhf(words, config, run, prompts, resuming, how_to_resume=again)
        if done == 0:
            raise RuntimeError(
                "the prompts ran out before the first step: no rewards differ within enough groups;"
                " leave out --algo.dynamic_filtering_enable, or give more prompts"
            )
        if done < config.optimiser.steps:
            text = (
                f"dropped groups used up the prompts after {done} of {config.optimiser.steps} steps"
            )
            say([Note(text, warns=False)])
            run.finish("stopped")
    if held_out:
        _JOB.write_report(run)
    _JOB.say_end(run, evaluated=held_out > 0)
    print_proofs(run)


def check_options(options: Any) -> None:
    """Refuse options that mean nothing for a vector of rewards, before anything starts.

    Raises:
        ConfigError: Names the option.
    """
    agent, reward = options.train.agent_func_path, options.reward.remote_url
    if not agent and not reward:
        raise ConfigError(
            "--train.agent_func_path or --reward.remote_url must give the objectives by name: a "
            "reward model gives one number"
        )
    if agent:
        check_code("--train.agent_func_path", Path(agent), "AgentExecutor")
    elif reward.endswith(".py"):
        check_code("--reward.remote_url", Path(reward), "reward_func")
    if not options.vllm.num_engines:
        raise ConfigError(
            "--vllm.num_engines must be at least 1: the engines generate all rollouts"
        )
    if options.rollout.n_samples_per_prompt < 2:
        raise ConfigError(
            "--rollout.n_samples_per_prompt must be at least 2, got "
            f"{options.rollout.n_samples_per_prompt}: advantages compare the rollouts of a prompt"
        )
    if options.ckpt.best_metric_key not in ("", "none"):
        raise ConfigError(
            f"--ckpt.best_metric_key = {options.ckpt.best_metric_key} names a metric of OpenRLHF's "
            "own evaluation, which paretopo replaces: leave it out"
        )


def check_code(option: str, path: Path, name: str) -> None:
    """Import a file of the user: in a worker, an import error would hang forever.

    Args:
        option: The option that names the file.
        path: The file.
        name: The class or function that OpenRLHF looks for.

    Raises:
        ConfigError: The import fails, or the file does not define the name.
    """
    if not callable(getattr(load_module(option, path), name, None)):
        raise ConfigError(f"{option}: {path} defines no {name}")


def make_config(
    file: str, options: Any, prompts: int, held_out: int, method: str | None
) -> RunConfig:
    """Return the file's settings, completed by OpenRLHF's options.

    Raises:
        ConfigError: A setting is wrong, or there are fewer prompts than in a step.
    """
    table, rollout = read_table(file), options.rollout
    if prompts < rollout.batch_size:
        raise ConfigError(
            f"--rollout.batch_size must be at most {prompts}, the prompts of --data.prompt_dataset,"
            f" got {rollout.batch_size}"
        )
    steps = prompts // rollout.batch_size * options.train.num_episodes
    corrections = {theirs: ours for ours, theirs in CORRECTIONS.items()}
    known = {key: attrgetter(name)(options) for key, name in (SAME | _READ).items()}
    known |= {
        "backend": "openrlhf",
        "warmup.steps": 0,
        "optimiser.steps": steps,
        "optimiser.max_completion_tokens": rollout.max_new_tokens or options.data.max_len,
        "evaluation.every": options.eval.steps if options.eval.steps > 0 else steps,
        "run.out": options.ckpt.output_dir,
        "openrlhf.colocate": options.train.colocate_all and not options.train.async_enable,
        "openrlhf.overlong_buffer": int(options.reward.overlong_buffer_len or 0),
        "openrlhf.correction": corrections[options.algo.advantage.is_correction_level],
    }
    if held_out:
        known |= {"evaluation.prompts": held_out}
    chosen = {} if method is None else apply_method(table, method, {})
    config = _JOB.make_config(table, chosen | known)
    if not held_out:
        _JOB.warn_unevaluated(config)
    return config


def begin_run(run: RunFolder, options: Any, method: str | None) -> bool:
    """Begin the records of a run, or go on with them; return whether OpenRLHF resumes.

    Raises:
        ConfigError: The folder holds records that the options do not resume, or a checkpoint has
            none.
    """
    loads = options.ckpt.load_enable
    if run.has_records and not loads:
        _JOB.refuse_records(run)
    resuming = loads and (run.has_records or Path(options.ckpt.path, "_actor").exists())
    named = {
        "--train.agent_func_path": options.train.agent_func_path,
        "--reward.remote_url": options.reward.remote_url,
        "--data.prompt_dataset": options.data.prompt_dataset,
        "--eval.dataset": options.eval.dataset,
    }
    files = {name: Path(value) for name, value in named.items() if value}
    _JOB.begin(run, resumed=resuming, method=method, files=files)
    return bool(resuming)


def _count_prompts(options: Any) -> tuple[int, int]:
    """Return the numbers of training prompts and of held-out prompts, as OpenRLHF loads them."""
    from openrlhf.datasets.utils import blending_datasets

    data, evaluation = options.data, options.eval
    silent = SimpleNamespace(print=lambda *_: None, is_rank_0=lambda: False)

    def count(names: str, shares: str | None, split: str) -> int:
        loaded = blending_datasets(
            names, shares, silent, options.train.seed, data.max_samples, dataset_split=split
        )
        return int(min(len(loaded), data.max_samples))

    held_out = count(evaluation.dataset, None, evaluation.split) if evaluation.dataset else 0
    return count(data.prompt_dataset, data.prompt_probs, data.prompt_split), held_out
