"""An evaluation's folder: its settings, every trajectory, the results.

::

    manifest.json       settings, data, versions, machine, command, start and end
    trajectories.jsonl  one line per question: its responses, `paretopo show` reads them
    results.json        the numbers, by data set
    claim               held by the process that works here
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from paretopo.config import ConfigError
from paretopo.records import files
from paretopo.records.files import write_text
from paretopo.records.folder import Folder, now
from paretopo.records.provenance import git_commit, machine, versions
from paretopo.records.schema import DataError, Example, read_rows
from paretopo.records.trajectories import Group, append_group, read_groups
from paretopo.rewards.correctness import last_answer
from paretopo.rewards.mathematics import last_box
from paretopo.rollout import Rollout
from paretopo_lab.evaluate.settings import EvaluationSettings
from paretopo_lab.read.data_files import sha256_of

TRAJECTORIES = "trajectories.jsonl"


@dataclass(frozen=True)
class AnsweredQuestion:
    """One question with its graded responses.

    Attributes:
        id: Its name.
        datasource: Its data set.
        solved: For each response, whether it was right; None if the grader reached a limit.
        calls: Tool executions of each.
        tokens: Tokens that the model wrote in each.
        truncated: For each, whether it ran out of room.
        answered: For each, whether it has an answer in the requested form, a box or answer tags.
    """

    id: str
    datasource: str
    solved: tuple[bool | None, ...]
    calls: tuple[int, ...]
    tokens: tuple[int, ...]
    truncated: tuple[bool, ...]
    answered: tuple[bool, ...]


class EvaluationFolder(Folder):
    """The folder of one evaluation; `start` creates or resumes it, `open` reads it."""

    @classmethod
    def start(
        cls,
        path: Path,
        identity: Mapping[str, Any],
        *,
        name: str,
        questions: int,
    ) -> EvaluationFolder:
        """Create the folder, or resume it if settings and data are the same.

        Args:
            path: The folder.
            identity: Settings and data on which the numbers depend.
            name: Name of the model in tables.
            questions: Number of questions.

        Raises:
            ConfigError: The folder holds something else; names the first difference.
        """
        if path.exists() and any(path.iterdir()):
            folder = cls.open(path)
            _check_same(path, folder.manifest["evaluation"], files.to_json(identity))
            return folder
        path.mkdir(parents=True, exist_ok=True)
        folder = cls(path)
        folder.update_manifest(
            evaluation=dict(identity),
            name=name,
            questions=questions,
            started=now(),
            ended=None,
            status="running",
            command=shlex.join(sys.argv),
            versions=versions(),
            machine=machine(),
            git=git_commit(),
        )
        return folder

    @classmethod
    def open(cls, path: str | Path) -> EvaluationFolder:
        """Return the evaluation in a folder.

        Raises:
            ConfigError: It is not an evaluation, or its manifest is broken.
        """
        folder = cls(Path(path))
        if not isinstance(folder.manifest.get("evaluation"), dict):
            raise ConfigError(
                f"{path} is not the folder of an evaluation: its manifest.json names none"
            )
        return folder

    def note_resumption(self) -> None:
        """Record a resumption, if some work was done."""
        if not (self.path / TRAJECTORIES).exists():
            return
        entry = {"at": now(), "versions": versions()}
        before = list(self.manifest.get("resumed", []))
        self.update_manifest(resumed=[*before, entry], ended=None, status="running")

    @property
    def name(self) -> str:
        """The name of the model in tables."""
        return str(self.manifest.get("name", self.path.name))

    def append(self, group: Group) -> None:
        """Append the rollouts of one question."""
        append_group(self.path / TRAJECTORIES, group)

    def read_answers(self) -> Iterator[AnsweredQuestion]:
        """Yield the questions answered so far, in that order.

        Raises:
            ConfigError: A line is broken; names file and line.
        """
        for group in read_groups(self.path / TRAJECTORIES):
            yield AnsweredQuestion(
                group.id,
                group.kind,
                tuple(map(_read_grade, group.rollouts)),
                tuple(int(one.reward_components["calls"] or 0) for one in group.rollouts),
                tuple(one.tokens for one in group.rollouts),
                tuple(one.truncated for one in group.rollouts),
                tuple(map(_has_answer, group.rollouts)),
            )

    def write_results(self, results: Mapping[str, Any]) -> None:
        """Write the fields of results to `results.json`, completely or not at all."""
        fields = {name: files.to_json(asdict(one)) for name, one in results.items()}
        write_text(self.path / "results.json", json.dumps(fields, indent=2) + "\n")


def _read_grade(rollout: Rollout) -> bool | None:
    is_undecided = rollout.reward_components["correct"] is None
    return None if is_undecided else bool(rollout.solved)


def _has_answer(rollout: Rollout) -> bool:
    written = "".join(one.text for one in rollout.segments if one.kind != "tool")
    find_answer = last_box if "\\boxed{" in rollout.prompt else last_answer
    return find_answer(written) is not None


def is_evaluation(path: str | Path) -> bool:
    """Return whether a folder is that of an evaluation instead of a run."""
    manifest = Path(path) / "manifest.json"
    if not manifest.is_file() or (Path(path) / "config.toml").exists():
        return False
    return "evaluation" in (files.parse_object(manifest.read_bytes()) or {})


def compare_command(path: Path) -> str:
    """Return the command that tests an evaluation against others, to print.

    >>> compare_command(Path("a"))[:45]
    'paretopo compare a/trajectories.jsonl OTHERS '
    """
    return (
        f"paretopo compare {shlex.quote(str(path / 'trajectories.jsonl'))} OTHERS --by model "
        "--by kind --objective reward_components.correct:max "
        "--objective reward_components.calls:min"
    )


def load_data(
    files: Sequence[str | Path], limit: int
) -> tuple[list[Example], list[dict[str, Any]]]:
    """Return the questions of some files, and the identity of the files.

    Args:
        files: As `paretopo prepare` writes them.
        limit: Questions of each, the first ones; 0 for all.

    Raises:
        DataError: A file has no such rows, or a question comes twice.
    """
    rows: list[Example] = []
    described = []
    taken: dict[tuple[str, str], str | Path] = {}
    for file in files:
        own = list(read_rows(file))
        for row in own[: limit or None]:
            key = (row.datasource, row.id)
            if key in taken:
                raise DataError(
                    f"question {row.id!r} of {row.datasource!r} is in {taken[key]} and in {file}: "
                    "give each question once"
                )
            taken[key] = file
            rows.append(row)
        described.append({"sha256": sha256_of(Path(file)), "rows": len(own)})
    return rows, described


def identity_of(
    settings: EvaluationSettings, data: Sequence[Mapping[str, Any]], model: Path | None
) -> dict[str, Any]:
    """Return everything on which an evaluation's numbers depend.

    Args:
        settings: Prompts and sampling.
        data: As `load_data` describes the files.
        model: Folder or file of the weights, if they are local: a model that has been trained
            further is another one.
    """
    weights = None if model is None else digest_weights(model)
    return {"settings": asdict(settings), "data": [dict(one) for one in data], "weights": weights}


def digest_weights(model: Path) -> str:
    """Return a digest of names, sizes and times of a model's files; it reads no weights.

    Args:
        model: A folder, or one file.
    """
    inside = model.iterdir() if model.is_dir() else [model]
    files = sorted(file for file in inside if file.is_file())
    seen = [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return hashlib.sha256(repr(seen).encode()).hexdigest()[:16]


def default_path(out: Path, name: str, tool: str, identity: Mapping[str, Any]) -> Path:
    """Return `OUT/NAME-TOOL-DIGEST`: the folder depends on the settings only."""
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "model"
    return out / f"{plain[:80]}-{tool}-{digest[:8]}"


def _check_same(path: Path, kept: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    if kept == asked:
        return
    before, after = kept.get("settings", {}), asked["settings"]
    for name in {**after, **before}:
        if before.get(name) != after.get(name):
            raise ConfigError(
                f"{path} holds an evaluation with {name} = {before.get(name)!r}, this one has "
                f"{after.get(name)!r}: give another --out"
            )
    difference = "data" if kept.get("data") != asked["data"] else "weights of the model"
    raise ConfigError(f"{path} holds an evaluation with other {difference}: give another --out")
