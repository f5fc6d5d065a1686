"""Which releases of OpenRLHF the hooks of this package fit."""

from __future__ import annotations

from importlib import metadata

from paretopo_core.training.keys import ConfigError

OLDEST, BELOW = (0, 10, 2), (0, 12)
WITH_CORRECTION_LEVELS = (0, 11, 2)  # and with the aggregation of losses as an option


def openrlhf_version() -> tuple[int, ...]:
    """The installed release, refused outside the range that was read and tested.

    Raises:
        ConfigError: OpenRLHF is not installed, or it is an older or newer release.
    """
    try:
        found = metadata.version("openrlhf")
    except metadata.PackageNotFoundError:
        raise ConfigError(
            "openrlhf is not installed; on GPUs: pip install 'paretopo[openrlhf]', for a rehearsal "
            "on a CPU: scripts/install_openrlhf_cpu.sh"
        ) from None
    numbers = tuple(int(part) for part in found.split(".")[:3] if part.isdecimal())
    if not OLDEST <= numbers < BELOW:
        raise ConfigError(
            f"openrlhf {found} is installed, but the hooks of paretopo fit openrlhf>=0.10.2,<0.12 "
            "only: other releases name or call things differently; pip install openrlhf==0.11.2"
        )
    return numbers
