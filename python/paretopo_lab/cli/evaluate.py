"""``paretopo evaluate``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paretopo.subcommands import Subcommands, add_trust, announce, need, refuse

if TYPE_CHECKING:
    from paretopo_lab.evaluate.folder import EvaluationFolder
    from paretopo_lab.evaluate.settings import EvaluationSettings

_EXAMPLES = """\
examples:
  paretopo evaluate runs/RUN
  paretopo evaluate runs/RUN --tool task --data my_test.jsonl --temperature 1
  paretopo evaluate runs/RUN --tool python --data data/math500/test.jsonl data/aime24/test.jsonl
  paretopo evaluate Qwen/Qwen2.5-Math-1.5B-Instruct --data data/math500/test.jsonl
  paretopo evaluate runs/RUN --tool search --search-url http://127.0.0.1:8000 \\
      --data data/nq/test.jsonl
  paretopo evaluate runs/RUN --tool rag --data data/nq/test.jsonl --limit 500
  paretopo evaluate runs/RUN --tool python --data data/aime24/test.jsonl \\
      --temperature 1 --samples 16
  paretopo compare evaluations/*/trajectories.jsonl --by model --by kind \\
      --objective reward_components.correct:max --objective reward_components.calls:min

tools:
  task      the run's own task, with its tool, grader, objectives and reward functions. The
            questions are those that the run held out, or a --data file in the same format
  none      no tool: a chain of thought, then the answer
  python    programs in the text, in ToRL's protocol; each runs in a sandbox (needs bubblewrap)
  search    queries in the text, in Search-R1's protocol, to a search server
            (paretopo serve-search CORPUS)
  rag       one search for the question, with its results in the prompt, as in the paper

For all tools except task, --data takes files that paretopo prepare wrote. math-verify grades
mathematics (prompts that ask for \\boxed{}). Other answers must match exactly, between <answer>
tags. After Ctrl-C, a crash or a kill, the same command resumes; with the tool task it starts again,
in another folder. docs/evaluation.md explains the numbers.
"""


def add_evaluate(subcommands: Subcommands) -> None:
    """Add the command that asks a model questions, with or without its tool."""
    parser = subcommands.add(
        "evaluate",
        _run,
        "test a model on questions, with or without a tool",
        "Measure a model's accuracy, tool calls and response length on each data set.",
        _EXAMPLES,
    )
    parser.add_argument(
        "model", metavar="MODEL", help="a run folder, a model folder, a .gguf file or a Hub name"
    )
    parser.add_argument("--data", nargs="+", metavar="FILE", help="JSONL files of questions")
    parser.add_argument(
        "--tool",
        choices=("task", "none", "python", "search", "rag"),
        help="tool of the model, see the list below (default: none; without --data: task)",
    )
    parser.add_argument(
        "--max-calls",
        type=int,
        metavar="N",
        help="limit on tool calls per response (default: python 3, search 4)",
    )
    parser.add_argument(
        "--max-tokens",
        type=int,
        metavar="N",
        help="limit on tokens per response (default: 4096 for search, 3072 otherwise)",
    )
    parser.add_argument(
        "--temperature",
        type=float,
        metavar="T",
        help="sampling temperature; 0 is greedy (default: 0; for task: the run's temperature)",
    )
    parser.add_argument(
        "--samples",
        type=int,
        default=1,
        metavar="N",
        help="responses to each question (default: %(default)s)",
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of sampling (default: %(default)s)"
    )
    parser.add_argument(
        "--limit",
        type=int,
        default=0,
        metavar="N",
        help="use only the first N questions of each file",
    )
    parser.add_argument(
        "--plain", action="store_true", help="do not apply the model's chat template"
    )
    parser.add_argument("--name", help="name of the model in the tables")
    parser.add_argument(
        "--out",
        metavar="DIR",
        help="output folder; must not contain other results (default: "
        "evaluations/NAME-TOOL-DIGEST; for task: evaluations/NAME-task)",
    )
    add_trust(parser)
    _add_runtime_options(parser.add_argument_group("runtime"))
    parser.set_defaults(default_of=parser.get_default)


def _add_runtime_options(group: Any) -> None:
    group.add_argument(
        "--engine",
        choices=("transformers", "vllm"),
        default="transformers",
        help="library that generates the responses (default: %(default)s)",
    )
    group.add_argument(
        "--batch",
        type=int,
        metavar="N",
        help="responses to generate at once (default: 64; 1024 for vllm)",
    )
    group.add_argument(
        "--gpus", type=int, default=1, metavar="N", help="GPUs of vllm (default: %(default)s)"
    )
    group.add_argument(
        "--memory",
        type=float,
        default=0.9,
        metavar="SHARE",
        help="share of each GPU's memory that vllm takes (default: %(default)s)",
    )
    group.add_argument(
        "--search-url",
        default="http://127.0.0.1:8000",
        metavar="URL",
        help="search server (default: %(default)s)",
    )
    group.add_argument(
        "--isolation",
        choices=("bubblewrap", "process"),
        default="bubblewrap",
        help="how to run programs (default: %(default)s); process limits but does not isolate them",
    )


def _run(arguments: argparse.Namespace, _: Sequence[str]) -> int:
    need("torch", "transformers", "httpx", "math_verify", "tqdm")
    if arguments.engine == "vllm":
        need("vllm", extra="openrlhf")
    from paretopo.config import ConfigError
    from paretopo.records.schema import DataError
    from paretopo.tools.python_interpreter import SandboxError
    from paretopo.tools.search import ServerError
    from paretopo_lab.evaluate import folder as folders
    from paretopo_lab.evaluate.prompting import check_tool

    if arguments.batch is not None and arguments.batch < 1:
        refuse(f"--batch must be at least 1, got {arguments.batch}")
    if arguments.tool == "task" or arguments.data is None:
        return _run_task(arguments)
    model, name = find_model(arguments.model)
    name = arguments.name or name
    try:
        settings = _make_settings(arguments, model)
        rows, data = folders.load_data(arguments.data, settings.limit)
        for row in rows:
            check_tool(row, settings)
        local = Path(model) if Path(model).exists() else None
        identity = folders.identity_of(settings, data, local)
        path = folders.default_path(Path("evaluations"), name, settings.tool, identity)
        path = path if arguments.out is None else Path(arguments.out)
        folder = folders.EvaluationFolder.start(path, identity, name=name, questions=len(rows))
        with folder.removed_if_refused(), folder.claim():
            _evaluate(folder, rows, settings, arguments)
    except (ConfigError, DataError, OSError, SandboxError, ServerError) as error:
        refuse(str(error))
    return 0


_OF_OTHER_TOOLS = (
    *("max_calls", "max_tokens", "samples", "seed", "plain"),
    *("engine", "batch", "gpus", "memory", "search_url", "isolation"),
)


def _run_task(arguments: argparse.Namespace) -> int:
    """Evaluate on the run's own task."""
    from paretopo.config import ConfigError
    from paretopo.interrupt import terminate_as_interrupt
    from paretopo.records.folder import RunFolder
    from paretopo_lab.evaluate.own_task import format_evaluation, make_folder, plan_evaluation

    need("trl", "accelerate")
    if arguments.tool not in (None, "task"):
        refuse(f"--tool {arguments.tool} needs questions: --data FILE")
    for option in _OF_OTHER_TOOLS:
        if getattr(arguments, option) != arguments.default_of(option):
            refuse(f"--{option.replace('_', '-')} is not for --tool task: the run determines it")
    if len(arguments.data or ()) > 1:
        refuse(f"--tool task takes one data file, got {len(arguments.data)}")
    if not Path(arguments.model).exists():
        refuse(
            f"there is no folder {arguments.model}: give a run folder; a Hub name needs questions, "
            "--data FILE"
        )
    model, name = find_model(arguments.model)
    if not (Path(arguments.model) / "config.toml").is_file():
        refuse(f"{arguments.model} is not a run folder with a task: pass questions as --data FILE")
    try:
        run = RunFolder.open(arguments.model)
        if run.manifest.get("script"):
            refuse(f"{run.path} is the run of a script: give its questions with --data FILE")
        if not arguments.trust:
            run.check_trust()
        config = plan_evaluation(
            run.config,
            model,
            questions=arguments.data[0] if arguments.data else None,
            limit=arguments.limit,
            temperature=arguments.temperature,
        )
        folder = RunFolder(make_folder(arguments.out, f"{arguments.name or name}-task"), config)
        with (
            folder.removed_if_refused(),
            folder.claim(),
            folder.note_failure(),
            terminate_as_interrupt(),
        ):
            folder.begin(method=run.manifest.get("method"), evaluated=str(run.path.resolve()))
            announce("loading packages and model")
            from paretopo.integrations.trl.train import evaluate

            evaluate(config, folder)
        folder.finish()
    except (ConfigError, OSError) as error:
        refuse(str(error))
    print(format_evaluation(folder.evaluations(), config))
    print(f"\nall numbers:       {folder.path}/evaluations.jsonl")
    print(f"the model's texts: paretopo show {folder.path}")
    return 0


def _evaluate(
    folder: EvaluationFolder,
    rows: Sequence[Any],
    settings: EvaluationSettings,
    arguments: argparse.Namespace,
) -> None:
    from paretopo_lab.document.report import write_table
    from paretopo_lab.evaluate.folder import compare_command
    from paretopo_lab.evaluate.results import results_table, summarise_folder

    done = {(one.datasource, one.id) for one in folder.read_answers()}
    if any((row.datasource, row.id) not in done for row in rows):
        folder.note_resumption()
        announce("loading packages and model")
        from paretopo_lab.evaluate import launch as evaluation

        options = evaluation.RuntimeOptions(
            batch=arguments.batch or (1024 if settings.engine == "vllm" else 64),
            gpus=arguments.gpus,
            memory=arguments.memory,
            isolation=arguments.isolation,
            search_url=arguments.search_url,
        )
        try:
            with folder.note_failure():
                if not evaluation.run(folder, rows, settings, options):
                    raise KeyboardInterrupt
        except KeyboardInterrupt:
            print(f"\nparetopo: {folder.path}: resume with the same command", file=sys.stderr)
            raise
    results = summarise_folder(folder)
    folder.write_results(results)
    if folder.manifest.get("status") != "finished":
        folder.finish()
    table = results_table(folder.name, results)
    print("\n".join(write_table(table, aligned=True)))
    print(table.note)
    print(f"\nto compare it:     {compare_command(folder.path)}")
    print(f"the model's texts: paretopo show {folder.path}")


def _make_settings(arguments: argparse.Namespace, model: str) -> EvaluationSettings:
    from paretopo_lab.evaluate.settings import EvaluationSettings

    return EvaluationSettings(
        model=model,
        tool=arguments.tool or "none",
        engine=arguments.engine,
        max_calls=arguments.max_calls,
        max_tokens=arguments.max_tokens,
        temperature=arguments.temperature or 0.0,
        samples=arguments.samples,
        limit=arguments.limit,
        chat_template=not arguments.plain,
        seed=arguments.seed,
    )


def find_model(given: str) -> tuple[str, str]:
    """Return the path or Hub name to load, and the name for tables."""
    path = Path(given)
    if (path / "manifest.json").is_file() and (path / "model").is_dir():  # a run folder
        if not (path / "model" / "config.json").is_file():
            refuse(f"{path} has no trained model yet: its model/ is empty; let the run finish")
        return str((path / "model").resolve()), path.resolve().name
    if path.is_file() and path.suffix == ".gguf":
        return str(path.resolve()), path.stem
    if path.is_dir():
        if not (path / "config.json").is_file() and not any(path.glob("*.gguf")):
            _refuse_script(path)
            refuse(
                f"{path} is neither a run folder nor a model folder: it has no config.json and no "
                ".gguf file"
            )
        return str(path.resolve()), path.resolve().name
    if path.exists() or given.startswith((".", "/")):
        refuse(f"there is no model in {given}: give a run folder, a model folder or a Hub name")
    return given, given.rsplit("/", 1)[-1]


def _refuse_script(path: Path) -> None:
    """Refuse the folder of a script's run, which holds no model itself, and name its last one."""
    from paretopo.records.files import parse_object

    manifest = path / "manifest.json"
    if not manifest.is_file() or not (parse_object(manifest.read_bytes()) or {}).get("script"):
        return
    models = [one.parent for one in path.glob("*/config.json")]
    latest = max(models, key=lambda one: one.stat().st_mtime, default=path / "checkpoint-N")
    refuse(
        f"{path} is the run of a script and holds no model: give the folder of a checkpoint, for "
        f"example {latest}, with --data FILE"
    )
