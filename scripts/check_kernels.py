"""Fail if a compiled kernel spills registers or uses generic or bytewise memory accesses.

    python scripts/check_kernels.py [PATH/TO/_core.so]     by default the installed module

Prints the registers and the occupancy of each kernel. A kernel with data in local memory has a
stack, which is an error on every target. Generic accesses, and bytewise accesses of shared memory,
are errors, too: the compiler no longer knows the address space or the type. Needs cuobjdump from a
CUDA toolkit or from ``pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm``; no GPU.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

_FUNCTION = re.compile(r"^\s*Function (\S+):$")
_SASS_FUNCTION = re.compile(r"^\s*Function : (\S+)$")
_USAGE = re.compile(r"REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)")
_TARGET = re.compile(r"^arch = (\S+)")
_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)")
# LDG, LDS, ... name the kind of memory; LD, ST and ATOM ask the address at each access.
_ASTRAY = re.compile(r"(LD|ST|ATOM)(\.|$)|(LDS|STS)\.[US]8")
_LARGEST_WHEEL = 8 * 10**6  # bytes
# CUDA programming guide, "Technical Specifications per Compute Capability".
_REGISTERS = 64 * 1024  # of a multiprocessor; a warp takes them by 256
_MOST_WARPS = {"sm_75": 32, "sm_86": 48, "sm_89": 48, "sm_120": 48}
_MOST_WARPS_ELSE = 64


@dataclass(frozen=True)
class Kernel:
    """One kernel on one target: registers of a thread; bytes of stack, shared, local memory."""

    name: str
    target: str
    registers: int
    stack: int
    shared: int
    local: int

    @property
    def occupancy(self) -> float:
        """Return the share of a multiprocessor's warps that its registers allow."""
        of_warp = -(-self.registers * 32 // 256) * 256
        most = _MOST_WARPS.get(self.target, _MOST_WARPS_ELSE)
        return min(1.0, _REGISTERS // max(of_warp, 256) / most)


def kernels(listing: str) -> Iterator[Kernel]:
    """Parse the output of ``cuobjdump --dump-resource-usage``."""
    target = name = ""
    for line in listing.splitlines():
        if found := _TARGET.match(line):
            target = found[1]
        elif found := _FUNCTION.match(line):
            name = found[1]
        elif found := _USAGE.search(line):
            registers, stack, shared, local = map(int, found.groups())
            yield Kernel(name, target, registers, stack, shared, local)


def astray(listing: str) -> Counter[tuple[str, str]]:
    """Count generic accesses and bytewise accesses of shared memory, by kernel and instruction.

    ``listing`` is the output of ``cuobjdump -sass``.
    """
    found: Counter[tuple[str, str]] = Counter()
    name = ""
    for line in listing.splitlines():
        if start := _SASS_FUNCTION.match(line):
            name = start[1]
        elif (instruction := _INSTRUCTION.match(line)) and _ASTRAY.match(instruction[1]):
            found[name, instruction[1]] += 1
    return found


def tool(name: str) -> str:
    """Find a program of the CUDA toolkit, on PATH or among the installed packages."""
    if path := shutil.which(name):
        return path
    for folder in map(Path, sys.path):
        for path in folder.glob(f"nvidia/**/bin/{name}"):
            return str(path)
    sys.exit(f"{name} not found: pip install nvidia-cuda-{name}")


def plain(names: list[str]) -> list[str]:
    """Demangle and shorten names."""
    if shutil.which("c++filt") is None:
        return names
    done = subprocess.run(
        ["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True
    )
    # "void paretopo::cuda::by_warps<paretopo::gpu::Job<float, 3> >(..., long)": launch and job
    return [
        re.sub(r"paretopo::|cuda::|gpu::|void |\(.*", "", line) for line in done.stdout.splitlines()
    ]


def main() -> int:
    """Print the table; return 1 if a kernel fails or the module is too large for a wheel."""
    if len(sys.argv) > 1:
        module = Path(sys.argv[1])
    else:
        spec = find_spec("paretopo_core._core")
        module = Path(str(spec.origin if spec else "paretopo_core is not installed"))
    command = [tool("cuobjdump"), "--dump-resource-usage", str(module)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = list(kernels(done.stdout))
    if not found:
        print(f"no kernels in {module}: {done.stderr.strip() or 'a build without CUDA'}")
        return 1
    targets = sorted({kernel.target for kernel in found}, key=lambda name: (len(name), name))
    names = sorted({kernel.name for kernel in found})
    by_name = {name: [kernel for kernel in found if kernel.name == name] for name in names}
    print(f"{len(names)} kernels for {', '.join(targets)}, {module.stat().st_size:,} bytes")
    print(f"{'registers':>11} {'occupancy':>9} {'shared':>7}  kernel")
    spilling = []
    for shown, own in sorted(zip(plain(names), by_name.values(), strict=True)):
        registers = [kernel.registers for kernel in own]
        shared = max(kernel.shared for kernel in own)
        least = min(kernel.occupancy for kernel in own)
        print(f"{min(registers):>5}..{max(registers):<4} {least:>9.0%} {shared:>7}  {shown}")
        spilling += [
            f"{shown} for {kernel.target}: {kernel.stack} bytes of stack, {kernel.local} local"
            for kernel in own
            if kernel.stack or kernel.local
        ]
    for line in spilling:
        print(f"spills: {line}")
    sass = subprocess.run(
        [tool("cuobjdump"), "-sass", str(module)], capture_output=True, text=True, check=True
    )
    lost = astray(sass.stdout)
    for (name, instruction), times in sorted(lost.items()):
        print(f"generic memory accesses: {plain([name])[0]}: {times} {instruction}")
    packed = len(zlib.compress(module.read_bytes()))
    print(f"in a wheel: {packed / 1e6:.1f} MB")
    if packed > _LARGEST_WHEEL:
        print(f"too large: a wheel may weigh {_LARGEST_WHEEL / 1e6:.0f} MB")
        return 1
    print("spills: none" if not spilling else f"{len(spilling)} spill")
    print("generic memory accesses: none" if not lost else f"{lost.total()} generic accesses")
    return 1 if spilling or lost else 0


if __name__ == "__main__":
    sys.exit(main())
