"""A tiny case of the benchmark, a row about it, and the output of a command."""

from dataclasses import replace
from pathlib import Path

from bench import rows
from bench.cases import Case
from bench.runner import Plan
from bench.timing import Effort

EFFORT = Effort(budget_s=0.001, least=1, most=2)
CHECKOUT = Path(__file__).parents[2]
PLAN = Plan(EFFORT, limit_s=60.0, names=("paretopo", "moocore"))
TINY = Case("fronts", "pareto_rank", "uniform", 30, 2)


def a_row(**changes):
    row = rows.Measurement(
        **TINY.as_dict(), peer="paretopo", version="1", status="ok", cpu_median_ms=2.0
    )
    return replace(row, **changes)


def write_worker(path, body, before=""):
    """Write a worker for one peer, whose call of pareto_rank evaluates `body`."""
    path.write_text(
        "import os, signal, sys, time\n"
        "from bench import peers, worker\n"
        f"{before}\n"
        "class Stranger:\n"
        "    def pareto_rank(self, case):\n"
        f"        return lambda: {body}\n"
        "peers.make = lambda name: Stranger()\n"
        "worker.main('stranger')\n",
        encoding="utf-8",
    )
    return path


def one_line(capsys):
    printed = capsys.readouterr().err
    assert printed.startswith("bench: ")
    assert printed.count("\n") == 1
    return printed
