"""The command line: ``paretopo info | train | report | bench | serve-search``.

Every subcommand imports what it needs when it runs, so that ``paretopo --help`` is quick and
``paretopo info`` works where only NumPy is installed.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NoReturn, TypeAlias

if TYPE_CHECKING:
    from paretopo_core.training.config import RunConfig
    from paretopo_core.training.records import RunFolder

_Command: TypeAlias = Callable[[argparse.Namespace], int]
_WRONG_INPUT = 2
_INTERRUPTED = 130  # 128 + SIGINT, what shells expect

_EXAMPLES = """\
examples:
  paretopo info                                   what is installed, and on what machine
  paretopo train examples/calculator.toml         train; a run folder appears under runs/
  paretopo train --resume runs/RUN                go on after Ctrl-C, a crash or a kill
  paretopo report runs/RUN                        draw table and pictures again
  paretopo bench --quick                          time the core against its peers
  paretopo serve-search corpus.jsonl              answer searches in a corpus, for training
"""

_TRAIN_EXAMPLES = """\
examples:
  paretopo train examples/calculator.toml
  paretopo train examples/calculator.toml --seed 3 --steps 20 --out trials
  paretopo train --resume runs/calculator-recommended-seed3-20260101-120000
  paretopo train examples/math_qwen2.5_7b.toml --rehearse
  paretopo train examples/math_qwen2.5_7b.toml -- --vllm.num_engines 16

A rehearsal runs a configuration for OpenRLHF at a small size on a CPU, before a GPU is paid for:
docs/openrlhf.md. Words after -- go to OpenRLHF's own command line and win over the file.

The file is TOML; docs/training.md explains every key. An unknown key or a value out of range is
refused before anything is loaded. The run folder holds the resolved configuration, steps.jsonl,
evaluations.jsonl, manifest.json, checkpoints/, model/ and report/.
"""

_REPORT_EXAMPLES = """\
examples:
  paretopo report runs/A                    writes runs/A/report/
  paretopo report runs/A runs/B runs/C      lays them over each other, in runs/comparison/
  paretopo report runs/A runs/B --out figures

Reads the records of the runs only: nothing is evaluated again.
"""

_BENCH_EXAMPLES = """\
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

