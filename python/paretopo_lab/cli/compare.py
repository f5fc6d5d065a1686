"""``paretopo compare``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from paretopo.subcommands import Subcommands, announce, need, refuse

_WIDTH = 80  # characters of a terminal
_EXAMPLES = """\
examples:
  paretopo compare answers.csv --objective accuracy:max --objective tokens:min --by model
  paretopo compare a.jsonl b.jsonl --objective correct:max --objective cost=usage.dollars:min
  paretopo compare logs/*.eval --objective match:max --objective output_tokens:min
  paretopo compare answers.csv --objective accuracy:max --objective tokens:min --out report

The first example needs a file like this one, with a row for each answer:

  model,question,accuracy,tokens
  small,q1,0,310
  small,q2,1,280
  large,q1,1,940
  large,q2,1,905

An objective names a column, with dots for nested objects; len(COLUMN) is the length of a text or
list, and NAME=COLUMN gives it a name. docs/compare.md explains the results.

These logs need no --by and no --question: samples_*.jsonl of lm-eval, .eval, .json of inspect-ai,
traces.jsonl of verifiers, questions.json and trajectories.jsonl of paretopo,
summary.json of vllm bench sweep. In TensorBoard's event files, the last value of each scalar
counts. Without --objective, the command lists the columns of the files.
"""


def add_compare(subcommands: Subcommands) -> None:
    """Add the command that compares logs of other programs as fronts."""
    parser = subcommands.add(
        "compare",
        _run,
        "compare models from the logs of their evaluations",
        "Compare models on several objectives, from the logs of their evaluations. Print\n"
        "the front, its hypervolume with an interval, and probabilities of dominance.",
        _EXAMPLES,
    )
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="logs: CSV, TSV, JSON, JSONL, .eval or event files of TensorBoard",
    )
    parser.add_argument(
        "--objective",
        action="append",
        default=[],
        metavar="COLUMN:max|min",
        help="a column and its better direction; give two or more",
    )
    parser.add_argument(
        "--by",
        action="append",
        default=[],
        metavar="COLUMN",
        help="the column that names the model (default: model; if there is none, one model per "
        "file); to combine columns, repeat the option",
    )
    parser.add_argument(
        "--question",
        metavar="COLUMN",
        help="the column that names the question (default: detected), or none if the rows are "
        "independent",
    )
    parser.add_argument(
        "--front",
        metavar="COLUMN",
        help="the column that names a family of models; each family gets its own front",
    )
    parser.add_argument(
        "--missing",
        choices=("pairs", "models", "worst"),
        default="pairs",
        help="if models lack answers: compare each pair on the questions that both answered, leave "
        "out the models that cost most questions, or count a missing answer as the worst "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--until",
        choices=("settled",),
        help="also estimate how many more questions decide which models are on the front",
    )
    parser.add_argument(
        "--all", action="store_true", help="list all models, also dominated ones of more than 20"
    )
    parser.add_argument(
        "--ref",
        metavar="NUMBERS",
        help="reference point of the hypervolume: a number for each objective, separated by commas "
        "(default: the worst means, made worse by two errors and 10 %% of the range)",
    )
    parser.add_argument(
        "--cover",
        type=float,
        default=0.95,
        metavar="SHARE",
        help="find the smallest set of models that covers this share of the hypervolume "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--replicates",
        type=int,
        default=10_000,
        metavar="N",
        help="number of bootstrap replicates (default: %(default)s)",
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of the replicates (default: %(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument(
        "--out",
        metavar="DIR",
        help="also write compare.html, compare.md, compare.json and front.png to this folder",
    )


def _run(arguments: argparse.Namespace, _: Sequence[str]) -> int:
    from paretopo_lab.compare.analysis import analyse
    from paretopo_lab.compare.columns import parse_objective
    from paretopo_lab.compare.report import describe, to_plain
    from paretopo_lab.compare.scores import collect_scores
    from paretopo_lab.read.logs import read_logs

    if arguments.out is not None:
        need("matplotlib")
    try:
        objectives = [parse_objective(text) for text in arguments.objective]
        reference = None if arguments.ref is None else _parse_numbers(arguments.ref)
        announce("reading logs")
        scores = collect_scores(
            read_logs([Path(name) for name in arguments.files]),
            objectives,
            arguments.by,
            arguments.question,
            arguments.front,
            arguments.missing,
        )
        analysis = analyse(
            scores,
            reference=reference,
            replicates=arguments.replicates,
            seed=arguments.seed,
            cover=arguments.cover,
            until_settled=arguments.until is not None,
        )
        if arguments.out is not None:
            from paretopo_lab.compare.charts import make_front
            from paretopo_lab.document.files import write_files

            report = describe(analysis)
            report = report._replace(parts=[*report.parts, make_front(analysis)])
            name = f"{len(scores.models)} models · comparison"
            written = write_files(report, Path(arguments.out), "compare", name, to_plain(analysis))
            print(f"paretopo: wrote {written.with_suffix('.html')}", file=sys.stderr)
    except (OSError, ValueError) as error:  # of configuration and of data
        refuse(str(error))
    if arguments.json:
        print(json.dumps(to_plain(analysis), indent=1, ensure_ascii=False))
    else:
        print(describe(analysis, every=arguments.all).write(aligned=True, width=_WIDTH))
    return 0


def _parse_numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        refuse(f"--ref must be numbers with commas between them, like 0,1000, got {text!r}")
