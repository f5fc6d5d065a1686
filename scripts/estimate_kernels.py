"""Estimate the time of kernels on a GPU from the PTX instructions that they execute.

    scripts/run_ptx.sh cost          in the build with the PTX machine
    scripts/run_ptx.sh growth        the tables of large sets only

The script counts instructions; it does not measure. A warp issues an instruction if any of its
lanes executes it. Each instruction occupies one execution unit, at the rate in NVIDIA's CUDA
programming guide ("Arithmetic Instructions", throughput of native arithmetic instructions). The
estimate is the time of the busiest of units, issue (4 warps per clock) and memory, at the boost
clock and without stalls, so a device takes longer. PTX is not machine code: ptxas removes moves
and fuses instructions.

The tables of large sets show thousands of instructions a point at 2^14 points, how all instructions
grow from 2^12 points on, and estimates. These add up the kernels: a launch each time, and either
the time of the busiest unit or, if that is longer, the clocks of a warp that waits for the result
of each instruction. Both grow on beyond 2^14 points as they did from 2^12, and are multiplied by
1.3 and 1.9, as an H200 needed for the first table.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import numpy as np
from support import device_arrays, ptx_machine
from support.device_arrays import DeviceArray

import paretopo_core as pp

_LANES = 32
_WARPS = 8  # of a block
_ISSUED = 128  # lanes of instructions, per clock and multiprocessor
_GROUPS = 4096  # counted; times are for a million
_MILLION = 10**6


@dataclass(frozen=True)
class Device:
    """Results per clock and multiprocessor of each unit; clocks a second; bytes a second."""

    name: str
    multiprocessors: int
    clock: float
    memory: float
    units: dict[str, int]


_HOPPER = {"float": 128, "integer": 64, "double": 64, "convert": 16, "memory": 32}
_ADA = {"float": 128, "integer": 64, "double": 2, "convert": 2, "memory": 32}
_TURING = {"float": 64, "integer": 64, "double": 2, "convert": 2, "memory": 16}
DEVICES = (
    Device("H100", 132, 1.98e9, 3.35e12, _HOPPER),
    Device("H200", 132, 1.98e9, 4.8e12, _HOPPER),
    Device("RTX 4090", 128, 2.52e9, 1.01e12, _ADA),
    Device("T4", 40, 1.59e9, 0.32e12, _TURING),
)
# Machine instructions for one PTX instruction, if there are several: Newton's method with its
# checks; 64-bit integers in halves.
_DIVISION = {"f32": {"float": 9, "integer": 4}, "f64": {"double": 10, "integer": 12}}


def units_of(opcode: str) -> dict[str, int]:
    """Return the number of instructions that a PTX instruction needs on each unit."""
    base, *rest = opcode.split(".")
    types = [part for part in rest if part[0] in "bfsu" and part[1:].isdigit()]
    kind = types[-1] if types else ""
    wide = 2 if kind.endswith("64") and not kind.startswith("f") else 1
    if base in ("ld", "st", "atom"):
        vector = next((int(part[1]) for part in rest if part in ("v2", "v4")), 1)
        is_constant = "param" in rest  # becomes an operand of another instruction
        words = vector * (2 if kind.endswith("64") else 1)
        return {} if is_constant else {"memory": max(1, words // 2)}
    if base in ("div", "sqrt", "rem") and kind in _DIVISION:
        return _DIVISION[kind]
    if base in ("div", "rem"):
        return {"integer": 20 * wide}
    if base == "cvt":
        return {"convert": 1} if "f64" in types else {"integer": 1}
    if base in ("bra", "bar", "ret", "exit", "vote", "shfl", "cvta"):
        return {"issue": 1}
    if base == "mov":
        return {"issue": wide}
    if kind == "f64" and base in ("add", "sub", "mul", "fma", "setp", "min", "max"):
        return {"double": 1}
    if kind == "f32" and base in ("add", "sub", "mul", "fma"):
        return {"float": 1}
    if base in ("mul", "mad") and wide == 2:
        return {"integer": 4}
    return {"integer": wide}


def _pareto_advantage(points: DeviceArray) -> Any:
    return pp.pareto_advantage(points, weights=np.ones(points.shape[-1]))


def _hypervolume_advantage(points: DeviceArray) -> Any:
    return pp.hypervolume_advantage(points, 0, k=2)


def _hypervolume(points: DeviceArray) -> Any:
    return pp.hypervolume(points, 0)


def _contributions(points: DeviceArray) -> Any:
    return pp.hypervolume_contributions(points, 0)


HEADLINES: tuple[tuple[str, str, Callable[..., Any], tuple[int, int]], ...] = (
    ("pareto_advantage", "thread", _pareto_advantage, (8, 2)),
    ("pareto_advantage", "thread", _pareto_advantage, (16, 3)),
    ("pareto_rank", "thread", pp.pareto_rank, (8, 2)),
    ("hypervolume_advantage", "thread", _hypervolume_advantage, (8, 2)),
    ("pareto_advantage", "warp", _pareto_advantage, (64, 4)),
    ("hypervolume", "warp", _hypervolume, (64, 3)),
)


def count(
    mapping: str, operation: Callable[..., Any], shape: tuple[int, int]
) -> ptx_machine.Counts:
    """Count the instructions of a few groups, and scale the counts to a million."""
    groups = _GROUPS if mapping == "thread" else 48
    points = np.random.default_rng(0).random((groups, *shape), dtype=np.float32)
    with device_arrays.emulate(mapping):
        ptx_machine.forget()
        ptx_machine.settle(device_arrays.MAPPINGS.index(mapping), schedule=2, counts=True)
        operation(DeviceArray(points))
    total = ptx_machine.Counts(0, 0, 0, 0, 0)
    for counts in ptx_machine.counts().values():
        total.lane_instructions += counts.lane_instructions * _MILLION // groups
        total.read += counts.read * _MILLION // groups
        total.written += counts.written * _MILLION // groups
        for opcode, times in counts.issued.items():
            more = times * _MILLION / groups
            total.issued[opcode] = total.issued.get(opcode, 0) + int(more)
    return total


def seconds(counts: ptx_machine.Counts, device: Device) -> tuple[float, str]:
    """Return the time of the bottleneck and its name."""
    lanes: dict[str, float] = {"issue": 0.0}
    for opcode, times in counts.issued.items():
        for unit, instructions in units_of(opcode).items():
            lanes["issue"] += times * _LANES * instructions
            if unit != "issue":
                lanes[unit] = lanes.get(unit, 0.0) + times * _LANES * instructions
    rates = {"issue": _ISSUED} | device.units
    clocks = {unit: work / rates[unit] / device.multiprocessors for unit, work in lanes.items()}
    times = {unit: own / device.clock for unit, own in clocks.items()}
    times["bandwidth"] = (counts.read + counts.written) / device.memory
    busiest = max(times, key=lambda unit: times[unit])
    return times[busiest], busiest


def set_of(kind: str, count: int, objectives: int) -> np.ndarray:
    """Return one set of a kind."""
    rng = np.random.default_rng(0)
    normal = np.abs(rng.standard_normal((count, objectives)))
    front = normal / np.linalg.norm(normal, axis=1, keepdims=True)
    points: dict[str, np.ndarray] = {
        "uniform": rng.random((count, objectives)),
        "one front": front,
        "50 fronts": front * rng.integers(1, 51, (count, 1)),
        "clusters": rng.random((10, objectives))[rng.integers(0, 10, count)] + normal / 50,
        "duplicates": rng.integers(0, 8, (count, objectives)),
    }
    return np.asarray(points[kind], np.float32)


_LARGE: tuple[tuple[str, Callable[..., Any], tuple[int, ...]], ...] = (
    ("filter", pp.is_nondominated, (2, 3, 5)),
    ("ranks", pp.pareto_rank, (2, 3, 5)),
    ("crowding distances", pp.crowding_distance, (3,)),
    ("hypervolume", _hypervolume, (2, 3)),
    ("contributions", _contributions, (2,)),
)
_KINDS = ("uniform", "one front", "50 fronts", "clusters", "duplicates")
_ESTIMATED = _KINDS[:2]
_SIZES = tuple(2**power for power in range(10, 15))
_LARGE_FROM = 2**12  # smaller sets have kernels of their own, up to 2,048 points
_LAUNCH = 2e-6  # seconds, in a graph
_DEPENDENT = 6  # clocks from an instruction to one that needs its result
_CALIBRATION = (1.3, 1.9)


def count_large(operation: Callable[..., Any], points: np.ndarray) -> dict[str, ptx_machine.Counts]:
    """Count the instructions of each kernel for one set."""
    with device_arrays.emulate("block"):
        ptx_machine.forget()
        ptx_machine.settle(schedule=2, counts=True)
        operation(DeviceArray(points))
    return ptx_machine.counts()


def instructions(counts: dict[str, ptx_machine.Counts], points: int) -> float:
    """Return the instructions of all lanes per point."""
    return sum(kernel.lane_instructions for kernel in counts.values()) / points


def growth_of(cost: dict[int, float]) -> float:
    """Return the exponent of the points, fitted to the instructions per point by size."""
    slope, _ = np.polyfit(np.log([*cost]), np.log([*cost.values()]), 1)
    return 1 + float(slope)


def waits(kernel: ptx_machine.Counts, device: Device) -> float:
    """Return the seconds of the launches; in each, a warp runs its instructions in turn."""
    in_turn = sum(kernel.issued.values()) / kernel.warps
    return kernel.launches * (_LAUNCH + in_turn * _DEPENDENT / device.clock)


def estimate_large(
    counts: dict[int, dict[str, ptx_machine.Counts]], points: int, device: Device
) -> float:
    """Return the seconds of all kernels for a larger set than were counted."""
    first, last = counts[_LARGE_FROM], counts[_SIZES[-1]]
    steps = math.log(points / _SIZES[-1]) / math.log(_SIZES[-1] / _LARGE_FROM)

    def grown(least: Callable[[ptx_machine.Counts], float], name: str) -> float:
        return least(last[name]) * (least(last[name]) / least(first[name])) ** steps

    return sum(
        max(
            grown(lambda kernel: seconds(kernel, device)[0], name),
            grown(lambda kernel: waits(kernel, device), name),
        )
        for name in last
    )


def _ms(time: float) -> str:
    return f"{float(f'{time * 1e3:.2g}'):g}"


def print_large_sets(device: Device) -> None:
    """Print how the instructions of large sets grow, and estimates, in Markdown."""
    print("| operation | objectives", *_KINDS, sep=" | ", end=" |\n")
    print("|---|---:" + "|---:" * len(_KINDS) + "|")
    estimates = []
    for name, operation, dimensions in _LARGE:
        for objectives in dimensions:
            print(f"| {name} | {objectives} |", end="", flush=True)
            for kind in _KINDS:
                counts = {n: count_large(operation, set_of(kind, n, objectives)) for n in _SIZES}
                cost = {n: instructions(found, n) for n, found in counts.items()}
                print(name, objectives, kind, *map(round, cost.values()), file=sys.stderr)
                growth = growth_of({n: found for n, found in cost.items() if n >= _LARGE_FROM})
                print(f" {cost[_SIZES[-1]] / 1000:.1f}, n^{growth:.2f} |", end="", flush=True)
                if kind not in _ESTIMATED:
                    continue
                row = [name, str(objectives), kind]
                for n in (10**5, 10**6):
                    time = estimate_large(counts, n, device)
                    row.append(" to ".join(_ms(time * factor) for factor in _CALIBRATION))
                estimates.append(row)
            print()
    print(f"\n| operation | objectives | points | 100,000 on a {device.name}, ms | 1,000,000 |")
    print("|---|---:|---|---:|---:|")
    for row in estimates:
        print("", *row, "", sep=" | ")


def print_headlines() -> None:
    """Print the table of batches, in Markdown."""
    names = [device.name for device in DEVICES]
    print(
        "| a million groups | instructions a group | float, integer, double | bytes a group |",
        end="",
    )
    print("".join(f" {name} |" for name in names))
    print("|---" * (4 + len(names)) + "|")
    for name, mapping, operation, shape in HEADLINES:
        counts = count(mapping, operation, shape)
        by_unit: dict[str, float] = {}
        for opcode, times in counts.issued.items():
            for unit, instructions in units_of(opcode).items():
                by_unit[unit] = by_unit.get(unit, 0.0) + times * _LANES * instructions / _MILLION
        units = ", ".join(f"{by_unit.get(unit, 0):.0f}" for unit in ("float", "integer", "double"))
        moved = (counts.read + counts.written) / _MILLION
        print(f"| `{name}` {shape[0]} x {shape[1]}, a {mapping} each ", end="")
        print(f"| {counts.lane_instructions / _MILLION:.0f} | {units} | {moved:.0f} |", end="")
        for device in DEVICES:
            least, busiest = seconds(counts, device)
            print(f" {least * 1e6:.0f} µs ({busiest}) |", end="")
        print(flush=True)
    print()


def main() -> None:
    """Print the tables that the argument asks for."""
    if not ptx_machine.IS_HERE:
        sys.exit("no build with the PTX machine: scripts/run_ptx.sh cost")
    if sys.argv[1:] != ["growth"]:
        print_headlines()
    print_large_sets(DEVICES[1])


if __name__ == "__main__":
    main()
