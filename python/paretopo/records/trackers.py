"""Curves for TensorBoard and Weights & Biases, where the file asks for them.

The tags are the same on both back ends: ``train/paretopo/NAME`` of a step and
``eval/paretopo/NAME`` of an evaluation are numbers of this package, ``train/NAME`` those of the
framework itself. Neither package is imported, and no connection made, unless ``run.tensorboard`` or
``run.wandb_project`` says so.
"""

from __future__ import annotations

import importlib.util
import math
import os
import secrets
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from paretopo.config import NONE, ConfigError, dumps
from paretopo.config.sections import RunFolderConfig
from paretopo.records.files import Row
from paretopo.records.folder import RunFolder

_OF_STEPS = (
    *("stage", "solved", "multiplier", "informative", "mixed", "kept", "truncated", "overlong"),
    *("archive_size", "hypervolume"),
)
_OF_EVALUATIONS = (
    *("solved", "response_tokens", "truncated", "gain", "smoothed_gain", "multiplier"),
    *("archive_size", "hypervolume"),
)
_BY_OBJECTIVE = ("measured", "rewards", "differs", "weight")


def check_trackers(config: RunFolderConfig) -> None:
    """Refuse trackers that cannot be opened here.

    Raises:
        ConfigError: A package is missing, or the key of Weights & Biases.
    """
    wanted = {
        "tensorboard": (config.tensorboard, "run.tensorboard = true"),
        "wandb": (config.wandb_project != NONE, "run.wandb_project"),
    }
    for package, (asked, key) in wanted.items():
        if asked and not _is_installed(package):
            raise ConfigError(
                f'{key} needs the package {package}: pip install ".[{package}]" in a clone'
            )
    offline = os.environ.get("WANDB_MODE") in ("offline", "disabled")
    if config.wandb_project != NONE and not offline and not os.environ.get("WANDB_API_KEY"):
        raise ConfigError(
            "run.wandb_project needs the key in the variable WANDB_API_KEY, or WANDB_MODE=offline "
            "to keep the curves in the run folder"
        )


class Trackers:
    """The trackers of a run, opened with the first numbers.

    Args:
        run: Its configuration says which; ``tensorboard/`` and ``wandb/`` lie in its folder.

    Raises:
        ConfigError: As :func:`check_trackers`.
    """

    def __init__(self, run: RunFolder) -> None:
        check_trackers(run.config.run)
        self._run = run
        self._after: int | None = None
        self._open: list[_TensorBoard | _WeightsAndBiases] | None = None

    def resume(self, step: int) -> None:
        """Continue earlier curves; steps after ``step`` are repeated."""
        self._after = step

    def log(self, part: Literal["train", "eval"], step: int, numbers: Mapping[str, float]) -> None:
        """Add a point to the curve of each number."""
        if self._open is None:
            asked = self._run.config.run
            self._open = [_TensorBoard(self._run, self._after)] if asked.tensorboard else []
            self._open += [_WeightsAndBiases(self._run)] if asked.wandb_project != NONE else []
        tagged = {f"{part}/{name}": value for name, value in numbers.items()}
        for tracker in self._open:
            tracker.log(step, tagged)

    def close(self) -> None:
        """End the curves."""
        for tracker in self._open or ():
            tracker.close()
        self._open = None


def _is_installed(package: str) -> bool:
    found = importlib.util.find_spec(package)
    # A folder of that name where Python was started, as wandb leaves one, is no package.
    return found is not None and found.origin is not None


class _TensorBoard:
    def __init__(self, run: RunFolder, after: int | None) -> None:
        from torch.utils.tensorboard import SummaryWriter

        # TensorBoard hides the points of later steps that an interrupted run has left.
        purged = None if after is None else after + 1
        self._writer: Any = SummaryWriter(run.path / "tensorboard", purge_step=purged)

    def log(self, step: int, numbers: Mapping[str, float]) -> None:
        for name, value in numbers.items():
            self._writer.add_scalar(name, value, step)
        self._writer.flush()  # a killed run resumes from a checkpoint, not from a flush

    def close(self) -> None:
        self._writer.close()


class _WeightsAndBiases:
    def __init__(self, run: RunFolder) -> None:
        import wandb

        # The manifest keeps it, so that a resumed run continues the same curves. Weights & Biases
        # ignores repeated steps.
        name = run.manifest.get("wandb") or secrets.token_hex(4)
        run.update_manifest(wandb=name)
        self._run: Any = wandb.init(
            project=run.config.run.wandb_project,
            id=name,
            name=run.path.name,
            dir=run.path,
            config=tomllib.loads(dumps(run.config)),
            resume="allow",
            reinit="finish_previous",
        )

    def log(self, step: int, numbers: Mapping[str, float]) -> None:
        self._run.log(dict(numbers), step=step)

    def close(self) -> None:
        self._run.finish()


def numbers_of_step(row: Row) -> dict[str, float]:
    """Return the numbers of a step's row, with archive size and hypervolume; none without ranks.

    >>> numbers_of_step({"step": 1, "loss": 0.5})
    {}
    """
    if "rank_histogram" not in row:
        return {}
    ranks = row["rank_histogram"]
    first = {"rank_0": ranks[0] / sum(ranks)} if ranks else {}
    return _prefix(_flatten(row, _OF_STEPS) | first)


def numbers_of_evaluation(row: Row) -> dict[str, float]:
    """Return the numbers of an evaluation's row, and the hypervolume of its own outcome.

    >>> row = {"outcome": {"a": 0.5, "b": 0.4}, "reference": {"a": 0.0, "b": 0.1}}
    >>> round(numbers_of_evaluation(row)["paretopo/outcome_hypervolume"], 3)
    0.15
    """
    numbers = _flatten(row, _OF_EVALUATIONS)
    outcome, reference = row.get("outcome") or {}, row.get("reference") or {}
    if reference and all(outcome.get(name) is not None for name in reference):
        gains = [max(outcome[name] - least, 0.0) for name, least in reference.items()]
        numbers["outcome_hypervolume"] = math.prod(gains)
    return _prefix(numbers)


def add_framework_numbers(
    ours: Mapping[str, float], measured: Mapping[str, Any], further: Mapping[str, Any]
) -> dict[str, float]:
    """Return the numbers of a step together with those of the framework.

    Args:
        ours: From :func:`numbers_of_step`.
        measured: The framework's numbers of the step, under the names of ``steps.jsonl``.
        further: Numbers under the framework's own names; other values are left out.
    """
    return {**_numbers(further), **ours, **_prefix(_numbers(measured))}


def _flatten(row: Row, names: Sequence[str]) -> dict[str, float]:
    """Return the numbers of each objective under names such as ``measured/calls``."""
    flat = {name: float(row[name]) for name in names if row.get(name) is not None}
    if row.get("stage") != 1:  # the multiplier acts in stage 1
        flat = {name: value for name, value in flat.items() if name not in ("stage", "multiplier")}
    for name in _BY_OBJECTIVE:
        flat |= {
            f"{name}/{objective}": float(value)
            for objective, value in row.get(name, {}).items()
            if value is not None
        }
    for group in ("limits", "prices"):
        for objective, held in row.get(group, {}).items():
            flat |= {
                f"{group}/{objective}/{name}": value
                for name, value in held.items()
                if value is not None
            }
    return flat


def _numbers(row: Mapping[str, Any]) -> dict[str, float]:
    return {
        name: float(value)
        for name, value in row.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }


def _prefix(numbers: Mapping[str, float]) -> dict[str, float]:
    """Prefix the names, to separate them from the framework's own."""
    return {f"paretopo/{name}": value for name, value in numbers.items()}
