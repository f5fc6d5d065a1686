"""A run's folder: its configuration, its records, and the state that it continues from.

::

    config.toml         the configuration with every switch resolved
    manifest.json       versions, seed, git commit, machine, command, start and end
    steps.jsonl         one row per training step
    evaluations.jsonl   one row per held-out evaluation
    questions.json      means of each held-out question in the first and the last evaluation
    trajectories.jsonl  one row per prompt with recorded rollouts
    checkpoints/        states for resuming
    claim               held by the process that trains here
    model/              the trained policy
    report/             tables and pictures drawn from the records

Rows are lines of JSON; :mod:`~paretopo.records.files` describes the effect of a kill. One process
writes into a folder, and its manifest records how; folders of evaluations work in the same way.
"""

from __future__ import annotations

import dataclasses
import errno
import fcntl
import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from paretopo.config import RECIPES, ConfigError, RunConfig, dumps, load
from paretopo.config.python_files import anchor, hash_files, hash_run_files, list_code
from paretopo.records import files
from paretopo.records.files import Row, write_text
from paretopo.records.provenance import git_commit, machine, versions
from paretopo.records.trajectories import Group, append_group, read_groups, shorten

MOST_TEXT = 100 * 10**6  # bytes of a run's rollouts as text
_RESERVE = "\0" * 2**16  # bytes that `claim` holds, so that the manifest fits a full disk
_FULL = 2**16  # free bytes


class ClaimedError(ConfigError):
    """Another process works in the folder."""


