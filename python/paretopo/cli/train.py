"""``paretopo train``."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from paretopo.subcommands import (
    Subcommands,
    add_trust,
    announce,
    complete_with,
    describe_missing,
    refuse,
)

if TYPE_CHECKING:
    from paretopo.config import RunConfig
    from paretopo.records.folder import RunFolder

_EXAMPLES = """\
examples:
  paretopo train examples/calculator.toml
  paretopo train examples/calculator.toml --seed 3 --steps 20 --out trials
  paretopo train examples/calculator.toml --steps 5 --set warmup.steps=50    a quick trial
  paretopo train examples/calculator.toml --method hypervolume --set paretopo.stage2_estimator.k=2
  paretopo train examples/calculator.toml --method paper+without_stage_1
  paretopo train --resume runs/calculator-recommended-seed3-20260101-120000
  paretopo train --resume runs/calculator-recommended-seed3-20260101-120000 --steps 200
  paretopo train examples/math_qwen2.5_7b.toml --dry-run
  paretopo train examples/math_qwen2.5_7b.toml --rehearse
  paretopo train examples/math_qwen2.5_7b.toml -- --vllm.num_engines 16

A rehearsal runs a configuration for OpenRLHF at a small size on a CPU, before you pay for GPUs
(docs/rehearsal.md). A dry run reads the file and its data. Words after -- go to OpenRLHF's
command line.

docs/configuration.md explains every key of the file. --method overrides the file, and --set
overrides both. If you set a key twice, the later value counts. The weights of the file or of --set
also apply to methods with equal weights. Values are TOML, such as 2, 0.5, true, [4, 2, 1]; a bare
word is a text.

