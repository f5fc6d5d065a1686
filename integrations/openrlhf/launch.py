"""Run OpenRLHF's own command; only the classes that it starts are ours."""

from __future__ import annotations

import runpy
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from types import SimpleNamespace
from typing import Any

import ray

from paretopo.config import RunConfig
from paretopo.integrations.huggingface.policy import starts_warmed_up
from paretopo.integrations.openrlhf.options import penalise_overlong, refuse_options
from paretopo.integrations.openrlhf.rehearsal.checks import RehearsedSession
from paretopo.integrations.openrlhf.watch import watch_openrlhf
from paretopo.progress import make_bar
from paretopo.records.folder import RunFolder
from paretopo.rewards.own import load_own_rewards
from paretopo.session import Session

_BAR_SECONDS = 2.0
_NOT_CLIPPED = 1e9
_COMMAND = "openrlhf.cli.train_ppo_ray"


def parse_options(words: Sequence[str]) -> Any:
    """Return the tree into which OpenRLHF's own parser reads its options."""
    from openrlhf.utils import config as openrlhf_config

    class _Parsed(Exception):
        pass

    original = openrlhf_config.hierarchize

    def stop(parsed: Any) -> None:
        tree = original(parsed)
        refuse_options(tree)
        raise _Parsed(tree)

    with _use_arguments(words), _replace(openrlhf_config, "hierarchize", stop):
        try:
            runpy.run_module(_COMMAND, run_name="__main__", alter_sys=False)
        except _Parsed as parsed:
            return parsed.args[0]
    raise AssertionError


def start_session(run: RunFolder, prompts: int, *, rehearsal: bool) -> Any:
    """Start the session's actor on this machine, which has the run folder; return its handle."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    kind = RehearsedSession if rehearsal else Session
    actor = ray.remote(num_cpus=0)(kind).options(name=name_session(run), scheduling_strategy=here)
    session = actor.remote(
        RunFolder(run.path.resolve(), run.config),
        prompts=prompts,
        # OpenRLHF drops prompts that do not fill a last batch.
        steps_per_epoch=prompts // run.config.optimiser.prompts_per_step,
        warmed_up=starts_warmed_up(run.config),
        penalise=partial(penalise_overlong, run.config),
    )
    ray.get(session.steps_done.remote())  # raises the session's errors here
    return session


def name_session(run: RunFolder) -> str:
    """Return the name of the session's actor."""
    return f"paretopo {run.path.name}"


def run_command(
    words: Sequence[str],
    config: RunConfig,
    run: RunFolder,
    policy: type,
    session: Any,
    *,
    resuming: bool,
    rehearsal: bool,
) -> None:
    """Train with OpenRLHF's own command, and our trainer, estimator and `policy` process.

    Raises:
        RayError: An actor failed or died; if several died, Ray's message for the first.
    """
    from openrlhf.trainer import ppo_trainer, ppo_trainer_async
    from openrlhf.trainer.ray import ppo_actor

    from paretopo.integrations.openrlhf.trainer import ParetoPPOTrainer
    from paretopo.integrations.openrlhf.trainer_async import ParetoPPOTrainerAsync

    ppo_trainer.PPOTrainer = ray.remote(ParetoPPOTrainer)
    ppo_trainer_async.PPOTrainerAsync = ray.remote(ParetoPPOTrainerAsync)
    ppo_actor.PolicyModelActor = ray.remote(num_gpus=1)(policy)
    load_own_rewards(config)  # raises before anything starts
    settings = SimpleNamespace(
        session=name_session(run),
        steps=config.optimiser.steps,
        evaluate_every=config.evaluation.every,
        trajectories=config.run.trajectories,
        objectives=[one.name for one in config.objectives],
        resuming=resuming,
        rehearsal=str(run.path.resolve() / "rehearsal") if rehearsal else "",
    )
    with (
        _use_arguments(words),
        _join_settings(settings),
        _show_progress(config.optimiser.steps, session),
        watch_openrlhf() as watch,
    ):
        try:
            runpy.run_module(_COMMAND, run_name="__main__", alter_sys=False)
        except ray.exceptions.RayError as error:
            raise watch.death or error from None


@contextmanager
def _show_progress(steps: int, session: Any) -> Iterator[None]:
    """Show a bar of training steps while OpenRLHF occupies the main thread."""
    over = threading.Event()

    def show() -> None:
        shown: tuple[int, str] | None = None
        with make_bar(total=steps, desc="training", unit="step") as bar:
            while not over.wait(_BAR_SECONDS):
                try:
                    done, words = ray.get(session.progress.remote(), timeout=_BAR_SECONDS)
                except ray.exceptions.RayError:
                    continue  # the main thread reports the error
                if (done, words) != shown:
                    shown = done, words
                    bar.n = done
                    bar.set_postfix_str(words)

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(2 * _BAR_SECONDS)


def _use_arguments(words: Sequence[str]) -> AbstractContextManager[None]:
    return _replace(sys, "argv", [_COMMAND, *words])


def _join_settings(settings: SimpleNamespace) -> AbstractContextManager[None]:
    """Add these settings to OpenRLHF's parsed options, which every process gets as a tree."""
    from openrlhf.utils import config as openrlhf_config

    from paretopo.integrations.openrlhf.experience import ESTIMATOR

    original = openrlhf_config.hierarchize

    def with_settings(parsed: Any) -> Any:
        tree = original(parsed)
        refuse_options(tree)
        tree.paretopo = settings
        # Not choices of the command line: the session computes the advantages, which OpenRLHF
        # carries as rewards, takes the overlong penalty off them, and evaluates.
        tree.algo.advantage.estimator = ESTIMATOR
        tree.reward.clip_range = (-_NOT_CLIPPED, _NOT_CLIPPED)
        tree.reward.overlong_buffer_len = None
        tree.eval.steps = -1
        tree.ckpt.best_metric_key = "none"
        return tree

    return _replace(openrlhf_config, "hierarchize", with_settings)


@contextmanager
def _replace(module: Any, name: str, value: Any) -> Iterator[None]:
    original = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, original)
