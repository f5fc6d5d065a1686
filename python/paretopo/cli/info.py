"""``paretopo info``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from paretopo.subcommands import Subcommands


def add_info(subcommands: Subcommands) -> None:
    """Add the command that shows versions, build and devices."""
    subcommands.add(
        "info",
        _run,
        "show versions, build and devices",
        "Show the versions, the build and the devices of this installation.",
    )


def _run(_: argparse.Namespace, __: Sequence[str]) -> int:
    from paretopo.records.provenance import machine, versions
    from paretopo_core import _core, get_isa, get_threads

    here = machine()
    packages = {name: version or "not installed" for name, version in versions().items()}
    rows = {
        "compiled core": _core.__version__,
        "compiler": _core.COMPILER,
        "instruction set": get_isa(),
        "threads": str(get_threads()),
        "built with CUDA": "yes" if _core.cuda_is_compiled() else "no",
        "CUDA devices": str(_core.cuda_device_count()) if _core.cuda_is_compiled() else "none",
        "CUDA driver": _core.cuda_driver_needed() or "not needed: built without CUDA",
        **packages,
        "system": str(here["system"]),
        "processor": str(here["processor"]),
        "usable cores": str(here["cores"]),
    }
    width = max(map(len, rows))
    print("\n".join(f"{name:<{width}}  {value}" for name, value in rows.items()))
    return 0