model.path is a Hub name, a folder, a .gguf file or "tiny" (docs/models.md). The default learning
rates depend on it: 2e-3 in the warm-up and 3e-4 in training for "tiny", 2e-5 and 1e-6 for other
models, and ten times as much with model.lora.
"""

_SHORTHANDS = (
    ("seed", "seed", "N"),
    ("steps", "optimiser.steps", "N"),
    ("out", "run.out", "DIR"),
    ("backend", "backend", "trl|openrlhf"),
)


def add_train(subcommands: Subcommands) -> None:
    """Add the command that trains a model or resumes a run."""
    parser = subcommands.add(
        "train",
        _run,
        "train a model, or resume a run",
        "Train a model with a configuration file, or resume a run.",
        _EXAMPLES,
        hands_on=True,
    )
    parser.listing = _list_methods
    parser.add_argument(
        "config", nargs="?", metavar="CONFIG.toml", help="configuration of a new run"
    )
    parser.add_argument("--resume", metavar="RUN", help="resume the run in this folder")
    parser.add_argument(
        "--accept-changes",
        action="store_true",
        help="with --resume: continue even if reward functions or questions have changed",
    )
    add_trust(parser)
    method = parser.add_argument(
        "--method",
        metavar="NAME[+NAME...]",
        help="method from the list below; overrides the file; A+B applies A and then B",
    )
    overrides = parser.add_argument(
        "--set",
        dest="overrides",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="set a key, for example optimiser.steps=40; overrides file and method; repeatable",
    )
    complete_with(method, _complete_method)
    complete_with(overrides, _complete_key)
    for name, key, metavar in _SHORTHANDS:
        parser.add_argument(
            f"--{name}",
            dest="overrides",
            action="append",
            type=f"{key}={{}}".format,
            metavar=metavar,
            help=f"the same as --set {key}={metavar}",
        )
    parser.add_argument(
        "--rehearse",
        action="store_true",
        help="try the run at a small size on a CPU (openrlhf)",
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="check the file, its data and its reward functions; for openrlhf, estimate memory and "
        "hours; train nothing",
    )
    parser.add_argument(
        "--real-model",
        action="store_true",
        help="with --rehearse: keep the model and the size of a step",
    )


def _run(arguments: argparse.Namespace, options: Sequence[str]) -> int:
    from paretopo.config import ConfigError, load, with_method
    from paretopo.records.folder import RunFolder
    from paretopo.records.trackers import check_trackers
    from paretopo.tasks.probe import check_functions

    if (arguments.config is None) == (arguments.resume is None):
        refuse("train needs either a CONFIG.toml or --resume RUN; see paretopo train --help")
    longer = _read_steps(arguments.overrides) if arguments.resume is not None else None
    if arguments.resume is not None and (
        arguments.method or arguments.rehearse or arguments.real_model or arguments.dry_run
    ):
        refuse(_KEEPS)
    if arguments.accept_changes and arguments.resume is None:
        refuse("--accept-changes is for --resume RUN")
    if arguments.real_model and not arguments.rehearse:
        refuse("--real-model is for --rehearse: a training always uses the real model")
    try:
        if arguments.resume is not None:
            run = RunFolder.open(arguments.resume)
            if run.manifest.get("script"):
                how = run.manifest["script"]  # True in the runs of older releases
                how = f", with {how}" if isinstance(how, str) else ""
                refuse(f"{run.path} is the run of a script: start the script again{how}")
            if not arguments.trust:
                run.check_trust([] if options else run.manifest.get("options", ()))
            # The options of the run's beginning, unless others are given.
            options = options or run.manifest.get("options", ())
            _check_backend(run.config, options)
            check_trackers(run.config.run)
            check_functions(run.config)
            if arguments.accept_changes:
                run.accept_files()
            run.check_files()
            if longer is not None:
                run.extend(longer)
        else:
            overrides = _parse_overrides(arguments.overrides)
            if arguments.method is None:
                config = load(arguments.config, overrides)
            else:
                config = with_method(arguments.config, arguments.method, overrides)
            left: list[str] = []
            if arguments.dry_run:
                return _run_dry(config, options)
            _check_backend(config, options, rehearse=arguments.rehearse)
            if arguments.rehearse:
                config, left = _plan_rehearsal(
                    config, overrides.get("optimiser.steps"), real_model=arguments.real_model
                )
                _check_backend(config, options)
            check_trackers(config.run)
            _print_notes(config)
            run = RunFolder.create(config.run.out, config, method=arguments.method)
            if options:
                run.update_manifest(options=list(options))
            if arguments.rehearse:
                run.update_manifest(rehearsal=left)
    except (ConfigError, OSError) as error:
        refuse(str(error))

    try:
        resumes = arguments.resume is not None
        with nullcontext() if resumes else run.removed_if_refused(), run.claim():
            _train(run, resume=resumes, options=options)
    except ConfigError as error:
        refuse(str(error))
    return 0


_KEEPS = (
    "a resumed run keeps its own configuration: drop all options except --resume, --trust, "
    "--accept-changes and --steps, which extends the run"
)


def _read_steps(overrides: Sequence[str]) -> int | None:
    """Return the number of steps of a longer run, the only key that may change."""
    given = _parse_overrides(overrides)
    steps = given.pop("optimiser.steps", None)
    if given or not isinstance(steps, int | None):
        refuse(_KEEPS)
    return steps


def _parse_overrides(given: Sequence[str]) -> dict[str, Any]:
    """Return the values by dotted name; of two for one key the later one."""
    from paretopo.config import parse_override
    from paretopo.config.toml import flatten_names

    values: dict[str, Any] = {}
    for text in given:
        values |= flatten_names(dict([parse_override(text)]))
    return values


def _list_methods() -> str:
    """Return the names that --method takes, a line each."""
    from paretopo.config import ABOUT

    width = max(map(len, ABOUT))
    lines = [f"  {name:{width}}  {about}" for name, about in ABOUT.items()]
    return "\n".join(["methods (combine several with +):", *lines, ""])


def _complete_method(text: str) -> list[str]:
    """Return the names that may follow the last ``+``."""
    from paretopo.config import ABOUT

    start = text[: text.rfind("+") + 1]
    return [f"{start}{name}" for name in ABOUT]


def _complete_key(_: str) -> list[str]:
    from paretopo.config.toml import list_names

    return [f"{name}=" for name in list_names()]


def _train(run: RunFolder, *, resume: bool, options: Sequence[str]) -> None:
    from paretopo.config import ConfigError
    from paretopo.rollout import BadRollout
    from paretopo.tasks.environment import COMPARISONS

    print(f"run folder: {run.path}", flush=True)
    if any(one.name == "correct" for one in run.config.objectives):
        print(f"answers are compared {COMPARISONS[run.config.task.name]}")
    announce("loading packages and model")
    try:
        with run.note_failure():
            from paretopo.interrupt import terminate_as_interrupt

            with terminate_as_interrupt():
                if run.config.backend == "trl":
                    from paretopo.integrations.trl.train import train as train_on_trl

                    train_on_trl(run.config, run, resume=resume)
                else:
                    from paretopo.integrations.openrlhf.train import train as train_on_openrlhf

                    train_on_openrlhf(run.config, run, resume=resume, options=options)
    except BadRollout as error:
        # Show only the frames of the reward itself, not those of trainers.
        if error.__cause__ is not None:
            traceback.print_exception(error.__cause__)
        refuse(f"{error}\n{_how_to_resume(run)}")
    except BaseException as error:
        if not isinstance(error, ConfigError):
            print(f"\n{_how_to_resume(run)}", file=sys.stderr)
        raise
    _print_end(run)


def _how_to_resume(run: RunFolder) -> str:
    from paretopo.config.python_files import list_code

    trust = " --trust" if list_code(run.config) or run.manifest.get("options") else ""
    return f"paretopo: resume with: paretopo train --resume {run.path}{trust}"


def _print_end(run: RunFolder) -> None:
    """Print the measures before and after training, and the paths of report and model."""
    from paretopo_lab.training.report import write_report

    report = write_report([run])
    print("\n" + "\n".join(report.list_rows()))
    print(f"\nreport: {report.with_suffix('.html')}")
    print(f"model:  {run.model}")
    print(f"read the model's rollouts with: paretopo show {run.path}")


def _plan_rehearsal(
    config: RunConfig, steps: int | None, *, real_model: bool
) -> tuple[RunConfig, list[str]]:
    """Return the configuration at a small size, and the parts that only a GPU can test."""
    if config.backend == "trl":
        refuse('--rehearse needs backend = "openrlhf", but this file has "trl"')
    from paretopo.integrations.openrlhf.prepare import check_step
    from paretopo.integrations.openrlhf.rehearsal import plan as of_openrlhf

    check_step(config)
    planned = of_openrlhf.plan_rehearsal(config, steps=steps, real_model=real_model)
    return planned, of_openrlhf.describe_gaps(config, real_model=real_model)


def _run_dry(config: RunConfig, options: Sequence[str]) -> int:
    """Make the checks of a training's start that need no trainer, and estimate memory and time."""
    _check_backend(config, options, dry=True)
    _print_notes(config)
    if config.backend == "openrlhf":
        from paretopo.integrations.openrlhf.estimate import estimate_run

        print("\n".join(estimate_run(config)))
    print("file, data and reward functions passed the checks")
    return 0


def _print_notes(config: RunConfig) -> None:
    """Check estimators and rewards, and print the notes of a run's beginning."""
    from paretopo.tasks.probe import check_functions

    for note in (*config.notes, *check_functions(config)):
        warning = "warning: " if note.warns else ""
        print(f"paretopo: {warning}{note.text}", file=sys.stderr)


def _check_backend(
    config: RunConfig,
    options: Sequence[str],
    *,
    rehearse: bool = False,
    dry: bool = False,
) -> None:
    from paretopo.config.backend import check_backend, find_backend
    from paretopo.config.python_files import list_missing_files

    backend = find_backend(config.backend)
    if options and backend.name == "trl":
        refuse(f'options after -- are for OpenRLHF, but the backend is "{backend.name}"')
    check_backend(config)
    packages, install = backend.packages, f'pip install ".[{backend.extra}]"'
    if dry:  # without a trainer
        packages, install = ("torch", "transformers"), 'pip install ".[train]"'
    elif rehearse:
        install = backend.rehearsal or install
    missing = describe_missing(packages, install)
    lacks = [*([missing] if missing else []), *list_missing_files(config)]
    if lacks:
        refuse("; ".join(lacks))
