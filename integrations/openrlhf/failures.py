"""Failures of Ray's processes, explained in one sentence."""

from __future__ import annotations

import re

from paretopo.integrations.openrlhf.rollouts import UnexpectedOpenRLHF
from paretopo.rollout import BadRollout

_OURS = (BadRollout, UnexpectedOpenRLHF)
_NAMES = {
    "RolloutRayActor": "a rollout engine",
    "CpuEngine": "a rollout engine",
    "ParetoPolicyActor": "a process of the policy",
    "RehearsedPolicyActor": "a process of the policy",
    "Session": "the process with controller and records",
    "RehearsedSession": "the process with controller and records",
}


def explain_failure(error: BaseException, run: str) -> Exception:
    """The exception to raise in the place of Ray's.

    Args:
        error: What `ray.get` raised, with the tracebacks of all processes on the way.
        run: The run folder.
    """
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    for kind in _OURS:
        told = re.findall(rf"{kind.__name__}: (.*)", text)
        if told:
            return kind(told[-1].strip())
    dead = re.search(r"class_name: (\w+)", text)
    if "ActorDiedError" in text or "ActorUnavailableError" in text:
        name = dead.group(1) if dead else "an unnamed process"
        return RuntimeError(
            f"{_NAMES.get(name, f'the process {name}')} died in the middle of a step: killed, out "
            "of memory, or crashed (its own output is above); go on from the last checkpoint with: "
            f"paretopo train --resume {run}"
        )
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return RuntimeError(f"OpenRLHF failed: {lines[-1] if lines else type(error).__name__}")
