"""Run one peer in a separate process, so that a crash does not stop the benchmark.

``python -m bench.worker PEER`` reads one request per line and writes one reply per line, both in
JSON, after an initial "ready". A request names a case and a file with the correct answer. The
worker "judge" writes that file. Every other worker reads it, checks its answer and measures the
time.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from typing import Any, TextIO

import numpy as np

from bench import judge, peers, timing
from bench.cases import Case

JUDGE = "judge"


def main(name: str) -> None:
    """Answer requests until the input ends."""
    replies = _take_output()
    peer = None if name == JUDGE else peers.make(name)
    print(json.dumps({"status": "ready"}), file=replies, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        case = Case(**request["case"])
        try:
            reply = _judge(case, request) if peer is None else _time(peer, case, request)
        except timing.WrongAnswer as wrong:
            reply = {"status": "wrong", "note": str(wrong)}
        except timing.Skipped as why:
            reply = {"status": "skipped", "note": str(why)}
        except judge.NoJudge as missing:
            reply = {"status": "no judge", "note": str(missing)}
        except Exception as error:  # a peer may raise anything
            reply = {"status": "error", "note": f"{type(error).__name__}: {error}"[:200]}
        print(json.dumps(reply), file=replies, flush=True)


def _take_output() -> TextIO:
    """Keep the reply stream for replies: peers print to the standard output from C."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    return replies


def _judge(case: Case, request: dict[str, Any]) -> dict[str, Any]:
    np.save(request["truth"], np.stack([judge.solve(drawn) for drawn in case.draws]))
    return {"status": "ok"}


def _time(peer: Any, case: Case, request: dict[str, Any]) -> dict[str, Any]:
    works = [work for drawn in case.draws if (work := peers.prepare(peer, drawn)) is not None]
    if not works:
        return {"status": "not offered"}
    right = np.load(request["truth"])
    effort = timing.Effort(**request["effort"])
    times = timing.measure(
        works, lambda draw, answer: judge.find_error(case, _fetch(answer), right[draw]), effort
    )
    return {"status": "ok", **asdict(times)}


def _fetch(answer: Any) -> Any:
    return answer.cpu() if hasattr(answer, "cpu") else answer


if __name__ == "__main__":
    main(sys.argv[1])
