"""Runs cases: every peer in its own process, one case after the other, side by side."""

from __future__ import annotations

import json
import os
import queue
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench import peers, rows, worker
from bench.cases import Case
from bench.rows import Measurement
from bench.timing import Effort

_ONE_THREAD = ("OMP", "MKL", "OPENBLAS", "NUMBA", "VECLIB_MAXIMUM")
_START_S = 120.0  # importing a package on a busy machine


@dataclass(frozen=True)
class Build:
    """Another build of paretopo_core, which is one more peer, and the interpreter that has it."""

    label: str
    python: str

    def find_version(self) -> str:
        """Ask the interpreter for the version of its paretopo_core.

        Raises:
            ValueError: the label is a peer's name, or the interpreter has no paretopo_core.
        """
        if self.label in peers.PEERS:
            raise ValueError(f"another build needs a label of its own: {self.label!r} is a peer")
        program = "import paretopo_core; print(paretopo_core.__version__)"
        try:
            done = subprocess.run(
                [self.python, "-c", program], capture_output=True, text=True, timeout=_START_S
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ValueError(f"{self.python} does not start: {error}") from None
        if done.returncode != 0:
            why = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
            raise ValueError(f"{self.python} cannot import paretopo_core: {why}")
        return done.stdout.strip()


@dataclass(frozen=True)
class Plan:
    """How hard to measure.

    Attributes:
        effort: per peer and case, in each round.
        limit_s: a peer that takes longer for a case is stopped: "too slow".
        names: of the peers.
        other: another build of this package, measured like a peer.
        rounds: how often the peers take turns on a case; each round has rows of its own.
        rounds_s: no round begins later than that after the first.
    """

    effort: Effort = field(default_factory=Effort)
    limit_s: float = 10.0
    names: Sequence[str] = peers.ON_CPU
    other: Build | None = None
    rounds: int = 1
    rounds_s: float = 15.0


@dataclass
class Process:
    """A worker process, started at the first request and again after a crash.

    Attributes:
        name: of the peer, or the judge.
        program: the arguments of Python; the worker of that name by default.
        python: the interpreter; this one by default.
    """

    name: str
    program: Sequence[str] = ()
    python: str = sys.executable
    _process: subprocess.Popen[str] | None = None
    _replies: queue.Queue[str] = field(default_factory=queue.Queue)
    _reader: threading.Thread | None = None

    def ask(self, request: dict[str, Any], limit_s: float) -> dict[str, Any]:
        """Send a request and wait for its reply, or for the end of the worker."""
        if self._process is None:
            self._start()
            ready = self._receive(_START_S)
            if ready["status"] != "ready":
                return ready
        process = self._process
        assert process is not None
        assert process.stdin is not None
        with suppress(OSError):  # it has ended: there is no reply either
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
        return self._receive(limit_s)

    def _receive(self, limit_s: float) -> dict[str, Any]:
        try:
            line = self._replies.get(timeout=limit_s)
        except queue.Empty:
            self.stop()
            return {"status": "too slow", "note": f"more than {limit_s:g} s"}
        if line:
            reply: dict[str, Any] = json.loads(line)
            return reply
        assert self._process is not None
        code = self._process.wait()
        self.stop()
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return {"status": "crashed", "note": how}

    def stop(self) -> None:
        """End the worker, if there is one."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        if self._reader is not None:
            self._reader.join()  # ends with the process, and closes its output
        if process.stdin is not None:
            with suppress(OSError):  # unread input is lost
                process.stdin.close()

    def _start(self) -> None:
        checkout = str(Path(__file__).parents[1])  # this package is not installed
        path = os.pathsep.join(filter(None, (checkout, os.environ.get("PYTHONPATH"))))
        environment = {**os.environ, "PYTHONPATH": path}
        environment.update({f"{name}_NUM_THREADS": "1" for name in _ONE_THREAD})
        self._process = subprocess.Popen(
            [self.python, *(self.program or ("-m", worker.__name__, self.name))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        self._replies = queue.Queue()
        self._reader = threading.Thread(
            target=_forward, args=(self._process, self._replies), daemon=True
        )
        self._reader.start()


def _forward(process: subprocess.Popen[str], replies: queue.Queue[str]) -> None:
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            replies.put(line)
    replies.put("")  # the end


class Runner:
    """The peers that are installed, and the judge; prints one line per case."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        found = {name: peers.find_version(name) for name in plan.names}
        self.versions = {name: version for name, version in found.items() if version is not None}
        self.missing = [name for name, version in found.items() if version is None]
        self._processes = {name: Process(name) for name in (worker.JUDGE, *self.versions)}
        if plan.other is not None:
            label = plan.other.label
            self.versions[label] = plan.other.find_version()
            self._processes[label] = Process(peers.OURS, python=plan.other.python)
        self._too_slow: dict[tuple[object, ...], int] = {}

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes.values():
            process.stop()

    def run(self, cases: Sequence[Case], path: Path, *, resume: bool = False) -> None:
        """Measure cases of one operation into a CSV file, which appears when all are done.

        ``<path>.part`` next to it holds the rows measured so far. ``resume`` keeps a finished file,
        and the finished cases of a part.
        """
        part = path.with_suffix(".csv.part")
        if resume and path.exists():
            print(f"{path.name} is complete")
            return
        done = {row.case for row in rows.read(part)} if resume and part.exists() else set()
        if not done:
            rows.write(part, [])
        for case in cases:
            if case in done:
                continue
            self._add(case, part)
        part.replace(path)

    def repeat(self, cases: Sequence[Case], path: Path) -> None:
        """Measure cases again, in new processes, and add their rows to a finished file."""
        for process in self._processes.values():
            process.stop()
        for case in cases:
            self._add(case, path)

    def _add(self, case: Case, path: Path) -> None:
        """Measure a case; add its rows to a file."""
        start = time.perf_counter()
        measured = list(self._measure(case))
        rows.write(path, measured, append=True)
        print(_summarise(case, measured, time.perf_counter() - start))

    def _measure(self, case: Case) -> Iterator[Measurement]:
        with tempfile.TemporaryDirectory() as folder:
            request = {
                "case": case.as_dict(),
                "truth": str(Path(folder) / "truth.npy"),
                "effort": asdict(self._plan.effort),
            }
            judged = self._processes[worker.JUDGE].ask(request, 10 * self._plan.limit_s)
            if judged["status"] != "ok":
                print(f"{case}: no right answer, {judged.get('note', judged['status'])}")
                return
            names = [
                name
                for name in self.versions
                if peers.is_asked(self._processes[name].name, case.operation)
            ]
            begun = time.perf_counter()
            for count in range(self._plan.rounds):
                if count and time.perf_counter() - begun > self._plan.rounds_s:
                    break
                for name in names:
                    reply = self._ask(name, case, request)
                    if reply["status"] == "not offered":
                        continue
                    version = self.versions[name]
                    yield Measurement(**case.as_dict(), peer=name, version=version, **reply)
                names.reverse()  # alternate the order

    def _ask(self, name: str, case: Case, request: dict[str, Any]) -> dict[str, Any]:
        """Ask a peer, unless it was too slow on a smaller case of the same kind."""
        size = case.points * max(case.groups, 1)
        kind = (name, case.task, case.workload, case.objectives, case.groups > 0)
        if size >= self._too_slow.get(kind, size + 1):
            return {"status": "too slow", "note": "as with fewer points"}
        reply = self._processes[name].ask(request, self._plan.limit_s)
        if reply["status"] == "too slow":
            self._too_slow[kind] = size
        return reply


def _summarise(case: Case, measured: Sequence[Measurement], seconds: float) -> str:
    """Summarise in one line: our time, the best peer's, and failures."""
    rounds: dict[str, list[float]] = {}
    for row in measured:
        if row.is_timed:
            rounds.setdefault(row.peer, []).append(row.milliseconds)
    timed = {peer: statistics.median(times) for peer, times in rounds.items()}
    ours = timed.pop(peers.OURS, None)
    text = [f"{case!s:<58}"]
    text.append(f"{peers.OURS} {ours:10.4g} ms" if ours is not None else "")
    if timed:
        best = min(timed, key=timed.__getitem__)
        ratio = "" if ours is None else f" ({timed[best] / ours:.3g}x)"
        text.append(f"best peer {best} {timed[best]:.4g} ms{ratio}")
    text += dict.fromkeys(f"{row.peer} {row.status}" for row in measured if not row.is_timed)
    text.append(f"[{seconds:.1f} s]")
    return "  ".join(filter(None, text))
