"""The session of a user's own training script, for `ParetoGRPOTrainer`.

The script keeps its model, data, reward functions and `GRPOConfig`. Its `output_dir`, with the
trainer's checkpoints, becomes a run folder that `paretopo report` and `paretopo show` read.
"""

from __future__ import annotations

import logging
import math
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from paretopo.config import (
    NONE,
    OF_UNKNOWN_UNITS,
    RECIPES,
    ConfigError,
    RunConfig,
    apply_method,
    expand_method,
    read_table,
)
from paretopo.config.notes import Note, say, warn_caller
from paretopo.config.switches import OF_UNKNOWN_UNITS_UNGATED, may_be_share
from paretopo.config.toml import flatten_names
from paretopo.integrations.trl.calls import check_type, explain_calls
from paretopo.integrations.trl.checkpoints import Checkpoints
from paretopo.integrations.trl.named_rewards import NamedRewards
from paretopo.integrations.trl.names import read_names
from paretopo.integrations.trl.scaling import find_scaling
from paretopo.integrations.trl.script_rewards import check_rewards
from paretopo.integrations.trl.session import FirstEvaluations, ScriptCallback
from paretopo.integrations.trl.session_trainer import SessionTrainer
from paretopo.records.folder import RunFolder
from paretopo.records.foreign import ForeignJob
from paretopo.rewards.calls import Limits
from paretopo.session import Session

_JOB = ForeignJob(
    folder="output_dir of GRPOConfig",
    resume="trainer.train(resume_from_checkpoint=True)",
    trackers="GRPOConfig.report_to",
    held_out="eval_dataset",
    rewards="reward_funcs",
)
_LOGGER = logging.getLogger("paretopo")
TRL = "trl"  # the method that keeps TRL's advantages