_SERVE_SEARCH_EXAMPLES = """\
examples:
  paretopo serve-search corpus.jsonl
  paretopo serve-search wiki-18.jsonl --port 8001 --index /data/wiki-18.bm25
  paretopo serve-search wiki-18.jsonl --engine dense --model intfloat/e5-base-v2 --faiss HNSW32

  curl -s http://127.0.0.1:8000/retrieve -H 'content-type: application/json' \\
    -d '{"queries": ["longest river"], "topk": 3, "return_scores": true}'

A line of the corpus is {"id": "7", "contents": "\\"Title\\"\\ntext"}, as in Search-R1's
wiki-18.jsonl, or has "title" and "text" instead of "contents". The index is made once and kept
beside the corpus; a corpus that changed gets a new one. docs/tools.md tells sizes, times and the
protocol. There are no passwords: whoever reaches the address can search.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0, 2 for wrong input, 130 after Ctrl-C.

    Args:
        arguments: the words after ``paretopo``; those of the process by default. What stands
            behind ``--`` is handed on by ``train``.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    own = words[: words.index("--")] if "--" in words else words
    parsed = _parser().parse_args(own)
    parsed.options = words[len(own) + 1 :]
    command: _Command = parsed.command
    try:
        if parsed.options and command is not _train:
            _refuse(f"only train hands options on, got -- {' '.join(parsed.options)}")
        return command(parsed)
    except _Refusal as refusal:
        print(f"paretopo: {refusal}", file=sys.stderr)
        return _WRONG_INPUT
    except KeyboardInterrupt:
        print("paretopo: interrupted", file=sys.stderr)
        return _INTERRUPTED


class _Refusal(Exception):
    """Wrong input, told in one line."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="paretopo",
        description="Multi-objective training of tool-using language models.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def add(
        name: str, run: _Command, purpose: str, description: str, examples: str | None = None
    ) -> argparse.ArgumentParser:
        command = commands.add_parser(
            name,
            help=purpose,
            description=description,
            epilog=examples,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.set_defaults(command=run)
        return command

    add("info", _info, "versions, build, devices", "What is installed, and on what machine.")

    train = add(
        "train",
        _train,
        "train a model, or go on with a run",
        "Two-stage ParetoPO training, as a configuration file says.",
        _TRAIN_EXAMPLES,
    )
    train.add_argument("config", nargs="?", metavar="CONFIG.toml", help="what to train")
    train.add_argument("--resume", metavar="RUN", help="go on with the run in this folder")
    train.add_argument("--seed", type=int, help="seed, instead of the file's")
    train.add_argument("--steps", type=int, help="training steps, instead of the file's")
    train.add_argument("--out", metavar="DIR", help="where run folders go, instead of the file's")
    train.add_argument("--backend", choices=("trl", "openrlhf"), help="instead of the file's")
    train.add_argument(
        "--rehearse", action="store_true", help="run it small, on a CPU (backend openrlhf only)"
    )

    report = add(
        "report",
        _report,
        "tables and pictures of runs",
        "Table before and after, picture of the front, picture of the dynamics.",
        _REPORT_EXAMPLES,
    )
    report.add_argument("runs", nargs="+", metavar="RUN", help="a run folder")
    report.add_argument("--out", metavar="DIR", help="where to write")

    bench = add(
        "bench",
        _bench,
        "time the core against its peers",
        "Time every operation against every installed peer, on one thread.",
        _BENCH_EXAMPLES,
    )
    bench.add_argument(
        "operations",
        nargs="*",
        metavar="OPERATION",
        help="fronts, filter, hypervolume, contributions, batches, advantage, archive, overhead "
        "or threads; all of them if none is named",
    )
    bench.add_argument("--quick", action="store_true", help="small sizes, few repeats")
    bench.add_argument("--resume", action="store_true", help="keep what is already measured")
    bench.add_argument("--out", metavar="DIR", help="where CSV files and pictures go")
    bench.add_argument(
        "--device",
        choices=("cpu", "cuda"),
        default="cpu",
        help="where the data live",
    )
    bench.add_argument("--plots-only", action="store_true", help="measure nothing, only draw")
    bench.add_argument("--promises", action="store_true", help="measure nothing, print the table")

    search = add(
        "serve-search",
        _serve_search,
        "answer searches in a corpus",
        "A search server with the HTTP protocol of Search-R1, for training.",
        _SERVE_SEARCH_EXAMPLES,
    )
    search.add_argument("corpus", metavar="CORPUS", help="a JSONL file of passages")
    search.add_argument("--host", default="127.0.0.1", help="address to serve; %(default)s")
    search.add_argument("--port", type=int, default=8000, help="%(default)s; 0 takes a free one")
    search.add_argument("--topk", type=int, default=3, help="passages a query; %(default)s")
    search.add_argument("--index", metavar="PATH", help="where the index is kept")
    search.add_argument(
        "--engine",
        choices=["bm25", "dense"],
        default="bm25",
        help="by words, or by meaning with embeddings; %(default)s",
    )
    search.add_argument(
        "--model", default="intfloat/e5-base-v2", help="an E5 model, for dense; %(default)s"
    )
    search.add_argument(
        "--faiss", default="Flat", metavar="KIND", help="kind of dense index; %(default)s is exact"
    )
    return parser


def _info(_: argparse.Namespace) -> int:
    from paretopo_core import _core, get_isa, get_num_threads
    from paretopo_core.training.surroundings import machine, versions

    here = machine()
    packages = {name: version or "not installed" for name, version in versions().items()}
    rows = {
        "compiled core": _core.__version__,
        "compiler": _core.COMPILER,
        "instruction set": get_isa(),
        "threads": str(get_num_threads()),
        "built with CUDA": "yes" if _core.cuda_is_compiled() else "no",
        "CUDA devices": str(_core.cuda_device_count()) if _core.cuda_is_compiled() else "none",
        "CUDA needs": _core.cuda_driver_needed() or "a build with CUDA",
        **packages,
        "system": str(here["system"]),
        "processor": str(here["processor"]),
        "usable cores": str(here["cores"]),
    }
    width = max(map(len, rows))
    print("\n".join(f"{name:<{width}}  {value}" for name, value in rows.items()))
    return 0


def _train(arguments: argparse.Namespace) -> int:
    from paretopo_core.training.config import ConfigError, load
    from paretopo_core.training.records import RunFolder

    given = {
        name: value
        for name, value in (
            ("seed", arguments.seed),
            ("optimiser.steps", arguments.steps),
            ("run.out", arguments.out),
            ("backend", arguments.backend),
        )
        if value is not None
    }
    options: list[str] = arguments.options
    if (arguments.config is None) == (arguments.resume is None):
        _refuse("train needs either a CONFIG.toml or --resume RUN; see paretopo train --help")
    if arguments.resume is not None and (given or arguments.rehearse):
        _refuse("a resumed run keeps its own configuration: drop all options but --resume")
    try:
        if arguments.resume is not None:
            run = RunFolder.open(arguments.resume)
        else:
            config = load(arguments.config, given)
            left: list[str] = []
            if arguments.rehearse:
                config, left = _rehearsed(config, arguments.steps)
            _check_backend(config.backend, options)
            run = RunFolder.create(config.run.out, config)
            if arguments.rehearse:
                run.update_manifest(rehearsal=left)
        _check_backend(run.config.backend, options)
    except (ConfigError, OSError) as error:
        _refuse(str(error))

    try:
        with run.claimed():
            _carry_out(run, resume=arguments.resume is not None, options=options)
    except ConfigError as error:
        _refuse(str(error))
    return 0


def _carry_out(run: RunFolder, *, resume: bool, options: Sequence[str]) -> None:
    extra = {"options": options} if options else {}
    try:
        from paretopo_core.training.report import write_report

        # By name: integrations/ becomes part of the package when it is built.
        backend = importlib.import_module(f"paretopo_core.integrations.{run.config.backend}.train")
        backend.train(run.config, run, resume=resume, **extra)
    except KeyboardInterrupt:
        run.finish("interrupted")
        print(f"\nparetopo: go on with: paretopo train --resume {run.path}", file=sys.stderr)
        raise
    except Exception:
        run.finish("failed")
        raise
    run.finish()
    print(f"report: {write_report([run])}")


def _report(arguments: argparse.Namespace) -> int:
    from pathlib import Path

    from paretopo_core.training.config import ConfigError
    from paretopo_core.training.records import RunFolder

    _need("matplotlib")
    from paretopo_core.training.report import write_report

    try:
        runs = [RunFolder.open(path) for path in arguments.runs]
        out = None if arguments.out is None else Path(arguments.out)
        print(write_report(runs, out))
    except (ConfigError, OSError, ValueError) as error:
        _refuse(str(error))
    return 0


def _bench(arguments: argparse.Namespace) -> int:
    from paretopo_core.bench import command

    if arguments.device == "cuda":
        return _bench_gpu(arguments)
    folder = command.results_folder(arguments.out, quick=arguments.quick)
    operations: list[str] = arguments.operations
    try:
        if arguments.promises:
            print(command.promised(folder), end="")
            return 0
        _need("matplotlib", extra="bench")
        if not arguments.plots_only:
            _need("moocore", extra="bench")  # the judge of large sets
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
        _refuse(str(error))
    return 0


def _bench_gpu(arguments: argparse.Namespace) -> int:
    from paretopo_core.bench import command

    if arguments.operations or arguments.promises or arguments.plots_only:
        _refuse("--device cuda measures everything: drop the operations and other switches")
    _need("matplotlib", "moocore", extra="bench")
    try:
        folder = command.measure_gpu(arguments.out, quick=arguments.quick, resume=arguments.resume)
        for path in command.draw((), folder):
            print(path)
    except (OSError, ValueError) as error:
        _refuse(str(error))
    return 0


def _serve_search(arguments: argparse.Namespace) -> int:
    _need("bm25s", "Stemmer", "numba", "starlette", "uvicorn", "tqdm", extra="search")
    if arguments.engine == "dense":
        _need("faiss", "torch", "transformers", extra="dense-search")
    from paretopo_core.training.tools.search_engine.command import serve_search

    try:
        serve_search(
            arguments.corpus,
            index=arguments.index,
            engine=arguments.engine,
            model=arguments.model,
            kind=arguments.faiss,
            host=arguments.host,
            port=arguments.port,
            topk=arguments.topk,
        )
    except (OSError, ValueError) as error:
        _refuse(str(error))
    return 0


def _rehearsed(config: RunConfig, steps: int | None) -> tuple[RunConfig, list[str]]:
    """The configuration at a small size, and what that leaves to a GPU."""
    if config.backend != "openrlhf":
        _refuse(f'--rehearse is for backend = "openrlhf", this file has "{config.backend}"')
    plan = importlib.import_module("paretopo_core.integrations.openrlhf.rehearsal_plan")
    return plan.rehearsed(config, steps=steps), plan.not_covered(config)


def _check_backend(backend: str, options: Sequence[str]) -> None:
    if options and backend != "openrlhf":
        _refuse(f'options behind -- are OpenRLHF\'s, and the backend is "{backend}"')
    packages = {
        "trl": ("torch", "transformers", "trl", "accelerate", "matplotlib", "tqdm"),
        "openrlhf": ("torch", "transformers", "openrlhf", "ray", "vllm", "deepspeed", "matplotlib"),
    }
    _need(*packages[backend], extra="train" if backend == "trl" else "openrlhf")


def _need(*packages: str, extra: str = "train") -> None:
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        _refuse(f"{', '.join(missing)} not installed; run: pip install 'paretopo[{extra}]'")


def _refuse(reason: str) -> NoReturn:
    raise _Refusal(reason) from None


if __name__ == "__main__":
    sys.exit(main())
