"""`paretopo train` on TRL: warm-up and training of one run, begun or resumed."""

from __future__ import annotations

import hashlib
import json
import math
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from transformers import PrinterCallback
from transformers.utils import logging as transformers_logging

from paretopo.config import TINY, ConfigError, RunConfig
from paretopo.integrations.huggingface.generation import GenerationStopped, stop_generation
from paretopo.integrations.huggingface.loading import is_adapted, save_policy
from paretopo.integrations.huggingface.policy import warm_up_policy
from paretopo.integrations.huggingface.threads import use_threads
from paretopo.integrations.trl.answers import AnswerTrainer
from paretopo.integrations.trl.arguments import make_answer_arguments, make_rollout_arguments
from paretopo.integrations.trl.callbacks import EvaluationProgress, Progress, WholeCheckpoints
from paretopo.integrations.trl.checkpoints import Checkpoints
from paretopo.integrations.trl.choices import Choices
from paretopo.integrations.trl.datasets import make_answer_dataset, make_question_dataset
from paretopo.integrations.trl.policy import load_policy
from paretopo.integrations.trl.rewards import SessionRewards
from paretopo.integrations.trl.rollouts import ProtocolRollouts
from paretopo.integrations.trl.session import SessionCallback
from paretopo.integrations.trl.task_trainer import TaskTrainer
from paretopo.interrupt import Interrupt
from paretopo.progress import make_bar
from paretopo.records.files import Row
from paretopo.records.folder import RunFolder
from paretopo.rewards.own import load_own_rewards
from paretopo.session import Session
from paretopo.tasks.choice import ensure_search_server, make_task
from paretopo.tasks.environment import Environment, open_environment
from paretopo.tasks.task import Task


def train(config: RunConfig, run: RunFolder, *, resume: bool = False) -> None:
    """Run a configuration to its end; records, checkpoints and the model go to the run folder.

    Args:
        config: The configuration of the run.
        run: The run folder.
        resume: Continue from the last complete checkpoint (or the saved warm-up, or the beginning).
            The results equal those of an uninterrupted run.

    Raises:
        ConfigError: The model cannot be loaded or cannot call tools, the task's files or tools
            cannot be used, or several processes were launched.
        KeyboardInterrupt: Ctrl-C came. An update that had begun is finished, a generation stops at
            the next token, and the last whole step is saved.
        ValueError: A reward is NaN or missing; the message names the prompt and the reward.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise ConfigError(
            "paretopo train runs in one process; for several, use ParetoGRPOTrainer in a script "
            "of your own and start that with accelerate launch"
        )
    with _open_task(config, run) as opened:
        _train(*opened, run, resume=resume)


def evaluate(config: RunConfig, run: RunFolder) -> list[Row]:
    """Ask the held-out questions of a task once, as a training does between two steps.

    Args:
        config: Model, task and rewards.
        run: The folder that records the evaluation.

    Returns:
        The rows of ``evaluations.jsonl``, one for each preference.

    Raises:
        ConfigError: As for :func:`train`.
    """
    with _open_task(config, run) as (_, task, environment, device):
        model, tokenizer = load_policy(config, task, device)
        session = _session(config, task, run)
        _, sampler = _trainer(
            session, task, environment, model, tokenizer, device, evaluate_first=False
        )
        questions = len(sampler.eval_dataset)
        with make_bar(desc="evaluation", total=questions, unit=" questions") as bar:
            batch = sampler.args.per_device_eval_batch_size
            sampler.add_callback(EvaluationProgress(bar, batch))
            sampler.evaluate()
    return run.evaluations()


@contextmanager
def _open_task(
    config: RunConfig, run: RunFolder
) -> Iterator[tuple[RunConfig, Task, Environment, str]]:
    """Open the task's tools; yield configuration, task, environment and device."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    transformers_logging.disable_progress_bar()  # a bar for each saved file would hide ours
    use_threads(config.run.threads, made=config.model.is_made)
    with ensure_search_server(config, run.data) as served:
        task = make_task(served)
        with open_environment(served) as environment:
            yield served, task, environment, device