class Folder:
    """A folder of results, of a training or of an evaluation."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def claim(self) -> Iterator[None]:
        """Keep other processes from writing into this folder; a killed process claims nothing.

        Raises:
            ClaimedError: another process works here.
        """
        with self._claim.open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ClaimedError(
                    f"another process works in {self.path}: wait for its end, or end it first"
                ) from None
            except OSError:
                pass  # a file system without locks
            with suppress(OSError):
                os.truncate(file.fileno(), 0)
                file.write(_RESERVE)
                file.flush()
            try:
                yield
            finally:
                os.truncate(file.fileno(), 0)

    @property
    def _claim(self) -> Path:
        return self.path / "claim"

    @property
    def manifest(self) -> Row:
        """``manifest.json`` as it is now; empty before it is written.

        Raises:
            ConfigError: it holds no JSON object.
        """
        path = self.path / "manifest.json"
        if not path.exists():
            return {}
        found = files.parse_object(path.read_bytes())
        if found is None:
            raise ConfigError(f"{path} is broken: it holds no JSON object; repair or remove it")
        return found

    def update_manifest(self, **entries: Any) -> None:
        """Set entries of ``manifest.json``; the file is replaced whole, never half written."""
        merged = self.manifest | entries
        write_text(self.path / "manifest.json", json.dumps(files.to_json(merged), indent=2) + "\n")

    def finish(self, status: str = "finished", error: BaseException | None = None) -> None:
        """Note the end of the work: "finished", "interrupted", or "failed" and why."""
        message = None if error is None else f"{type(error).__name__}: {error}"
        self.update_manifest(ended=now(), status=status, error=message)

    @contextmanager
    def removed_if_refused(self) -> Iterator[None]:
        """Remove the folder if the work is refused before anything is recorded."""
        try:
            yield
        except ClaimedError:
            raise  # the folder belongs to another process
        except ConfigError:
            kept = [*self.path.glob("*.jsonl"), *self.path.glob("checkpoints/*")]
            if not kept and not any(self.path.glob("model/*")):
                shutil.rmtree(self.path, ignore_errors=True)
            raise

    @contextmanager
    def note_failure(self) -> Iterator[None]:
        """Note when the work is interrupted or fails, and let the error go on."""
        try:
            yield
        except KeyboardInterrupt:
            self.finish("interrupted")
            raise
        except Exception as error:
            self.fail(error)
            raise

    def fail(self, error: BaseException) -> None:
        """Note that the work failed, also on a full disk.

        Raises:
            OSError: A full disk is the reason; says so, whatever a library calls it.
        """
        if not _is_disk_full(self.path, error):
            self.finish("failed", error)
            return
        why = f"the disk is full ({type(error).__name__}: {error}); free some space, then resume"
        full = OSError(errno.ENOSPC, why, str(self.path))
        with suppress(OSError):
            os.truncate(self._claim, 0)  # leaves room for the manifest
            self.finish("failed", full)
        raise full from error


class RunFolder(Folder):
    """The folder of one run; made by :meth:`create`, found again by :meth:`open`.

    Attributes:
        config: The configuration of the run.
        checkpoints: Folder of the checkpoints that a resumed run continues from.
        model: Folder of the trained policy.
        data: Folder of questions and passages that were made for the run; it may be missing.
        report: Folder of tables and pictures drawn from the records.

    >>> import tempfile
    >>> from paretopo.config import from_table
    >>> with tempfile.TemporaryDirectory() as out:
    ...     run = RunFolder.create(out, from_table({"seed": 7}))
    ...     run.append_step({"step": 1, "accuracy": 0.5})
    ...     again = RunFolder.open(run.path)
    ...     again.steps(), again.config.seed
    ([{'step': 1, 'accuracy': 0.5}], 7)
    """

    def __init__(self, path: Path, config: RunConfig) -> None:
        super().__init__(path)
        self.config = config
        self.checkpoints, self.model = path / "checkpoints", path / "model"
        self.data, self.report = path / "data", path / "report"

    @classmethod
    def create(
        cls,
        out: str | Path,
        config: RunConfig,
        *,
        command: list[str] | None = None,
        method: str | None = None,
    ) -> RunFolder:
        """Make a fresh folder under ``out``, named after task, method, seed and time (UTC).

        Args:
            out: where run folders are kept; made if missing.
            config: written as ``config.toml``.
            command: how the run was started, for the manifest; the process's own by default.
            method: Its name in :mod:`~paretopo.config.methods`, for name and manifest; by default
                the recipe, and its estimator if the file has another.
        """
        stamp = f"{datetime.now(UTC):%Y%m%d-%H%M%S}"
        name = f"{config.task.name}-{method or _name_method(config)}-seed{config.seed}-{stamp}"
        run = cls(fresh_folder(Path(out), name), config)
        for folder in ("checkpoints", "model", "report"):
            (run.path / folder).mkdir()
        run.begin(command=command, method=method)
        return run

    def begin(
        self,
        *,
        command: list[str] | None = None,
        method: str | None = None,
        files: Mapping[str, Path] | None = None,
        **entries: Any,
    ) -> None:
        """Write ``config.toml`` and ``manifest.json``, as :meth:`create` does.

        Args:
            command: as for :meth:`create`.
            method: as for :meth:`create`.
            files: Further files that the run reads, by the option that names them.
            **entries: more of the manifest.
        """
        self.write_config()
        self.update_manifest(
            started=now(),
            ended=None,
            status="running",
            seed=self.config.seed,
            method=method or _name_method(self.config),
            command=shlex.join(sys.argv if command is None else command),
            versions=versions(),
            machine=machine(),
            git=git_commit(),
            # From the run folder, so that both can be moved together.
            directory=os.path.relpath(Path.cwd(), self.path),
            files=hash_run_files(self.config) | hash_files(files or {}),
            **entries,
        )

    def write_config(self) -> None:
        """Replace ``config.toml``."""
        write_text(self.path / "config.toml", dumps(self.config))

    @classmethod
    def open(cls, path: str | Path) -> RunFolder:
        """Open the run in a folder.

        Raises:
            ConfigError: it is no run folder, or its ``config.toml`` or ``manifest.json`` is broken.
        """
        path = Path(path)
        if not path.exists():
            raise ConfigError(f"there is no folder {path}: give a run folder")
        if not (path / "config.toml").is_file():
            raise ConfigError(f"{path} is not a run folder: it holds no config.toml")
        try:
            config = load(path / "config.toml")
        except ConfigError as error:
            old = "unknown key" in str(error)
            way = "; if an earlier version wrote it, delete the line" if old else ""
            raise ConfigError(f"{error}{way}") from None
        run = cls(path, config)
        directory = run.manifest.get("directory")  # a broken manifest is refused here
        if directory is not None:
            run.config = anchor(run.config, (path / directory).resolve())
        return run

    def check_settings(self, otherwise: str) -> None:
        """Refuse to resume with other settings; only the number of steps may grow.

        Args:
            otherwise: What to do instead.

        Raises:
            ConfigError: a section differs that the records depend on.
        """
        kept = RunFolder.open(self.path).config
        for section in ("recipe", "seed", "objectives", "rewards", "paretopo", "preference"):
            begun, given = getattr(kept, section), getattr(self.config, section)
            if begun != given:
                changed = _list_changes(section, begun, given) or [section]  # in another order
                raise ConfigError(
                    f"the run was begun with other values of {', '.join(changed)}, see config.toml "
                    f"in its folder: resume with those, or {otherwise}"
                )

    def check_trust(self, options: Sequence[str] = ()) -> None:
        """Refuse to execute code that the folder names; call it unless the user trusts the folder.

        Args:
            options: Those of the manifest that are handed on to the trainer.

        Raises:
            ConfigError: Names the settings that execute code.
        """
        found = [*list_code(self.config), *([f"options {shlex.join(options)}"] if options else [])]
        if found:
            raise ConfigError(
                f"{self.path} executes code on this machine, by {'; '.join(found)}: read the code, "
                "and add --trust if you trust it"
            )

    def check_files(self) -> None:
        """Refuse to resume after a file that the run reads has changed.

        Raises:
            ConfigError: Names the files.
        """
        before, now_ = self.manifest.get("files"), hash_run_files(self.config)
        changed = [name for name, digest in (before or {}).items() if now_.get(name) != digest]
        if changed:
            raise ConfigError(
                f"{', '.join(changed)} changed after the start of the run: one archive would "
                "contain two measures; restore them, or resume with --accept-changes"
            )

    def accept_files(self) -> None:
        """Note the files as they are now, and the step from which on."""
        self.update_manifest(
            files=hash_run_files(self.config),
            accepted=[*self.manifest.get("accepted", []), {"at": now(), "step": self.last_step()}],
        )

    @property
    def has_records(self) -> bool:
        """Return whether anything was recorded; a job that failed at its start leaves nothing."""
        return any((self.path / name).exists() for name in ("steps.jsonl", "evaluations.jsonl"))

    def last_step(self) -> int:
        """Return the last recorded step; 0 before the first."""
        return max((row["step"] for row in self.steps()), default=0)

    def extend(self, steps: int) -> None:
        """Make the run longer: its steps in all.

        Raises:
            ConfigError: It has as many.
        """
        if steps <= self.config.optimiser.steps:
            raise ConfigError(
                f"--steps must be more than the {self.config.optimiser.steps} steps that the run "
                f"is configured for, got {steps}; it has recorded {self.last_step()}"
            )
        written = load(self.path / "config.toml", {"optimiser.steps": steps})
        RunFolder(self.path, written).write_config()
        optimiser = replace(self.config.optimiser, steps=steps)
        self.config = replace(self.config, optimiser=optimiser)

    @property
    def method(self) -> str:
        """Return its name in :mod:`~paretopo.config.methods`.

        Without a method it is the recipe, and its estimator if the file has another.
        """
        return str(self.manifest.get("method") or _name_method(self.config))

    @property
    def title(self) -> str:
        """Return its method, or the name of its folder if a script chose no method."""
        unnamed = self.manifest.get("script") and self.method == _name_method(self.config)
        return self.path.resolve().name if unnamed else self.method

    # ---- rows --------------------------------------------------------------------------------

    def append_step(self, row: Mapping[str, Any]) -> None:
        """Add a row to ``steps.jsonl``; it must say its ``step``."""
        files.append_row(self.path / "steps.jsonl", row)

    def append_evaluation(self, row: Mapping[str, Any]) -> None:
        """Add a row to ``evaluations.jsonl``; it must say its ``step``."""
        files.append_row(self.path / "evaluations.jsonl", row)

    def append_trajectories(self, group: Group) -> None:
        """Add the rollouts of a prompt to ``trajectories.jsonl``, shortened.

        If the file exceeds :data:`MOST_TEXT`, every second kept step is dropped, and as many
        later steps are left out. The first and the last step stay.
        """
        every = int(self.manifest.get("trajectories_every", 1))
        if not self._is_kept(group.step, every):
            return

        def is_kept(row: Row) -> bool:
            return self._is_kept(row["step"], every)

        path = self.path / "trajectories.jsonl"
        append_group(path, shorten(group))
        steps = self.config.optimiser.steps
        while path.stat().st_size > MOST_TEXT and every <= steps:
            every *= 2
            files.keep_rows(path, is_kept)
            self.update_manifest(trajectories_every=every)

    def _is_kept(self, step: int, every: int) -> bool:
        return step % every == 0 or step >= self.config.optimiser.steps

    def write_questions(self, step: int, measured: Mapping[str, Mapping[str, Any]]) -> None:
        """Keep each question's values of an evaluation, for the first and the last one.

        Args:
            step: Of the evaluation.
            measured: Values of the objectives by the name of the question.
        """
        short = {
            name: {key: value and float(f"{value:.6g}") for key, value in values.items()}
            for name, values in measured.items()
        }
        part = {"step": step, "measured": short}
        kept = self.questions()
        kept |= {"first": part} if step == 0 or not kept else {}
        text = json.dumps(files.to_json(kept | {"last": part}), separators=(",", ":"))
        files.write_bytes(self.path / "questions.json", text.encode())

    def questions(self) -> Row:
        """Return the content of ``questions.json``; empty if there is none."""
        path = self.path / "questions.json"
        return files.parse_object(path.read_bytes()) or {} if path.exists() else {}

    def steps(self) -> list[Row]:
        """Return the complete rows of ``steps.jsonl``; a broken row raises a ConfigError."""
        return list(files.read_rows(self.path / "steps.jsonl"))

    def evaluations(self) -> list[Row]:
        """Return the complete rows of ``evaluations.jsonl``; a broken row raises a ConfigError."""
        return list(files.read_rows(self.path / "evaluations.jsonl"))

    def trajectories(self) -> Iterator[Group]:
        """Yield the complete rows of ``trajectories.jsonl``; a broken row raises a ConfigError."""
        return read_groups(self.path / "trajectories.jsonl")

    def truncate_after(self, step: int, evaluations: int) -> None:
        """Drop the records after ``step``: a resumed run repeats those steps.

        Args:
            step: The last step to keep.
            evaluations: Keep at most this many evaluations, the first ones: a checkpoint can be
                older than the evaluation of its step.
        """
        for name in ("steps.jsonl", "evaluations.jsonl", "trajectories.jsonl"):
            files.keep_rows(self.path / name, lambda row: row["step"] <= step)
        before = count()
        files.keep_rows(self.path / "evaluations.jsonl", lambda _: next(before) < evaluations)
        last = max((row["step"] for row in self.evaluations()), default=-1)
        files.keep_rows(
            self.path / "trajectories.jsonl",
            lambda row: not row.get("held_out") or row["step"] <= last,
        )

    def resumed(self, step: int) -> None:
        """Record that the run resumes from ``step``."""
        before = list(self.manifest.get("resumed", []))
        entry = {"at": now(), "from_step": step, "versions": versions()}
        self.update_manifest(resumed=[*before, entry], ended=None, status="running")


def find_start(evaluations: Sequence[Row]) -> int:
    """Return the index of the first evaluation: the last before step 1, else the first row."""
    before = [at for at, row in enumerate(evaluations) if row["step"] == 0]
    return before[-1] if before else 0


def _name_method(config: RunConfig) -> str:
    own = config.paretopo.stage2_estimator
    usual = RECIPES[config.recipe]["stage2_estimator"]
    return config.recipe if own == usual else f"{config.recipe}+{own}"


def _is_disk_full(path: Path, error: BaseException) -> bool:
    """Find out if a full disk caused an error, which libraries report under several names."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError) and seen.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        seen = seen.__cause__ or seen.__context__
    return shutil.disk_usage(path).free < _FULL


