"""The scaling of rewards that a script's `GRPOConfig` asks for."""

from __future__ import annotations

from typing import Any

from paretopo.config import ConfigError

# Values of GRPOConfig that are not its defaults, and the estimator that scales in this way. TRL
# does not read `scale_rewards` if it normalises before it adds up.
_SCALINGS: dict[tuple[str, str], str | None] = {
    ("multi_objective_aggregation", "normalize_then_sum"): "gdpo",
    ("scale_rewards", "none"): "dr_grpo",
    ("scale_rewards", "batch"): None,
}


def find_scaling(args: Any, chosen: str | None) -> tuple[str, str] | None:
    """Return the estimator that GRPOConfig asks for, and the setting; None with its defaults.

    Args:
        args: TRL's arguments.
        chosen: The estimator that the script names elsewhere; None for none.

    Raises:
        ConfigError: No estimator scales in this way, or `chosen` scales in another.
    """
    for (name, value), estimator in _SCALINGS.items():
        if getattr(args, name) != value:
            continue
        setting = f"GRPOConfig.{name} = {value!r}"
        if estimator is None or chosen not in (None, estimator):
            scales = "no estimator scales" if estimator is None else f"{chosen!r} does not scale"
            raise ConfigError(
                f"{setting} is not honoured, because {scales} in this way: leave it out, or pass "
                'ScriptSession(method="trl"), which keeps the advantages that TRL computes'
            )
        return estimator, setting
    return None