def _train(
    config: RunConfig,
    task: Task,
    environment: Environment,
    device: str,
    run: RunFolder,
    *,
    resume: bool,
) -> None:
    model, tokenizer = load_policy(config, task, device)
    bonus = config.optimiser.decision_entropy > 0.0
    choices = Choices(tokenizer, task.functions) if bonus else None
    if config.model.path == TINY:
        _check_vocabulary(run, tokenizer)
    checkpoints = Checkpoints(run.checkpoints)
    checkpoints.remove_unfinished()
    done = checkpoints.latest() if resume else None

    with Interrupt() as interrupt:
        if done is None and config.warmup.steps > 0:
            state = run.checkpoints / "warmup.pt"
            warm_up_policy(config, task, model, tokenizer, state, lambda: interrupt.came)
        session = _session(config, task, run)
        if resume:
            session.restore(None if done is None else checkpoints.state(done))
        _keep_initial_policy(config, model, tokenizer, run, starting=done is None)
        owed = done if done is not None and _is_evaluation_missing(session, done) else None
        first = done is None or owed is not None
        trainer, sampler = _trainer(
            session,
            task,
            environment,
            model,
            tokenizer,
            device,
            evaluate_first=first,
            choices=choices,
        )
        stop_generation(model, lambda: interrupt.came)
        whole = WholeCheckpoints(trainer, checkpoints, session, interrupt, owed)
        for one in {id(trainer): trainer, id(sampler): sampler}.values():
            one.add_callback(whole)
        try:
            trainer.train(None if done is None else str(checkpoints.path(done)))
        except GenerationStopped:
            whole.keep()
            raise KeyboardInterrupt from None
        if interrupt.came and trainer.state.global_step < config.optimiser.steps:
            raise KeyboardInterrupt
    save_policy(trainer.accelerator.unwrap_model(trainer.model), tokenizer, run.model)
    session.finish()


def _check_vocabulary(run: RunFolder, tokenizer: Any) -> None:
    """Refuse to go on with a tiny model whose words have changed, and with them its tokens."""
    words = json.dumps(tokenizer.get_vocab(), sort_keys=True)
    digest = hashlib.sha256(words.encode()).hexdigest()
    if run.manifest.get("vocabulary", digest) != digest:
        raise ConfigError(
            'model.path = "tiny" takes its vocabulary from the questions, answers and '
            "demonstrations, and their words have changed since the run was started, so its "
            "weights do not fit: restore the files, or start a new run"
        )
    run.update_manifest(vocabulary=digest)


def _is_evaluation_missing(session: Session, step: int) -> bool:
    """Return whether a checkpoint was saved in the middle of the evaluation of its step."""
    every, steps = session.config.evaluation.every, session.config.optimiser.steps
    last = max((row["step"] for row in session.run.evaluations()), default=-1)
    return (step % every == 0 or step >= steps) and last < step


def _session(config: RunConfig, task: Task, run: RunFolder) -> Session:
    prompts = len(task.training)
    return Session(
        run,
        prompts=prompts,
        steps_per_epoch=math.ceil(prompts / config.optimiser.prompts_per_step),
        warmed_up=config.warmup.steps > 0,
    )


def _trainer(
    session: Session,
    task: Task,
    environment: Environment,
    model: Any,
    tokenizer: Any,
    device: str,
    *,
    evaluate_first: bool,
    choices: Choices | None = None,
) -> tuple[TaskTrainer | AnswerTrainer, TaskTrainer]:
    """Return trainer and sampler, possibly one object, without the callbacks of checkpoints."""
    config, run = session.config, session.run
    questions, new_episode = task.sweep(), environment.new_episode
    asked = list(task.schedule(config.optimiser.steps, config.optimiser.prompts_per_step))
    with warnings.catch_warnings():
        # TRL warns that this interface may change; its release is pinned.
        warnings.filterwarnings("ignore", message="You are using 'rollout_func'")
        sampler = TaskTrainer(
            model=model,
            args=make_rollout_arguments(
                config, run, device, evaluate_first=evaluate_first, held_out=len(questions)
            ),
            train_dataset=make_question_dataset(task, asked, tokenizer, held_out=False),
            eval_dataset=make_question_dataset(task, questions, tokenizer, held_out=True),
            processing_class=tokenizer,
            tools=list(task.functions) or None,
            rollout_func=None if new_episode is None else ProtocolRollouts(new_episode),
            session=session,
            rewards=SessionRewards(
                environment.grade_all,
                load_own_rewards(config),
                environment.prices,
                names_tools=bool(task.functions),
            ),
            evaluation_temperature=config.evaluation.temperature,
            choices=choices,
        )
    sampler.remove_callback(PrinterCallback)
    held_out = [question.id for question in task.held_out]
    callbacks = SessionCallback(sampler, held_out), Progress(session)
    for callback in callbacks:
        sampler.add_callback(callback)  # evaluations run here
    if config.optimiser.learn_from == "rewards":
        return sampler, sampler
    trainer = AnswerTrainer(
        model=model,
        args=make_answer_arguments(config, run, device, evaluate_first=evaluate_first),
        train_dataset=make_answer_dataset(task, asked, tokenizer),
        processing_class=tokenizer,
        sampler=sampler,
    )
    trainer.remove_callback(PrinterCallback)
    for callback in callbacks:
        trainer.add_callback(callback)  # evaluations are requested here
    return trainer, sampler


def _keep_initial_policy(
    config: RunConfig, model: Any, tokenizer: Any, run: RunFolder, *, starting: bool
) -> None:
    """Save the policy if TRL loads its path: for the KL penalty's reference, or into vLLM."""
    if is_adapted(model) or not (config.optimiser.kl > 0 or "vllm" in config.trl.generation):
        return
    folder = run.checkpoints / "reference"
    if starting:
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    model.config._name_or_path = model.name_or_path = str(folder)
