"""Remove the waits of the kernels one by one, and fail if a removal goes unnoticed.

    python scripts/check_waits.py [PATTERN]

An unnoticed removal means that the wait is superfluous or that a test is missing. In a build with
fibers as lanes (``scripts/test_sanitized.sh fibers``), the script removes waits of the source. With
the PTX machine (``scripts/run_ptx.sh``), it removes waits of the compiled kernels, which have a
copy for each type, number of objectives and unrolled loop. PATTERN selects waits by name.
"""

from __future__ import annotations

import ctypes
import os
import re
import resource
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support import ptx_machine
from support.kernel_cases import Case, cases

import paretopo_core as pp
from paretopo_core import _core

# A lane may loop forever if it waits for a value that is never written.
_SECONDS = 120  # of processor
_STEPS = 2 * 10**7  # per lane; if a case needed more, the first run would report it
_BROKEN = 99  # status of a child


def waits_of_the_source() -> dict[str, list[int]]:
    """Return the numbers of the waits by name, merging all types and numbers of objectives."""
    library = ctypes.CDLL(_core.__file__)
    library.paretopo_wait.restype = ctypes.c_char_p
    found: dict[str, list[int]] = {}
    number = 0
    while (name := library.paretopo_wait(number)) is not None:
        plain = (
            name.decode().replace("paretopo::", "").replace("emulated::", "").replace("gpu::", "")
        )
        plain = re.sub(r"\bfloat\b|\bdouble\b", "Scalar", plain)
        plain = re.sub(r", -?\d+>", ", N>", plain)
        found.setdefault(plain, []).append(number)
        number += 1
    return found


def is_noticed(leave_out: Callable[[], None], chosen: Iterable[Case]) -> bool:
    """Return True if a run without a wait ends in a race, in a wrong answer or not at all."""
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
        try:
            leave_out()
        except BaseException:  # an error of this script does not count
            os._exit(_BROKEN)
        os._exit(int(any(is_wrong(case) for case in chosen)))
    status = os.waitpid(child, 0)[1]
    if os.waitstatus_to_exitcode(status) == _BROKEN:
        raise RuntimeError("a wait cannot be left out")
    return status != 0


def is_wrong(case: Case) -> bool:
    """Return True if the answer differs from the CPU's or the PTX machine reports an error."""
    if not ptx_machine.IS_HERE:
        return not case.is_right(case.on_device())
    ptx_machine.forget()
    return not case.is_right(case.on_device()) or bool(ptx_machine.findings())


def check_source(pattern: str) -> int:
    """Check the waits of the source and return the number of unnoticed removals."""
    waits = {name: own for name, own in waits_of_the_source().items() if re.search(pattern, name)}
    chosen = list(cases())
    _ = [case.on_cpu for case in chosen]  # once, for all children
    library = ctypes.CDLL(_core.__file__)

    def leave_out(numbers: list[int]) -> None:
        for number in numbers:
            library.paretopo_leave_out_wait(number)

    if is_noticed(lambda: None, chosen):
        print("with every wait in its place, there is a race or a wrong answer")
        return 1
    unnoticed = [
        name for name, own in waits.items() if not is_noticed(partial(leave_out, own), chosen)
    ]
    for name in unnoticed:
        print(f"removal not noticed: {name}")
    print(f"{len(waits)} waits of the source, {len(unnoticed)} removals not noticed")
    return len(unnoticed)


def launching(kernel: str, launched: list[tuple[Case, set[str]]]) -> Iterator[Case]:
    """Return the cases that launch a kernel."""
    return (case for case, kernels in launched if kernel in kernels)


def check_compiled(pattern: str) -> int:
    """Check the waits of the PTX; return the number of unnoticed ones and unlaunched kernels."""
    ptx_machine.most_steps = _STEPS
    launched: list[tuple[Case, set[str]]] = []
    for case in cases():
        if is_wrong(case):
            print(f"{case}: {ptx_machine.findings() or 'a wrong answer'}")
            return 1
        launched.append((case, set(ptx_machine.counts())))
    waits = [wait for wait in ptx_machine.waits() if re.search(pattern, wait.kernel)]
    unnoticed = []
    for wait in waits:
        # Most schedules reveal it at once.
        if not is_noticed(partial(ptx_machine.leave_out, wait), launching(wait.kernel, launched)):
            unnoticed.append(wait)
            print(f"removal not noticed: {wait.kernel} line {wait.line} {wait.text}", flush=True)
    unreached = {wait.kernel for wait in waits} - {k for _, kernels in launched for k in kernels}
    for kernel in sorted(unreached):
        print(f"never launched: {kernel}")
    print(f"{len(waits)} waits in the PTX, {len(unnoticed)} removals not noticed")
    return len(unnoticed) + len(unreached)


def main() -> int:
    """Return 0 if every wait is needed."""
    pattern = sys.argv[1] if len(sys.argv) > 1 else ""
    pp.threads(1)  # other threads do not survive a fork
    if ptx_machine.IS_HERE:
        return 1 if check_compiled(pattern) else 0
    if not hasattr(ctypes.CDLL(_core.__file__), "paretopo_wait"):
        sys.exit("no build with fibers or the PTX machine: scripts/test_sanitized.sh fibers")
    return 1 if check_source(pattern) else 0


if __name__ == "__main__":
    sys.exit(main())
