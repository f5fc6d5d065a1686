"""`paretopo train` on OpenRLHF: prepare, start Ray, run OpenRLHF's command with our classes."""

from __future__ import annotations

import os
from collections.abc import Sequence

from paretopo.config import ConfigError, RunConfig
from paretopo.integrations.huggingface.adapters import merge_saved_adapter
from paretopo.integrations.openrlhf.failures import explain_failure
from paretopo.integrations.openrlhf.options import (
    check_openrlhf,
    gpus_needed,
    openrlhf_options,
    worker_variables,
)
from paretopo.integrations.openrlhf.prepare import prepare
from paretopo.integrations.openrlhf.rehearsal.checks import check, format_proofs
from paretopo.integrations.openrlhf.rehearsal.plan import plan_options
from paretopo.integrations.openrlhf.rehearsal.stand_ins import (
    prepare_process,
    start_ray,
    use_cpu_engines,
)
from paretopo.interrupt import Interrupt, terminate_as_interrupt
from paretopo.records.folder import RunFolder
from paretopo.tasks.choice import ensure_search_server


def train(
    config: RunConfig, run: RunFolder, *, resume: bool = False, options: Sequence[str] = ()
) -> None:
    """Run a configuration to its end; records, checkpoints and the model go to the run folder.

    Args:
        config: The configuration of the run.
        run: The run folder; on a cluster, every machine must see it.
        resume: Continue from OpenRLHF's last checkpoint (or from the beginning).
        options: Further options of OpenRLHF; they override the configuration.

    Raises:
        ConfigError: The installed OpenRLHF does not fit, a file is missing or wrong, or OpenRLHF
            does not support a setting.
        BadRollout: The agent failed, hung, or returned no finite reward; names the prompt.
        RuntimeError: Training ended before its last step.
    """
    # Ray's workers run in the folder where Ray was started, where a relative path differs.
    run = RunFolder(run.path.resolve(), run.config)
    check_openrlhf()
    rehearsal = bool(run.manifest.get("rehearsal"))
    if rehearsal:
        (run.path / "rehearsal").mkdir(exist_ok=True)
        prepare_process()
    with ensure_search_server(config, run.data) as served:
        with Interrupt() as interrupt:
            files = prepare(served, run, lambda: interrupt.came)
        words = openrlhf_options(served, run, files, resume=resume)
        if rehearsal:
            words = plan_options(words)
        done = run_openrlhf(
            [*words, *options],
            served,
            run,
            files.prompt_count,
            resume,
            how_to_resume=f"paretopo train --resume {run.path}",
        )
    if done < config.optimiser.steps:
        raise RuntimeError(
            f"the prompts ran out after {done} of {config.optimiser.steps} steps: too few groups "
            "teach anything; turn openrlhf.dynamic_sampling off, or give more prompts"
        )
    if not any(run.model.iterdir()):
        raise RuntimeError(
            f"OpenRLHF ended without a model in {run.model}: do all machines see that folder?"
        )
    if config.model.lora.rank:
        merge_saved_adapter(run.model, files.model)
    print_proofs(run)


def print_proofs(run: RunFolder) -> None:
    """Check the records of a rehearsal and print the proofs; do nothing after a training."""
    left = run.manifest.get("rehearsal")
    if left:
        print(format_proofs(check(run), left))


def run_openrlhf(
    words: Sequence[str],
    config: RunConfig,
    run: RunFolder,
    prompts: int,
    resuming: bool,
    *,
    how_to_resume: str,
) -> int:
    """Start Ray, run OpenRLHF's command with our classes, and end Ray.

    Args:
        words: OpenRLHF's options.
        config: The configuration of the run.
        run: The run folder, with its absolute path.
        prompts: Number of training prompts.
        resuming: True if OpenRLHF goes on from a checkpoint.
        how_to_resume: The command that does so, for errors.

    Returns:
        The number of steps done: fewer than configured if the prompts ran out.

    Raises:
        ConfigError: Ray knows too few GPUs.
        RuntimeError: A process failed or died.
    """
    import ray

    rehearsal = bool(run.manifest.get("rehearsal"))

    # An engine starts processes of its own. A killed engine cannot end them, and they would keep a
    # GPU's memory, so Ray has to end them. Ray reads this setting at its start.
    os.environ.setdefault("RAY_process_group_cleanup_enabled", "true")
    if rehearsal:
        start_ray(gpus_needed(words), worker_variables(config))
        use_cpu_engines()
        from paretopo.integrations.openrlhf.rehearsal.processes import RehearsedPolicyActor

        policy: type = RehearsedPolicyActor
    else:
        ray.init(runtime_env={"env_vars": worker_variables(config)})
        known = int(ray.cluster_resources().get("GPU", 0))
        if known < gpus_needed(words):  # OpenRLHF would wait for them silently
            ray.shutdown()
            raise ConfigError(
                f"openrlhf: the run needs {gpus_needed(words)} GPUs, and Ray knows of {known}; "
                "start Ray on more machines, or change nodes, gpus_per_node and engines"
            )
        from paretopo.integrations.openrlhf.actor import ParetoPolicyActor

        policy = ParetoPolicyActor
    from paretopo.integrations.openrlhf.launch import run_command, start_session

    try:
        with terminate_as_interrupt():  # ray.init has replaced our handler
            session = start_session(run, prompts, rehearsal=rehearsal)
            run_command(words, config, run, policy, session, resuming=resuming, rehearsal=rehearsal)
            done: int = ray.get(session.steps_done.remote())
            if done >= config.optimiser.steps:
                ray.get(session.finish.remote())
    except ray.exceptions.RayError as error:
        raise explain_failure(error, how_to_resume) from error
    finally:
        ray.shutdown()
    return done
