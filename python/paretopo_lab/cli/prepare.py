"""``paretopo prepare``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paretopo.subcommands import Subcommands, announce, need, refuse

if TYPE_CHECKING:
    from paretopo_lab.prepare.sources import Source

_EXAMPLES = """\
examples:
  paretopo prepare math500                          a benchmark, from the Hugging Face Hub
  paretopo prepare torl --from train.parquet        a training set, without the questions of the
                                                    benchmarks that you prepared before
  paretopo prepare nq --from nq/test.jsonl          a file that you have downloaded

data sets:
{table}

A training set becomes DIR/NAME/train.jsonl and held_out.jsonl, a benchmark DIR/NAME/test.jsonl.
Each row is {{"id", "datasource", "question", "prompt", "label": {{"answer"}}}}. Without --from, the
command downloads the file from the Hugging Face Hub. docs/data.md has the details.
"""


def add_prepare(subcommands: Subcommands) -> None:
    """Add the command that prepares files for training and evaluation."""
    from paretopo_lab.prepare.sources import SOURCES

    parser = subcommands.add(
        "prepare",
        _run,
        "prepare a data set for training and evaluation",
        "Convert and check a published data set, split it, and drop benchmark questions.",
        _EXAMPLES.format(table="\n".join(map(_describe_source, SOURCES.values()))),
    )
    parser.add_argument(
        "name", metavar="NAME", choices=list(SOURCES), help="a data set from the list below"
    )
    parser.add_argument(
        "--from",
        dest="file",
        metavar="FILE",
        type=Path,
        help="the published file (.parquet, .jsonl, .json, .csv)",
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        default=Path("data"),
        help="output folder (default: %(default)s)",
    )
    training = parser.add_argument_group("training sets")
    training.add_argument(
        "--held-out",
        metavar="SHARE",
        type=float,
        default=0.01,
        help="share of the questions to hold out for evaluation (default: %(default)s)",
    )
    training.add_argument(
        "--seed", type=int, default=0, help="seed of the split (default: %(default)s)"
    )
    training.add_argument(
        "--exclude",
        metavar="FILE",
        type=Path,
        nargs="+",
        default=[],
        help="files of questions to leave out, in addition to the benchmarks in DIR",
    )


def _describe_source(source: Source) -> str:
    kind = "train" if source.training else "test"
    where = source.repository or source.address.removeprefix("https://").split("/raw/")[0]
    rows = f"{source.rows:,}" if source.counted else f"~{source.rows:,}"
    return f"  {source.name:<16}{rows:>7}  {kind:<6} {source.title} ({where})"


def _run(arguments: argparse.Namespace, _: Sequence[str]) -> int:
    need("tqdm", "pyarrow", "huggingface_hub", "httpx")
    announce(f"preparing {arguments.name}")
    from paretopo.records.schema import DataError
    from paretopo_lab.prepare.preparing import download, prepare
    from paretopo_lab.prepare.sources import SOURCES
    from paretopo_lab.prepare.training_set import Options

    source = SOURCES[arguments.name]
    try:
        options = Options(
            held_out=arguments.held_out,
            seed=arguments.seed,
            exclude=tuple(arguments.exclude),
        )
        if not source.training and options != Options():
            raise DataError(
                f"{source.name} is a benchmark and stays as published: --held-out, --seed "
                "and --exclude are for training sets"
            )
        file = arguments.file or download(source)
        manifest = prepare(source, file, arguments.out, options)
    except (DataError, OSError) as error:
        refuse(str(error))
    _print_manifest(manifest, arguments.out / source.name)
    for warning in manifest["warnings"]:
        print(f"paretopo: warning: {warning}", file=sys.stderr)
    return 0


def _print_manifest(manifest: dict[str, Any], folder: Path) -> None:
    """Print how many rows were read, left out and written."""
    print(f"{manifest['name']}: {manifest['title']}")
    published = manifest["published"]["sha256"]
    for file in manifest["files"]:
        is_same = file["sha256"] == published
        same = "" if published is None else f"  {'' if is_same else 'not '}as published"
        print(f"  from     {file['path']}  {file['bytes']:,} bytes  sha256 {file['sha256']}{same}")
    print(f"  read     {manifest['read']:>9,} rows")
    for reason, count in manifest["dropped"].items():
        print(f"  dropped  {count:>9,} {reason}")
    for file in manifest.get("excluded", []):
        print(f"  without  {file['removed']:>9,} questions of {file['path']}")
    for reason, count in manifest["notes"].items():
        print(f"  note     {count:>9,} {reason}")
    for datasource, count in manifest["kept"].items():
        print(f"  kept     {count:>9,} {datasource}")
    for file in manifest["outputs"]:
        print(
            f"  wrote    {file['rows']:>9,} rows  {folder / file['path']}  sha256 {file['sha256']}"
        )