def fresh_folder(out: Path, name: str) -> Path:
    """Make a folder of that name, or of one like it, where there is none yet."""
    name = re.sub(r"[^A-Za-z0-9._-]", "-", name)
    out.mkdir(parents=True, exist_ok=True)
    for attempt in range(1, 1000):
        path = out / (name if attempt == 1 else f"{name}-{attempt}")
        try:
            path.mkdir()
        except FileExistsError:
            continue
        return path
    raise FileExistsError(f"{out} holds too many runs named {name}")


def now() -> str:
    """Return the current time (UTC), to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _list_changes(name: str, begun: Any, given: Any) -> list[str]:
    """Return the dotted names of the values that differ, those of objectives by their names."""
    if name == "objectives":
        pair = [{one.name: one for one in objectives} for objectives in (begun, given)]
        names = dict.fromkeys([*pair[0], *pair[1]])
        inner = [(one, pair[0].get(one), pair[1].get(one)) for one in names]
    elif dataclasses.is_dataclass(given) and type(begun) is type(given):
        fields = [field.name for field in dataclasses.fields(given)]
        inner = [(one, getattr(begun, one), getattr(given, one)) for one in fields]
    else:
        return [name] if begun != given else []
    return [found for one, *both in inner for found in _list_changes(f"{name}.{one}", *both)]
