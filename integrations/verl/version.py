"""The releases of verl that this package supports."""

from __future__ import annotations

from paretopo.records.provenance import check_release

RELEASE = (0, 9, 1)  # the tested release


def verl_version() -> tuple[int, ...]:
    """Return the installed release; refuse releases that were not tested.

    Raises:
        ConfigError: verl is not installed, or it is another release.
    """
    return check_release(
        "verl",
        RELEASE,
        RELEASE,
        'an environment of its own: pip install torch, then, in a clone, pip install ".[verl]" '
        "and an engine (docs/verl.md)",
    )
