"""The releases of OpenRLHF that this package supports, and the names in which they differ."""

from __future__ import annotations

from typing import Any

from paretopo.config import ConfigError
from paretopo.records.provenance import check_release

OLDEST, NEWEST = (0, 10, 2), (0, 11, 2)  # every release in this range was run

# In every release, both corrections mask tokens outside [0.5, 5] and weight the rest by the token's
# own ratio. Before 0.11.2 they had the names of the methods that they come from.
_NEW_OPTIONS = (0, 11, 2)
_CORRECTION_LEVELS = {"off": "off", "token": "token", "sequence": "seq"}
_CORRECTION_TYPES = {"token": "icepop", "sequence": "seq-mask-tis"}
_LOSSES = {"dapo": "token-mean", "grpo": "seq-mean-token-mean"}


def openrlhf_version() -> tuple[int, ...]:
    """Return the installed release; refuse releases outside the tested range.

    Raises:
        ConfigError: OpenRLHF is not installed, or it is an older or newer release.
    """
    return check_release(
        "openrlhf",
        OLDEST,
        NEWEST,
        'on GPUs: pip install ".[openrlhf]" in a clone, for a rehearsal on a CPU: '
        "scripts/install_openrlhf_cpu.sh",
    )


def loss_options(version: tuple[int, ...], loss: str, correction: str) -> list[str]:
    """Options for the aggregation of losses and the correction, as the release calls them.

    Args:
        version: The installed OpenRLHF.
        loss: `optimiser.loss`.
        correction: `openrlhf.correction`.

    Raises:
        ConfigError: The release has no such loss.

    >>> loss_options((0, 11, 2), "dapo", "token")[2:]
    ['--algo.advantage.is_correction_level', 'token']
    >>> loss_options((0, 11, 1), "dapo", "token")[1:]
    ['--algo.advantage.is_correction_type', 'icepop']
    """
    if loss not in _LOSSES:
        raise ConfigError(
            f"optimiser.loss must be one of {', '.join(_LOSSES)} for OpenRLHF, got {loss}"
        )
    prefix = "--algo.advantage.is_correction"
    if version >= _NEW_OPTIONS:
        level = _CORRECTION_LEVELS[correction]
        return ["--actor.loss_agg_mode", _LOSSES[loss], f"{prefix}_level", level]
    if loss != "dapo":
        raise ConfigError(
            f'optimiser.loss = "{loss}" needs openrlhf {_format_version(_NEW_OPTIONS)}, got '
            f"{_format_version(version)}; pip install openrlhf=={_format_version(NEWEST)}, or use "
            '"dapo"'
        )
    if correction == "off":
        return []
    return [f"{prefix}_enable", f"{prefix}_type", _CORRECTION_TYPES[correction]]


def read_correction(advantage: Any) -> str:
    """Return `openrlhf.correction` for OpenRLHF's parsed options, of any release.

    >>> from types import SimpleNamespace
    >>> read_correction(SimpleNamespace(is_correction_level="seq"))
    'sequence'
    """
    level = getattr(advantage, "is_correction_level", None)
    if level is not None:
        return {theirs: ours for ours, theirs in _CORRECTION_LEVELS.items()}[level]
    by_sequence = advantage.is_correction_type == _CORRECTION_TYPES["sequence"]
    return "off" if not advantage.is_correction_enable else "sequence" if by_sequence else "token"


def _format_version(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
