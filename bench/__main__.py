"""``paretopo bench``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from paretopo.cli.subcommands import Subcommands, need, refuse

_EXAMPLES = """\
examples:
  paretopo bench --quick                    small sizes, to see that everything works
  paretopo bench                            everything, in about 25 minutes
  paretopo bench fronts hypervolume         two operations
  paretopo bench --resume                   go on where an interrupted run stopped
  paretopo bench --plots-only               draw the pictures again, from the CSV files
  paretopo bench --promises                 hold the CSV files against what is promised
  paretopo bench --device cuda              everything that runs on a GPU, beside torch peers

Peers that are not installed are left out: pip install 'paretopo[bench]' brings all of them. Every
answer is checked before it is timed; a peer that is wrong, crashes or takes too long gets a row
that says so. Without --out, results go to bench/results/MACHINE, the machine's name being made of
its processor.
"""


def add_bench(subcommands: Subcommands) -> None:
    """Time the core against its peers."""
    parser = subcommands.add(
        "bench",
        _run,
        "time the core against its peers",
        "Time every operation against every installed peer, on one thread.",
        _EXAMPLES,
    )
    parser.add_argument(
        "operations",
        nargs="*",
        metavar="OPERATION",
        help="fronts, filter, hypervolume, contributions, batches, advantage, archive, overhead "
        "or threads; all of them if none is named",
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, few repeats")
    parser.add_argument("--resume", action="store_true", help="keep what is already measured")
    parser.add_argument("--out", metavar="DIR", help="where CSV files and pictures go")
    parser.add_argument(
        "--device",
        choices=("cpu", "cuda"),
        default="cpu",
        help="where the data live",
    )
    parser.add_argument("--plots-only", action="store_true", help="measure nothing, only draw")
    parser.add_argument("--promises", action="store_true", help="measure nothing, print the table")


def _run(arguments: argparse.Namespace, _: Sequence[str]) -> int:
    from bench import command

    if arguments.device == "cuda":
        return _bench_gpu(arguments)
    folder = command.results_folder(arguments.out, quick=arguments.quick)
    operations: list[str] = arguments.operations
    try:
        if arguments.promises:
            print(command.promised(folder), end="")
            return 0
        need("matplotlib", extra="bench")
        if not arguments.plots_only:
            need("moocore", extra="bench")  # the judge of large sets
            try:
                command.measure(operations, folder, quick=arguments.quick, resume=arguments.resume)
            except KeyboardInterrupt:
                print("\nparetopo: go on with: paretopo bench --resume", file=sys.stderr)
                raise
            if not arguments.quick:  # the promises are about the full sizes
                print(f"\n{command.promised(folder)}")
        for path in command.draw(operations, folder):
            print(path)
    except (OSError, ValueError) as error:
        refuse(str(error))
    return 0


def _bench_gpu(arguments: argparse.Namespace) -> int:
    from bench import command

    if arguments.operations or arguments.promises or arguments.plots_only:
        refuse("--device cuda measures everything: drop the operations and other switches")
    need("matplotlib", "moocore", extra="bench")
    try:
        folder = command.measure_gpu(arguments.out, quick=arguments.quick, resume=arguments.resume)
        for path in command.draw((), folder):
            print(path)
    except (OSError, ValueError) as error:
        refuse(str(error))
    return 0
