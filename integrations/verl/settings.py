"""The run folder and the session of a verl job, as verl's configuration names them.

`paretopo train` creates the run folder first and names it (``+paretopo.run=FOLDER``). A user's own
script names a configuration (``+paretopo.config=FILE``). `trainer.default_local_dir`, with verl's
checkpoints, then becomes the run folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from paretopo.config import ConfigError, RunConfig, apply_method, read_table
from paretopo.config.keys import nearest
from paretopo.config.notes import say
from paretopo.integrations.huggingface.policy import starts_warmed_up
from paretopo.integrations.verl.options import ESTIMATOR, INFORMATIVE, TRAINERS
from paretopo.records.folder import RunFolder
from paretopo.records.foreign import ForeignJob
from paretopo.session import Session

_SETTINGS = ("run", "search_url", "config", "method")
_JOB = ForeignJob(
    folder="trainer.default_local_dir",
    resume="trainer.resume_mode=auto",
    trackers="trainer.logger",
    held_out="data.val_files",
    rewards="compute_score",
)


class VerlRun:
    """The run folder of a job.

    Args:
        config: verl's configuration.

    Raises:
        ConfigError: A setting does not work with our trainers, or there is neither a run nor a
            configuration.
    """

    def __init__(self, config: Any) -> None:
        self._verl = config
        given = config.get("paretopo") or {}
        unknown = [name for name in given if name not in _SETTINGS]
        if unknown:
            raise ConfigError(
                f"verl's configuration has paretopo.{unknown[0]}; {nearest(unknown[0], _SETTINGS)}"
            )
        self._settings: Mapping[str, Any] = given
        if ("run" in given) == ("config" in given):
            raise ConfigError(
                f"trainer.v1.trainer_mode={' or '.join(TRAINERS)} needs +paretopo.config=FILE, a "
                "TOML file with the objectives and the method (docs/verl.md)"
            )
        _check(config)
        self._folder: RunFolder

    @property
    def folder(self) -> RunFolder:
        """Return the run folder of the open session."""
        return self._folder

    def open(self, *, steps: int, prompts: int, held_out: int, resumed: bool) -> Session:
        """Open the session and begin its records; its state is not restored yet.

        Args:
            steps: Number of training steps.
            prompts: Number of training prompts.
            held_out: Number of held-out prompts.
            resumed: True if verl resumes from a checkpoint.

        Raises:
            ConfigError: The configuration cannot be read, or the folder holds another run.
        """
        if "run" in self._settings:
            self._folder = RunFolder.open(self._settings["run"])
        else:
            self._folder = self._begin(steps, held_out, resumed)
        config = self._folder.config
        return Session(
            self._folder,
            prompts=prompts,
            steps_per_epoch=config.optimiser.steps_per_epoch(prompts),
            warmed_up=starts_warmed_up(config),
        )

    @contextmanager
    def training(self) -> Iterator[None]:
        """Claim the run folder while verl trains, unless `paretopo train` has claimed it."""
        if "run" in self._settings:
            yield
            return
        with self._folder.claim(), self._folder.note_failure():
            yield

    def _begin(self, steps: int, held_out: int, resumed: bool) -> RunFolder:
        path = Path(self._verl.trainer.default_local_dir).absolute()
        config = self._make_config(steps, held_out, path)
        run = RunFolder(path, config)
        begun = run.has_records
        if begun and self._verl.trainer.resume_mode == "disable":
            _JOB.refuse_records(run)
        _JOB.begin(run, resumed=begun or resumed, method=self._settings.get("method"))
        return run

    def _make_config(self, steps: int, held_out: int, path: Path) -> RunConfig:
        """Return the user's table, completed by verl's configuration."""
        verl = self._verl
        table = read_table(self._settings["config"])
        method = self._settings.get("method")
        chosen = {} if method is None else apply_method(table, method, {})
        actor, name = verl.actor_rollout_ref.actor, verl.algorithm.adv_estimator
        if name != ESTIMATOR:
            chosen["paretopo.stage2_estimator"] = name.removeprefix(f"{ESTIMATOR}_")
        known = {
            "backend": "verl",
            "seed": int(verl.data.get("seed") or 0),
            "model.path": str(verl.actor_rollout_ref.model.path),
            "warmup.steps": 0,
            "optimiser.steps": steps,
            "optimiser.prompts_per_step": int(verl.data.train_batch_size),
            "optimiser.group_size": int(verl.actor_rollout_ref.rollout.n),
            "optimiser.learning_rate": float(actor.optim.lr),
            "optimiser.max_completion_tokens": int(verl.data.max_response_length),
            "evaluation.prompts": held_out,
            "evaluation.every": max(1, int(verl.trainer.test_freq)),
            "run.out": str(path),
        }
        config = _JOB.make_config(table, chosen | known)
        say(config.notes)
        return config


def _check(config: Any) -> None:
    """Refuse options that our trainers cannot honour."""
    name = str(config.algorithm.adv_estimator)
    if name.removeprefix(ESTIMATOR)[:1] not in ("", "_") or not name.startswith(ESTIMATOR):
        raise ConfigError(
            f"algorithm.adv_estimator must be {ESTIMATOR} (the method of the configuration), or "
            f"{ESTIMATOR}_NAME with the name of an estimator, got {name!r}: our trainers give no "
            "other advantages"
        )
    if config.algorithm.use_kl_in_reward:
        raise ConfigError(
            "algorithm.use_kl_in_reward does not apply to ranks of several rewards: use "
            "actor_rollout_ref.actor.use_kl_loss=true"
        )
    model = config.reward.reward_model
    if model.enable and not model.enable_resource_pool:
        raise ConfigError(
            "reward.reward_model without its own pool scores after the rollouts are collected, "
            "and gives one number: set reward.reward_model.enable_resource_pool=true, and return "
            "the objectives from compute_score"
        )
    filtered = config.algorithm.get("filter_groups")
    if filtered and filtered.enable and filtered.metric != INFORMATIVE:
        raise ConfigError(
            f"algorithm.filter_groups.metric must be {INFORMATIVE}, got {filtered.metric!r}: a "
            "single number would drop groups that differ in another objective"
        )
