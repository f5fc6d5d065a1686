"""The machine that runs the kernels' PTX, in builds that have it (``scripts/run_ptx.sh``).

It is a device whose memory is the host's. It may access only arrays that a test has lent to it, and
describes each error in words.
"""

from __future__ import annotations

import ctypes
import weakref
from dataclasses import dataclass, field

import numpy as np

from paretopo_core import _core

_library = ctypes.CDLL(_core.__file__)
IS_HERE = hasattr(_library, "ptx_lend")
_AS_ON_A_DEVICE = -1

# After so many instructions of a launch, its lanes turn round forever.
most_steps = 2 * 10**9

if IS_HERE:
    _u64 = ctypes.c_uint64
    _library.ptx_lend.argtypes = [_u64, _u64, ctypes.c_int, ctypes.c_int]
    _library.ptx_take_back.argtypes = [_u64]
    _library.ptx_unwritten.argtypes = [_u64]
    _library.ptx_unwritten.restype = _u64
    _library.ptx_set.argtypes = [ctypes.c_int, _u64, ctypes.c_int, ctypes.c_int, _u64]
    _library.ptx_leave_out.argtypes = [ctypes.c_char_p, ctypes.c_int]
    for _name in ("findings", "streams", "counts", "waits"):
        getattr(_library, f"ptx_{_name}").restype = ctypes.c_char_p


def _lines(name: str) -> list[str]:
    return getattr(_library, f"ptx_{name}")().decode().splitlines()


def lend(host: np.ndarray, *, is_input: bool) -> None:
    """Lend memory that `host` owns, for as long as `host` lives."""
    grain = 1 if host.dtype == np.bool_ else 4  # scratch is bytes, but shared out in words
    address = host.ctypes.data
    _library.ptx_lend(address, host.nbytes, grain, is_input)
    weakref.finalize(host, _library.ptx_take_back, address)


def unwritten(host: np.ndarray) -> int:
    """Return the number of bytes of lent memory that were never written."""
    return int(_library.ptx_unwritten(host.ctypes.data))


def settle(
    mapping: int = _AS_ON_A_DEVICE,
    *,
    seed: int = 1,
    schedule: int = -1,
    counts: bool = False,
) -> None:
    """Choose who does small sets, and the order of lanes: one of five schedules, or all (-1)."""
    _library.ptx_set(mapping, seed, schedule, counts, most_steps)


def findings() -> list[str]:
    """Return the errors since the last `forget`."""
    return _lines("findings")


def forget() -> None:
    """Forget findings, counts and streams."""
    _library.ptx_forget()


def streams() -> dict[int, int]:
    """Launches on each stream."""
    return {int(stream): int(times) for stream, times in map(str.split, _lines("streams"))}


@dataclass
class Counts:
    """Counts of a kernel: `issued` has the instructions of warps by opcode."""

    launches: int
    warps: int
    lane_instructions: int
    read: int
    written: int
    issued: dict[str, int] = field(default_factory=dict)


def counts() -> dict[str, Counts]:
    """Return the counts of each kernel since the last `forget`; `settle` enables issues."""
    found: dict[str, Counts] = {}
    last = Counts(0, 0, 0, 0, 0)
    for line in _lines("counts"):
        if line.startswith(" "):
            times, opcode = line.split()
            last.issued[opcode] = int(times)
        else:
            *numbers, name = line.split()
            last = found[name] = Counts(*map(int, numbers))
    return found


@dataclass(frozen=True)
class Wait:
    """One bar.sync or bar.warp.sync of a kernel."""

    kernel: str
    line: int
    text: str


def waits() -> list[Wait]:
    """Every wait of every kernel."""
    found = [line.split(" ", 2) for line in _lines("waits")]
    return [Wait(kernel, int(line), text) for kernel, line, text in found]


def leave_out(wait: Wait | None) -> None:
    """Remove a barrier; None restores all of them."""
    if wait is None:
        _library.ptx_leave_out(b"", 0)
    else:
        _library.ptx_leave_out(wait.kernel.encode(), wait.line)
