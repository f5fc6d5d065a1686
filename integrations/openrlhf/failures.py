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
    "ReferenceModelActor": "a process of the reference model",
    "ParetoPPOTrainer": "the trainer",
    "ParetoPPOTrainerAsync": "the trainer",
    "Session": "the process with controller and records",
    "RehearsedSession": "the process with controller and records",
}


def explain_failure(error: BaseException, resume: str) -> Exception:
    """Return the exception to raise in place of Ray's.

    Args:
        error: The error of `ray.get`, with the tracebacks of all processes on the way.
        resume: The command that resumes the run.
    """
    text = re.sub(r"\x1b\[[0-9;]*m", "", f"{type(error).__name__}: {error}")
    for kind in _OURS:
        messages = re.findall(rf"{kind.__name__}: (.*)", text)
        if messages:
            return kind(messages[-1].strip())
    short = re.search(
        r"OutOfMemoryError: .*?running low on memory.*? was ([\d.]+ ?\wB / [\d.]+ ?\wB)", text
    )
    if short:
        return RuntimeError(
            f"the machine ran low on memory ({short.group(1)} in use), and Ray ended a process: "
            "give it more, or lower optimiser.micro_batch or prompts_per_step; resume from the "
            f"last checkpoint with: {resume}"
        )
    born_dead = re.search(r"raised in its creation task, .*?ray::(\w+)\.__init__", text, re.DOTALL)
    if born_dead:
        return RuntimeError(
            f"{_name(born_dead.group(1))} could not start: {_last_line(text, error)} (its own "
            "output is above)"
        )
    dead = re.search(r"class_name: (?:\S*\.)?(\w+)", text)
    if "ActorDiedError" in text or "ActorUnavailableError" in text:
        name = _name(dead.group(1)) if dead else "an unnamed process"
        return RuntimeError(
            f"{name} died: killed, out of memory, or crashed (its own output is above); resume "
            f"from the last checkpoint with: {resume}"
        )
    return RuntimeError(f"OpenRLHF failed: {_last_line(text, error)}")


def _name(kind: str) -> str:
    return _NAMES.get(kind, f"the process {kind}")


def _last_line(text: str, error: BaseException) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