class ScriptSession:
    """Objectives and method of a script; pass it to `ParetoGRPOTrainer`.

    Each objective is either a reward function of the trainer with its name, or one of calls,
    tokens, turns, seconds and dollars, which need no function. The gate decides whether a rollout
    solved its prompt. The order of the functions does not matter. A reward of None does not apply
    to its rollout. A function may run without limit unless `rewards.timeout` sets one. Objectives
    whose key `function` names the same reward function get their values by name: it returns a
    mapping for each rollout. A reward function, or the class of an environment, that declares the
    names as `reward_components` needs no such key.

    Args:
        config: A TOML file, or its table: docs/training.md has the keys. Steps, seed, group size
            and batch come from `GRPOConfig`. Without objectives, every reward function is an
            objective, larger is better, with `GRPOConfig.reward_weights`. docs/scripts.md has the
            rule for the method; the log names it when training starts.
        gate: The reward function that decides whether a rollout solved its prompt; its weight may
            be 0. "none" trains without a gate. A mapping names the gate of each environment or kind
            of question, or "none"; these gates become one objective, and need the same weight. The
            default is the objective with `gate = true`, or the one function with a telling name,
            such as `correct` or `accuracy_reward`, of each environment; the log names it. Without
            either, training has no gate, and a warning says so.
        threshold: A rollout solved its prompt if `gate` returns more than this; 0 by default.
        names: A name for each reward function, in their order, if a function's own name cannot name
            an objective (a lambda) or two functions share one.
        method: A method on top of the table, as `paretopo train --method` takes it; or "trl": GRPO
            as TRL computes it, with our records only.
        overrides: Values that replace both, by dotted name.

    Raises:
        ConfigError: The file cannot be read, there is no such method, or a threshold has no gate.

    Example:
        >>> session = ScriptSession(gate="helpfulness", threshold=0.5)
        >>> session = ScriptSession(
        ...     {"objectives": [{"name": "correct"}, {"name": "tokens"}, {"name": "polite"}]},
        ...     method="gdpo",
        ... )
    """

    @explain_calls()
    def __init__(
        self,
        config: str | Path | Mapping[str, Any] | None = None,
        *,
        gate: str | Mapping[str, str] | None = None,
        threshold: float | None = None,
        names: Sequence[str] | None = None,
        method: str | None = None,
        overrides: Mapping[str, Any] | None = None,
    ) -> None:
        check_type("config", config, (str, Path, Mapping), 'a file or a {"objectives": [...]}')
        check_type("gate", gate, (str, Mapping), 'the name of a reward function, gate="correct"')
        check_type("names", names, (list, tuple), 'a list, names=["correct", "brief"]')
        check_type("method", method, str, 'a name, method="gdpo"')
        check_type("overrides", overrides, Mapping, 'a mapping, {"paretopo.k": 2}')
        self._table = read_table(config)
        self._gate, self._threshold, self._names = gate, threshold, names
        if threshold is not None and gate in (None, NONE):
            raise ConfigError(
                f"threshold = {threshold!r} needs gate, the name of the reward function to which "
                f"it applies, got gate = {gate!r}"
            )
        self._method, self._given = method, dict(overrides or {})
        if method is not None and method != TRL:
            expand_method(method)  # refuse here, not when training starts
        self.keeps_advantages = method == TRL  # those that the trainer computes
        self._trainer: Any = None
        self._updates = 1
        self._named: NamedRewards
        self._config: RunConfig
        self._resumed: tuple[int, Path] | None = None
        self._callback: ScriptCallback

    @property
    def run(self) -> RunFolder:
        """Return the run folder, which is the trainer's `output_dir`."""
        return RunFolder(Path(self._trainer.args.output_dir), self._config)

    @property
    def adds_evaluation(self) -> bool:
        """Return whether the next evaluation is not of `GRPOConfig`'s schedule."""
        return self._callback.adds_evaluation

    def write_report(self) -> Path:
        """Write `report.md` and its pictures from the records, in one of several processes."""
        if self._trainer.is_world_process_zero():
            _JOB.write_report(self.run)
        return self.run.report / "report.md"

    # ---- for the trainer -----------------------------------------------------------------------

    def attach(self, trainer: SessionTrainer) -> None:
        """Check the session against the trainer, and install its hooks."""
        if self._trainer is not None:
            raise ValueError("a ScriptSession serves one trainer: make another for this one")
        self._trainer = trainer
        if isinstance(trainer.eval_dataset, Mapping) or not _has_length(trainer.eval_dataset):
            raise ConfigError(
                "eval_dataset must be one data set with a length, the same questions at every "
                f"evaluation, got {type(trainer.eval_dataset).__name__}: join several, with the "
                "name of each in a column kind"
            )
        evaluates, writes = trainer.eval_dataset is not None, trainer.is_world_process_zero()
        if evaluates and writes and _has_length(trainer.train_dataset):
            _warn_of_shared(trainer.train_dataset, trainer.eval_dataset)
        self._named = self._name_rewards(trainer)
        self._updates = _updates_per_generation(trainer.args)
        self._config = self._make_config(steps=max(trainer.args.max_steps, 1))
        if not evaluates:
            _JOB.warn_unevaluated(self._config)
        self._named.check(self._config.objectives)
        if writes:
            notes = [*self._config.notes, *self._named.note_gate(self._config.objectives[0])]
            say([replace(one, text=one.in_script or one.text) for one in notes])
            self._warn_of_weights()
        settings = self._config.rewards
        timeout = settings.timeout if self._is_given("rewards.timeout") else None
        limits = Limits(timeout, settings.retries)
        check_rewards(
            trainer, limits, [one for one in trainer.reward_func_names if self._is_skipped(one)]
        )
        self._callback = ScriptCallback(trainer, self.open, self._updates)
        trainer.add_callback(self._callback)
        # Before the script's own callbacks: early stopping reads these measurements.
        trainer.callback_handler.callbacks.insert(0, FirstEvaluations(self._callback))

    @contextmanager
    def training(self, resume: str | bool | None) -> Iterator[str | None]:
        """Open the run while the trainer trains; yield the checkpoint from which it resumes.

        Raises:
            ConfigError: `output_dir` holds a run and `resume` is not given, or the checkpoint has
                no state of a session.
        """
        trainer, folder = self._trainer, self.run.path
        self._resumed = _find_checkpoint(self.run, resume)
        if self._resumed is not None and trainer.is_world_process_zero():
            step, checkpoint = self._resumed
            say([Note(f"Training resumes after step {step}, from {checkpoint}", warns=False)])
        elif self._resumed is None and self.run.has_records:
            _JOB.refuse_records(self.run)
        theirs = trainer.args.eval_on_start
        ours = self._resumed is None and trainer.eval_dataset is not None
        self._callback.adds_evaluation = ours and not theirs
        with ExitStack() as claims:
            claims.callback(setattr, trainer.args, "eval_on_start", theirs)
            trainer.args.eval_on_start = ours
            if trainer.is_world_process_zero():
                folder.mkdir(parents=True, exist_ok=True)
                claims.enter_context(self.run.claim())
                if "wandb" in trainer.args.report_to:
                    claims.enter_context(self._continue_wandb())
            try:
                yield None if self._resumed is None else str(self._resumed[1])
            except KeyboardInterrupt:
                self._finish("interrupted")
                raise
            except BaseException as error:
                if self._records:
                    self.run.fail(error)
                raise
            done = trainer.state.global_step >= trainer.state.max_steps
            self._finish("finished" if done else "stopped")

    def open(self, steps: int) -> None:
        """Begin or continue the records, now that the number of steps is known."""
        trainer = self._trainer
        self._config = self._make_config(steps)
        run, writes = self.run, trainer.is_world_process_zero()
        resumed = self._resumed is not None
        if resumed:
            _JOB.check_resumable(run)
        trainer.accelerator.wait_for_everyone()
        if writes:
            _JOB.begin(run, resumed=resumed, method=self._method)
        prompts = len(trainer.train_dataset) if _has_length(trainer.train_dataset) else 0
        session = Session(
            run,
            prompts=prompts,
            steps_per_epoch=math.ceil(prompts / self._config.optimiser.prompts_per_step),
            updates_per_step=self._updates,
            writes=writes,
        )
        if self._resumed is not None:
            step, folder = self._resumed
            session.restore(Checkpoints(folder.parent, kept=None).state(step))
        if writes and trainer.eval_dataset is not None:
            self._tell_price(steps, "" if resumed else "before the first step")
        trainer.session, trainer.controller = session, session.controller

    # ---- parts ---------------------------------------------------------------------------------

    @property
    def _records(self) -> bool:
        """Has this process begun to write the records?"""
        begun: bool = self._trainer.session is not None and self._trainer.is_world_process_zero()
        return begun

    def _tell_price(self, steps: int, first: str) -> None:
        """Log the completions of an evaluation, at a level visible by default."""
        args, every = self._trainer.args, self._config.evaluation.every
        questions, each = len(self._trainer.eval_dataset), self._trainer.num_generations_eval
        between = "" if every >= steps else f"every {every} steps"
        if args.eval_strategy == "epoch":
            between = "after every epoch"
        earlier = ", ".join(filter(None, (first, between)))
        _LOGGER.warning(
            "an evaluation generates %d questions x %d completions = %d: %safter the last step "
            "(evaluation.every or GRPOConfig.eval_strategy sets how often)",
            questions, each, questions * each, earlier and f"{earlier} and ",
        )  # fmt: skip

    def _finish(self, status: str) -> None:
        if self._records:
            self.run.finish(status)
            _JOB.say_end(self.run, evaluated=self._trainer.eval_dataset is not None)

    @contextmanager
    def _continue_wandb(self) -> Iterator[None]:
        """Give the trainer's W&B run the same name whenever this run trains."""
        names = ("WANDB_RUN_ID", "WANDB_RESUME")
        if any(name in os.environ for name in names):  # the script's own choice
            yield
            return
        name = self.run.manifest.get("wandb") or secrets.token_hex(4)
        self.run.update_manifest(wandb=name)
        os.environ.update(zip(names, (name, "allow"), strict=True))
        try:
            yield
        finally:
            for one in names:
                os.environ.pop(one, None)

    def _name_rewards(self, trainer: Any) -> NamedRewards:
        """Replace the trainer's reward functions by those of the objectives."""
        pools = getattr(trainer, "_environment_pool", {})
        named = NamedRewards(
            trainer.reward_funcs,
            trainer.reward_func_names if self._names is None else self._names,
            given=trainer.args.reward_weights,
            processing=trainer.reward_processing_classes,
            suites={suite: type(pool[0]) for suite, pool in pools.items()},
            gated={*(trainer.environment_factories or {})} - {None},
            objectives=self._table.get("objectives"),
            overrides=self._given,
            gate=self._gate,
        )
        trainer.reward_func_names = [one.name for one in named.rewards]
        trainer.reward_funcs = [one.function for one in named.rewards]
        trainer.reward_processing_classes = [one.processing for one in named.rewards]
        weights = [one.weight for one in named.rewards]
        trainer.reward_weights = torch.tensor(weights, dtype=torch.float32)
        return named

    def _make_config(self, steps: int) -> RunConfig:
        """Return the table, completed by the trainer's arguments."""
        trainer = self._trainer
        args, table = trainer.args, dict(self._table)
        if "objectives" not in table:
            table["objectives"] = self._named.make_tables()
        table["objectives"] = self._named.mark_gate(table["objectives"], self._threshold)
        given = self._given
        if self.keeps_advantages:
            given = self._weigh_as_trl(table)
        elif self._method is not None:
            given = apply_method(table, self._method, given)
        known = {
            "backend": "trl",
            "seed": args.seed,
            "model.path": trainer.model.config._name_or_path or type(trainer.model).__name__,
            "warmup.steps": 0,
            "optimiser.steps": steps,
            "optimiser.prompts_per_step": args.generation_batch_size // args.num_generations,
            "optimiser.group_size": args.num_generations,
            "optimiser.temperature": args.temperature,
            "optimiser.kl": args.beta,
            "evaluation.temperature": args.temperature,
            "model.gradient_checkpointing": bool(args.gradient_checkpointing),
            "run.out": args.output_dir,
        }
        if args.learning_rate > 0.0:
            known["optimiser.learning_rate"] = args.learning_rate
        if args.max_completion_length:
            known["optimiser.max_completion_tokens"] = args.max_completion_length
        if trainer.eval_dataset is not None and len(trainer.eval_dataset):
            known["evaluation.prompts"] = len(trainer.eval_dataset)
        if args.eval_strategy == "steps":  # a number, or a share of all steps
            every = args.eval_steps
            known["evaluation.every"] = int(every if every >= 1 else math.ceil(every * steps))
        elif not self._is_given("evaluation.every"):
            known["evaluation.every"] = steps  # only before the first and after the last
        chosen = flatten_names(table) | given
        estimator = chosen.get("paretopo.stage2_estimator")
        if estimator is None and chosen.get("recipe") == "paper":
            estimator = RECIPES["paper"]["stage2_estimator"]
        scaling = None if self.keeps_advantages else find_scaling(args, estimator)
        if scaling is not None:
            known["paretopo.stage2_estimator"] = scaling[0]
        config = _JOB.make_config(table, given | known)
        line = self._explain_method(config, estimator, scaling)
        return replace(config, notes=(line, *config.notes))

    def _weigh_as_trl(self, table: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values that describe TRL's training in the records.

        Raises:
            ConfigError: A setting has no effect on advantages that TRL computes.
        """
        given = flatten_names(table) | flatten_names(self._given)
        tables = self._named.tables
        idle = [
            *(f"objectives.{one.get('name')}.weight" for one in tables if "weight" in one),
            *(
                key
                for key in given
                if key.startswith("paretopo.") and not key.endswith("reference")
            ),
        ]
        if idle:
            raise ConfigError(
                f'method = "trl" keeps the advantages that TRL computes, so {idle[0]} has no '
                "effect: remove it, use GRPOConfig.reward_weights, or choose another method"
            )
        weights = {
            f"objectives.{one['name']}.weight": abs(self._named.weights.get(one["name"], 0.0))
            for one in table["objectives"]
        }
        return apply_method(table, "grpo", self._given | weights)

    def _explain_method(
        self, config: RunConfig, chosen: str | None, scaling: tuple[str, str] | None
    ) -> Note:
        """Return the line that says how the script trains, and why."""
        estimator, first = config.paretopo.stage2_estimator, config.objectives[0]
        units = [one.name for one in config.objectives if not may_be_share(one)] or [first.name]
        if self.keeps_advantages:
            reason = 'GRPO as TRL computes it, because method = "trl"'
        elif scaling is not None:
            reason = f"{estimator}, because {scaling[1]}"
        elif chosen is not None:
            reason = f"{self._method or chosen}, as chosen"
        elif estimator in (OF_UNKNOWN_UNITS, OF_UNKNOWN_UNITS_UNGATED):
            reason = f"{estimator}, which scales each reward separately, because "
            reason += f"{' and '.join(units)} may have any unit"
        elif config.paretopo.economies == "least":
            reason = f"the recipe ({estimator}), because {first.name} is the gate and every "
            reason += "other reward is a share"
        else:
            reason = f"{estimator} on the weighted sum, because there is "
            limited = any(one.limit is not None for one in config.objectives)
            each = 'economies = "each"' if first.gate else "no gate and every reward is a share"
            reason += "a limit" if limited else each
        gate = f"gate {first.name!r}" if first.gate else "no gate"
        if first.gate and config.paretopo.gate == "none":
            gate += " in evaluations only"
            if not self.keeps_advantages:
                gate += ' (overrides={"paretopo.gate": "success"} lets it act in training)'
        return Note(
            f"Training uses {reason}; {gate}; records in {self._trainer.args.output_dir}",
            warns=False,
        )

    def _warn_of_weights(self) -> None:
        """Warn about `GRPOConfig`'s weights, which apply only without objectives."""
        given = self._trainer.args.reward_weights
        if given is None or "objectives" not in self._table:
            return
        theirs, ours = self._named.weights, self._config.objectives
        pairs = [
            (abs(theirs[one.name]), one.weight or 0.0)
            for one in ours
            # TRL has one weight for all values of a function.
            if one.name in theirs and one.function is None
        ]
        if any(
            abs(a * d - b * c) > 1e-9 * max(abs(a * d), abs(b * c))
            for a, b in pairs
            for c, d in pairs
        ):
            weights = ", ".join(f"{one.name} {one.weight or 0.0:g}" for one in ours)
            warn_caller(
                f"GRPOConfig.reward_weights = {list(given)} has no effect: objectives are given, "
                f"and their weights are {weights}",
            )

    def _is_given(self, name: str) -> bool:
        return name in flatten_names(self._table) | self._given

    def _is_skipped(self, name: str) -> bool:
        """Return whether a failing call leaves its rollouts without the objective."""
        first = self._config.objectives[0]
        return self._config.rewards.failing == "skip" and not (first.gate and first.name == name)


def _warn_of_shared(trained: Any, held_out: Any) -> None:
    """Warn of held-out prompts that are trained on."""
    names = [] if trained is None else [*read_names(held_out)]
    shared = {*names}.intersection(read_names(trained)) if names else {}
    if shared:
        warn_caller(
            f"{len(shared)} of the {len(names)} prompts of eval_dataset are also trained on, so "
            f"evaluations measure memorised answers, the first: {min(shared)!r}",
        )


def _has_length(dataset: Any) -> bool:
    return dataset is None or hasattr(dataset, "__len__")


def _updates_per_generation(args: Any) -> int:
    uses, each = args.steps_per_generation * args.num_iterations, args.gradient_accumulation_steps
    if uses % each:
        raise ConfigError(
            "GRPOConfig.steps_per_generation * num_iterations must be a multiple of "
            f"gradient_accumulation_steps, got {args.steps_per_generation} * "
            f"{args.num_iterations} and {each}: an update would mix rollouts of two generations"
        )
    updates: int = uses // each
    return updates


def _find_checkpoint(run: RunFolder, resume: str | bool | None) -> tuple[int, Path] | None:
    """Return step and folder of the checkpoint to resume from."""
    if not resume:
        return None
    if resume is True:
        checkpoints = Checkpoints(run.path, kept=None)
        if not run.has_records and checkpoints.has_unfinished():
            raise ConfigError(
                f"resume_from_checkpoint: the checkpoints in {run.path} are not a ScriptSession's. "
                "If TRL wrote them, load one as the model, and give another output_dir"
            )
        checkpoints.remove_unfinished()
        latest = checkpoints.latest()
        return None if latest is None else (latest, checkpoints.path(latest))
    path = Path(resume)
    step = path.name.rpartition("-")[2]
    if not step.isdecimal() or int(step) not in Checkpoints(path.parent, kept=None).steps():
        raise ConfigError(
            f"resume_from_checkpoint: {path} is not a complete checkpoint of a ScriptSession; "
            f"{path.parent} has those of steps {Checkpoints(path.parent, kept=None).steps()}. "
            "If TRL wrote it, load it as the model, and give another output_dir"
        )
    return int(step), path
