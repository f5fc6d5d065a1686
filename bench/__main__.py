"""``python -m bench``: the command line of the benchmark."""

from __future__ import annotations

import argparse
import importlib.util
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.runner import Build

_SLOWER = 1
_WRONG_INPUT = 2
_INTERRUPTED = 130  # 128 + SIGINT, by the convention of shells
_HELP = """\
operations:
{operations}

examples, from the root of a checkout:
  pip install ".[bench]"                    the package, and every peer
  python -m bench --quick                   small sizes in 2 minutes, as a smoke test
  python -m bench                           everything, in about 30 minutes
  python -m bench fronts hypervolume        two operations
  python -m bench --resume                  continue an interrupted run
  python -m bench --plots-only              draw the plots again from the CSV files
  python -m bench --leads                   print the smallest leads, from the CSV files
  python -m bench --device cuda             on a GPU, with the peers that support it
  python -m bench --against OLD/bin/python=main   compare this build with another one
  PARETOPO_ISA=avx2 python -m bench         use a specific instruction set

Every answer is checked before it is timed. A peer that is wrong, crashes or takes too long gets a
row with this status; a peer that is not installed is skipped. Results go to bench/results/MACHINE,
named after the processor. --quick and --against write to a folder next to it. bench/README.md
explains the results.

exit status: 0; 1 if --against finds a case that got slower; 2 for wrong input; 130 after Ctrl-C.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status.

    Args:
        arguments: the words after ``python -m bench``; by default those of the process.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        _require("numpy", "paretopo_core", "matplotlib", "moocore")
        return _run(_make_parser().parse_args(words))
    except (OSError, ValueError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return _WRONG_INPUT
    except KeyboardInterrupt:
        again = words if "--resume" in words else [*words, "--resume"]
        print(
            f"\nbench: interrupted; go on with: python -m bench {shlex.join(again)}",
            file=sys.stderr,
        )
        return _INTERRUPTED


def _make_parser() -> argparse.ArgumentParser:
    from bench.cases import HEADLINE_OPERATIONS, OPERATIONS  # needs NumPy

    listed = [
        f"  {name:<20}  {str(make_cases.__doc__).splitlines()[0]}"
        for name, make_cases in {**OPERATIONS, **HEADLINE_OPERATIONS}.items()
    ]
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Time every operation of paretopo_core against every installed peer, side by "
        "side, on one thread.",
        epilog=_HELP.format(operations="\n".join(listed)),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("operations", nargs="*", metavar="OPERATION", help="see below; by default all of them")
    add("--quick", action="store_true", help="small sizes, few repeats")
    add("--resume", action="store_true", help="continue an interrupted run")
    add("--out", metavar="DIR", help="folder for CSV files and plots")
    add("--device", choices=("cpu", "cuda"), default="cpu", help="device of the data")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--plots-only", action="store_true", help="only draw")
    only.add_argument("--leads", action="store_true", help="only print the smallest leads")
    only.add_argument(
        "--against",
        metavar="PYTHON[=LABEL]",
        help="compare this build of paretopo_core with that of another interpreter, in turns; "
        "print the ratios",
    )
    add(
        "--tolerance",
        type=float,
        default=5.0,
        metavar="PERCENT",
        help="by how much a case may be slower than in the other build (default 5)",
    )
    return parser


def _require(*packages: str) -> None:
    """Check that packages are installed, moocore among them: it judges large sets."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        raise ValueError(
            f"{', '.join(missing)} not installed; from the root of the checkout run: "
            "pip install '.[bench]'"
        )


def _run(parsed: argparse.Namespace) -> int:
    from bench import command  # only where everything it takes is installed

    description = command.describe(parsed.device)
    kinds = (("quick", parsed.quick), ("against", parsed.against))
    kind = "-".join(name for name, is_chosen in kinds if is_chosen)
    folder = Path(parsed.out or command.choose_folder(description, kind))
    if parsed.leads:
        print(command.render_leads(parsed.operations, folder), end="")
        return 0
    how = {"quick": parsed.quick, "resume": parsed.resume}
    if parsed.against:
        build = _read_build(parsed.against)
        tolerance = parsed.tolerance / 100
        if not tolerance >= 0:
            raise ValueError(f"--tolerance must be 0 or more, got {parsed.tolerance:g}")
        operations = parsed.operations
        is_kept = command.measure_against(build, operations, folder, description, tolerance, **how)
        return 0 if is_kept else _SLOWER
    if not parsed.plots_only:
        command.measure(parsed.operations, folder, description, **how)
        print(f"\n{command.render_leads(parsed.operations, folder)}")
    for path in command.draw(parsed.operations, folder):
        print(path)
    return 0


def _read_build(text: str) -> Build:
    """Parse ``PYTHON[=LABEL]``."""
    from bench.runner import Build

    python, _, label = text.partition("=")
    return Build(label or "other", python)


if __name__ == "__main__":
    sys.exit(main())
