"""The run folder of a job that a framework's own script starts.

The script's arguments replace the file of `paretopo train`. Its output folder becomes the run
folder, with the framework's checkpoints.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from paretopo.config import NONE, ConfigError, ParetoPOConfig, RunConfig, from_table
from paretopo.config.backend import check_backend
from paretopo.config.keys import keys
from paretopo.config.notes import Note, say, warn_caller
from paretopo.config.toml import flatten_names
from paretopo.records.folder import RunFolder

# Keys outside of [paretopo] that act in a script, whose framework sets everything else.
_EFFECTIVE = frozenset(
    {
        *(f"paretopo.{name}" for name in keys(ParetoPOConfig)),
        *("rewards.retries", "rewards.failing", "evaluation.every", "run.trajectories"),
    }
)


@dataclass(frozen=True)
class ForeignJob:
    """The names of a framework's arguments, for errors.

    Attributes:
        folder: Its argument for the output folder.
        resume: Its argument, with the value, that goes on from a checkpoint.
        trackers: Its argument for trackers.
        held_out: Its argument for held-out prompts.
        rewards: Where its rewards come from.
    """

    folder: str
    resume: str
    trackers: str
    held_out: str
    rewards: str

    def make_config(self, table: Mapping[str, Any], known: Mapping[str, Any]) -> RunConfig:
        """Make the configuration of a job.

        Args:
            table: The settings of its file or script, unchecked.
            known: Values that override it, by dotted name.

        Raises:
            ConfigError: As :func:`~paretopo.config.from_table`, or a key that only
                `paretopo train` takes.
        """
        config = from_table(table, known, any_unit=True)
        given = flatten_names(table)
        config = replace(config, effective=_EFFECTIVE | given.keys() | known.keys())
        check_backend(config)
        if config.run.tensorboard or config.run.wandb_project != NONE:
            raise ConfigError(
                "run.tensorboard and run.wandb_project are for paretopo train: in a script, "
                f"{self.trackers} names the trackers, and they get the same numbers"
            )
        if config.trl.generation != NONE:
            raise ConfigError(
                "trl.generation is for paretopo train: a script's own arguments choose its engine"
            )
        if config.rewards.file != NONE:
            raise ConfigError(
                f"rewards.file is for paretopo train: in a script, {self.rewards} gives the rewards"
            )
        if config.paretopo.preference == "given":
            raise ConfigError(
                'paretopo.preference = "given" is for paretopo train, which writes preferences '
                "into the prompts of its task: a script's prompts are its own"
            )
        return config

    def warn_unevaluated(self, config: RunConfig) -> None:
        """Warn of a job without held-out prompts."""
        staged = config.paretopo.stage1_steps != 0
        multiplied = ", and the multiplier of stage 1 stays 1" if staged else ""
        warn_caller(
            f"there is no {self.held_out}: nothing is evaluated, and paretopo report has nothing "
            f"to show{multiplied}; pass held-out questions as {self.held_out}",
        )

    def write_report(self, run: RunFolder) -> None:
        """Run `paretopo report` on a run, in a process of its own: it is not a part of training.

        Raises:
            RuntimeError: The command failed; the text is its last line.
        """
        command = [sys.executable, "-m", "paretopo", "report", str(run.path)]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        if done.returncode:
            last = done.stderr.strip().splitlines()[-1:]
            raise RuntimeError("".join([f"paretopo report {run.path} failed: ", *last]))

    def say_end(self, run: RunFolder, *, evaluated: bool) -> None:
        """Say how a run ended, and print the commands that show its records."""
        status = run.manifest["status"]
        ended = "The run was interrupted" if status == "interrupted" else f"The run has {status}"
        way = "" if status == "finished" else f" Go on with {self.resume}."
        commands = ("report", "show") if evaluated else ("show",)
        lines = (f"paretopo {one} {run.path}" for one in commands)
        say([Note("\n".join((f"{ended}.{way} See its records with:", *lines)), warns=False)])

    def refuse_records(self, run: RunFolder) -> None:
        """Refuse a job that would overwrite the records of a run."""
        raise ConfigError(
            f"{run.path} holds the records of a run: resume it with {self.resume}, or give another "
            f"{self.folder}"
        )

    def check_resumable(self, run: RunFolder) -> None:
        """Refuse checkpoints without the records of a run, or next to those of another run."""
        if not (run.path / "config.toml").exists():
            raise ConfigError(
                f"{run.path} holds checkpoints without the records of a run: begin again, with "
                f"another {self.folder}"
            )
        run.check_settings(f"give another {self.folder}")

    def begin(
        self,
        run: RunFolder,
        *,
        resumed: bool,
        method: str | None,
        files: Mapping[str, Path] | None = None,
    ) -> None:
        """Begin the records of a run, or note the length of a resumed one.

        Args:
            run: The run's folder.
            resumed: True if the framework goes on from a checkpoint.
            method: Its name in :mod:`~paretopo.config.methods`.
            files: The files that the script reads, by the argument that names them.
        """
        if resumed:
            self.check_resumable(run)
            run.write_config()
        else:
            run.path.mkdir(parents=True, exist_ok=True)
            run.begin(method=method, files=files, script=self.resume)
