"""How a result came about: versions, machine, git commit. Imports nothing heavy."""

from __future__ import annotations

import functools
import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path

from paretopo.config import ConfigError

_PACKAGES = (
    "paretopo",
    "numpy",
    "torch",
    "transformers",
    "trl",
    "accelerate",
    "openrlhf",
    "verl",
    "ray",
    "vllm",
    "deepspeed",
)


def versions() -> dict[str, str | None]:
    """Version of Python and of the packages that shape a run; None where not installed."""
    return {"python": platform.python_version(), **{one: _find_version(one) for one in _PACKAGES}}


@functools.cache
def _find_version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def check_release(package: str, release: str, install: str) -> None:
    """Refuse a framework unless its tested release is installed.

    Args:
        package: Its name.
        release: The tested release, as "0.9.1".
        install: How to install it.

    Raises:
        ConfigError: It is not installed, or it is another release.
    """
    try:
        found = metadata.version(package)
    except metadata.PackageNotFoundError:
        raise ConfigError(f"{package} is not installed; {install}") from None
    if found != release:
        raise ConfigError(
            f"{package} {found} is installed, but the hooks of paretopo fit {package}=={release} "
            "only: other releases name or call things differently; "
            f"pip install {package}=={release}"
        )


def machine() -> dict[str, str | int]:
    """System, processor and cores this process may use; no host or user name."""
    # A container can have fewer cores than its machine.
    affine = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if affine else os.cpu_count() or 1
    return {
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(),
        "cores": cores,
    }


def git_commit(folder: str | Path = ".") -> dict[str, str | bool] | None:
    """Return the commit of the repository around ``folder``, and whether tracked files differ.

    Returns:
        ``{"commit": ..., "changed": ...}``, None outside a repository or without git.
    """
    commit = _git(folder, "rev-parse", "HEAD")
    if commit is None:
        return None
    changes = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return {"commit": commit, "changed": bool(changes)}


def _git(folder: str | Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
