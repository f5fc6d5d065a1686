"""`paretopo train` on verl: prepare, then run verl's own command with our trainer."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence

from paretopo.config import RunConfig
from paretopo.integrations.huggingface.adapters import merge_saved_weights
from paretopo.integrations.huggingface.files import link_or_copy
from paretopo.integrations.verl.options import verl_options
from paretopo.integrations.verl.prepare import prepare
from paretopo.integrations.verl.rehearsal.plan import plan_options, worker_variables
from paretopo.integrations.verl.version import verl_version
from paretopo.interrupt import Interrupt
from paretopo.records.files import read_rows
from paretopo.records.folder import RunFolder
from paretopo.records.sweeps import split_sweeps
from paretopo.tasks.choice import ensure_search_server

_COMMAND = "verl.trainer.main_ppo"
_END_SECONDS = 60  # for Ray to end its processes


def train(
    config: RunConfig, run: RunFolder, *, resume: bool = False, options: Sequence[str] = ()
) -> None:
    """Run a configuration to its end; records, checkpoints and the model go to the run folder.

    Args:
        config: The configuration of the run.
        run: The run folder; on a cluster, every machine must see it.
        resume: Continue from verl's last checkpoint, or from the beginning; verl finds the
            checkpoint.
        options: Further options of verl; they override the configuration.

    Raises:
        ConfigError: The installed verl does not fit, a file is missing or wrong, or verl does not
            support a setting.
        RuntimeError: verl failed, or ended before the last step.
    """
    run = RunFolder(run.path.resolve(), config)
    verl_version()
    rehearsal = bool(run.manifest.get("rehearsal"))
    with ensure_search_server(config, run.data) as served:
        with Interrupt() as interrupt:
            files = prepare(served, run, lambda: interrupt.came)
        words = verl_options(served, run, files)
        words += plan_options() if rehearsal else []
        command = [sys.executable, "-m", _COMMAND, *words, *options]
        print("resumed:" if resume else "running:", shlex.join(command), flush=True)
        code = _run(command, {**os.environ, **(worker_variables() if rehearsal else {})})
    done = max((row["step"] for row in run.steps()), default=0)
    if code or done < config.optimiser.steps:
        raise RuntimeError(
            f"verl ended with code {code} after {done} of {config.optimiser.steps} steps; its own "
            f"output is above; resume with: paretopo train --resume {run.path}"
        )
    _keep_model(run, done)
    if rehearsal:
        print(_format_proofs(run))


def _format_proofs(run: RunFolder) -> str:
    """Return the summary that ends a rehearsal, which fails at the first wrong step."""
    steps = {row["step"]: row for row in read_rows(run.path / "rehearsal.jsonl")}.values()
    seen = sorted({row["stage"] for row in steps})
    stages = f"stage{'s' * (len(seen) > 1)} {' and '.join(map(str, seen))}"
    evaluations = len(split_sweeps(run.evaluations()))
    rollouts, unequal = (sum(row[name] for row in steps) for name in ("rollouts", "not_zero"))
    return "\n".join(
        [
            "",
            "The rehearsal is over. Proved here, on the real verl, Ray and TransferQueue:",
            f"  + {len(steps)} steps of {stages}, {evaluations} evaluations",
            f"  + the queue got the controller's advantages: {rollouts} rollouts, {unequal} "
            "advantages not 0",
            "  + engine and policy give every token the same probability",
            "Not covered here; test these parts on a GPU:",
            *(f"  - {sentence}" for sentence in run.manifest["rehearsal"]),
        ]
    )


def _run(command: Sequence[str], variables: Mapping[str, str]) -> int:
    """Run a command and return its exit code; pass an interrupt on and wait for the end."""
    with subprocess.Popen(command, env=variables) as process:
        try:
            return process.wait()
        except BaseException:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
            raise


def _keep_model(run: RunFolder, step: int) -> None:
    """Save the policy of the last checkpoint in Hugging Face's format as `model/`."""
    saved = run.checkpoints / f"global_step_{step}" / "actor" / "huggingface"
    if not any(saved.glob("*.safetensors")):
        raise RuntimeError(f"verl ended without a model in {saved}: do all machines see it?")
    for path in saved.iterdir():
        target = run.model / path.name
        target.unlink(missing_ok=True)
        link_or_copy(path, target)
    lora = run.config.model.lora
    if lora.rank:
        merge_saved_weights(run.model, lora.alpha / lora.rank)
