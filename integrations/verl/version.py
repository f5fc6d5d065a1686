"""Which releases of verl the hooks of this package fit."""

from __future__ import annotations

from paretopo.run.provenance import check_release

RELEASE = (0, 9, 1)  # the one that was run


def verl_version() -> tuple[int, ...]:
    """The installed release, refused where it was not run.

    Raises:
        ConfigError: verl is not installed, or it is another release.
    """
    return check_release(
        "verl",
        RELEASE,
        RELEASE,
        "an environment of its own: pip install torch, then pip install 'paretopo[verl]' and an "
        "engine (docs/verl.md)",
    )
