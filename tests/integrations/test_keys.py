"""Every key of a configuration changes something: two values give two outcomes."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
from operator import attrgetter
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl")

from paretopo.config import SECTIONS, Objective, RunConfig, from_table, loads
from paretopo.config.backend import find_backend
from paretopo.config.keys import keys
from paretopo.controller.estimators import ESTIMATORS
from paretopo.integrations.huggingface import threads
from paretopo.integrations.huggingface.policy import open_policy, shared_warmup, warm_up_policy
from paretopo.integrations.huggingface.warmup import make_trace_source
from paretopo.integrations.openrlhf import options as openrlhf
from paretopo.integrations.trl import arguments
from paretopo.records import trackers
from paretopo.records.folder import RunFolder
from paretopo.rewards.own import load_own_rewards
from paretopo.rollout import Rollout
from paretopo.session import Session
from paretopo.tasks import environment
from paretopo.tasks.choice import ensure_search_server, load_demonstrate, load_own_tools, make_task

# ---- observed outcomes ---------------------------------------------------------------------------


def records(config, folder):
    """The records and advantages of a session that is given the same rollouts."""
    penalise = functools.partial(openrlhf.penalise_overlong, config)
    run = RunFolder.create(folder, config)
    session = Session(
        run,
        prompts=8,
        steps_per_epoch=2,
        penalise=penalise if config.backend == "openrlhf" else None,
    )
    asked = [""] if session.preferences is None else [one.text for one in session.preferences.grid]

    def rollout(question, at, step, apart=0, **more):
        calls = [4, 0, 2, 3][(at + question) % 4] + [1, 2, 0, 1][step] + apart
        right = min([0.0, 1.0, 0.4, 0.9][(at + question * step) % 4] + 0.1 * apart, 1.0)
        measured = {"correct": right, "calls": calls, "turns": calls + 1, "seconds": 0.5 * calls}
        own = {"polite": 0.1 * at} if "polite" in session.objectives else {}
        more |= {"tokens": 60 + 17 * at, "kind": "sum"}
        return Rollout(f"q{question}", measured | own, **more)

    def observe(step):
        every = [
            rollout(q, q, step, apart, preference=text, prompt="why?")
            for apart, text in enumerate(asked)
            for q in (1, 2)
        ]
        session.observe(step, every)

    seen = []
    observe(0)
    for step in range(1, config.optimiser.steps + 1):
        groups = []
        for question in range(3):
            given = session.preference_of(3 * step + question)
            text = "" if given is None else given.text
            alike = question == 2  # a group that teaches nothing
            groups.append(
                [
                    rollout(question, 1 if alike else at, step, preference=text, prompt="why?")
                    for at in range(4)
                ]
            )
        scored = session.score(groups)
        seen += [one.tolist() for one in session.advantages([one.rollouts for one in scored])]
        session.record_step(step, {})
        observe(step)
    run = session.run
    files = ("steps", "evaluations", "trajectories")
    return seen, [(run.path / f"{name}.jsonl").read_text() for name in files]


def trl_arguments(config, folder):
    run = RunFolder(folder, config)
    if config.optimiser.learn_from == "answers":
        made = arguments.make_answer_arguments(config, run, "cpu", evaluate_first=True)
    else:
        made = arguments.make_rollout_arguments(config, run, "cpu", evaluate_first=True, held_out=8)
    return made.to_dict()


def openrlhf_words(config, folder):
    files = openrlhf.Files("m", Path("p"), 320, Path("h"), 64)
    run = RunFolder(folder, config)
    return openrlhf.openrlhf_options(config, run, files, resume=False)


def questions(config, folder):
    task = make_task(config)
    named = [(one.id, str(task.prompt(one))) for one in [*task.training, *task.held_out]]
    return type(task).__name__, named, [one.__name__ for one in task.functions]


def traces(config, folder):
    return [str(one) for one in make_trace_source(make_task(config), config.warmup)(3)]


def policy(config, folder):
    model, _ = open_policy(config, make_task(config))
    weights = {
        name: (tuple(one.shape), one.requires_grad) for name, one in model.named_parameters()
    }
    return weights, str(getattr(model, "peft_config", None))


def warmed_up(config, folder):
    task = make_task(config)
    model, tokenizer = open_policy(config, task)
    passes = []
    model.register_forward_hook(lambda *_: passes.append(1))
    warm_up_policy(config, task, model, tokenizer, folder / "warmup.pt", lambda: False)
    return len(passes), round(sum(one.abs().sum().item() for one in model.parameters()), 2)


def tool(config, folder):
    """Return the arguments of the interpreter or of the search client."""
    made = []

    def note(*args, **kwargs):
        made.append((args, sorted(kwargs.items())))
        return contextlib.nullcontext(lambda *_: "")

    with pytest.MonkeyPatch.context() as patch, contextlib.suppress(AttributeError):
        for name in ("MathGrader", "PythonInterpreter", "SearchClient"):
            patch.setattr(environment, name, functools.partial(note, name))
        with environment.open_environment(config):
            pass
    return made


def corpus(config, folder):
    with ensure_search_server(config, folder):
        return


def tracker(config, folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trackers, "_is_installed", lambda _: False)
        return trackers.check_trackers(config.run)


def cores(config, folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threads, "physical_cores", lambda: 8)
        patch.setattr(torch, "set_num_threads", lambda _: None)
        return threads.use_threads(config.run.threads, made=True)


def own_rewards(config, folder):
    own = load_own_rewards(config)
    return None if own is None else {name: str(one) for name, one in vars(own).items()}


def own_tools(config, folder):
    return [one.__name__ for one in load_own_tools(config)]


def demonstration(config, folder):
    return getattr(load_demonstrate(config), "__doc__", None)


def shared(config, folder):
    return shared_warmup(config)


def packages(config, folder):
    return find_backend(config.backend).packages


def place(config, folder):
    return RunFolder.create(config.run.out, config).path.parent


# ---- the cases -----------------------------------------------------------------------------------


@dataclasses.dataclass
class Case:
    """Two values of a key and the outcome that differs.

    Attributes:
        observe: ``f(config, folder)``; an error that it raises is an outcome, too.
        one: A value, or several by dotted name.
        other: The second value, in the same form.
        base: TOML under both.
        refused: Both are refused, each in its own words.
    """

    observe: object
    one: object
    other: object
    base: str = ""
    refused: bool = False


SHORT = "optimiser = { steps = 3, group_size = 4, prompts_per_step = 3 }\n"
TINY = (
    'model.path = { name = "tiny", layers = 1, width = 32, heads = 1 }\n'
    'task.train = { name = "made up", prompts = 8, facts = 4 }\nevaluation.prompts = 6\n'
)


def estimator(name, more=""):
    switches = f'stage1_steps = 0, stage2_estimator = "{name}"' + (f", {more}" if more else "")
    return f"{SHORT}paretopo = {{ {switches} }}\n"


def objectives(*tables):
    rows = ", ".join(f"{{ {one} }}" for one in ('name = "correct"', *tables))
    return f"objectives = [{rows}]\n"


GD2PO = estimator("gd2po", 'centre = "mean"')
RAW = GD2PO + objectives('name = "calls", economy = "raw"')
POLITE = GD2PO + objectives('name = "polite", low = 0, high = 1, economy = "raw"')
FEWEST = GD2PO + objectives('name = "calls", economy = "paretopo"')
STAGE_1 = SHORT + 'paretopo = { stage1_steps = 3, stage1_estimator = "rloo" }\n'
GIVEN = estimator("rloo", 'preference = "given"')
SAVING = 'name = "calls", economy = "saving"'
THREE = estimator("gd2po") + objectives(SAVING, 'name = "tokens", economy = "saving"')
OWN = (
    'task = { name = "questions", train = "a.jsonl", held_out = "held.jsonl" }\n'
    "evaluation.prompts = 1\n"
)
LOADED = 'model.path = "loaded"\n'
MULTIHOP = 'task.name = "multihop"\n'
SERVED = MULTIHOP + 'tool.search_url = "http://127.0.0.1:1"\n'
ORL = 'backend = "openrlhf"\n'
ADAPTED = TINY + "model.lora.rank = 4\n"

CASES = {
    "recipe": Case(records, "recommended", "paper", SHORT),
    "backend": Case(packages, "trl", "openrlhf"),
    "seed": Case(questions, 1, 2, TINY),
    "objectives.name": Case(records, "calls", "turns"),
    "objectives.function": Case(
        own_rewards,
        {"objectives.polite.function": "operator:itemgetter(completions=1)"},
        {"objectives.polite.function": "trl.rewards:think_format_reward"},
        POLITE,
    ),
    "objectives.weight": Case(
        records,
        {"objectives.correct.weight": 0.5, "objectives.calls.weight": 0.5},
        {"objectives.correct.weight": 0.9, "objectives.calls.weight": 0.1},
        RAW,
    ),
    "objectives.limit": Case(records, 1.0, 2.0, estimator("rloo") + objectives('name = "calls"')),
    "objectives.share": Case(
        records, 0.5, 0.9, estimator("rloo") + objectives('name = "calls", limit = 2')
    ),
    "objectives.better": Case(records, "more", "fewer", POLITE),
    "objectives.economy": Case(records, "raw", "share of the group", RAW),
    "objectives.alpha": Case(records, 0.7, 0.2, FEWEST),
    "objectives.price": Case(records, 1.0, 3.0, RAW),
    "objectives.budget": Case(records, 5.0, 9.0, RAW),
    "objectives.gate": Case(
        records, {"objectives.correct.gate": True}, {"objectives.polite.gate": True}, POLITE
    ),
    "objectives.threshold": Case(
        records, {"objectives.correct.threshold": 0.0}, {"objectives.correct.threshold": 0.5}, RAW
    ),
    "objectives.failure": Case(records, "worst", "keeps", RAW),
    "objectives.low": Case(records, 0.0, 3.0, RAW),
    "objectives.high": Case(records, 9.0, 2.0, RAW),
    "objectives.reference": Case(records, -5.0, -9.0, POLITE),
    "model.path": Case(trl_arguments, "tiny", "loaded"),
    "model.dtype": Case(trl_arguments, "float32", "bfloat16", LOADED),
    "model.gradient_checkpointing": Case(trl_arguments, True, False),
    "model.layers": Case(policy, 1, 2, TINY),
    "model.width": Case(policy, 32, 64, TINY),
    "model.heads": Case(policy, 1, 2, TINY),
    "model.lora.rank": Case(policy, 0, 4, TINY),
    "model.lora.alpha": Case(policy, 8, 16, ADAPTED),
    "task.name": Case(questions, "calculator", "math", TINY),
    "task.train": Case(questions, "a.jsonl", "b.jsonl", OWN),
    "task.held_out": Case(questions, "held.jsonl", "b.jsonl", OWN),
    "task.tools": Case(own_tools, "tools_a.py", "tools_b.py", OWN),
    "task.prompts": Case(questions, 8, 12, TINY),
    "task.facts": Case(questions, 4, 9, TINY),
    "task.kinds": Case(questions, [1.0, 0.0, 0.0], [0.0, 0.0, 1.0], TINY),
    "tool.timeout": Case(tool, 1.0, 2.0, 'task.name = "math"'),
    "tool.workers": Case(tool, 1, 2, 'task.name = "math"'),
    "tool.isolation": Case(tool, "bubblewrap", "process", 'task.name = "math"'),
    "tool.search_url": Case(tool, "http://127.0.0.1:1", "http://127.0.0.1:2", MULTIHOP),
    "tool.corpus": Case(corpus, "a.missing", "b.missing", MULTIHOP, refused=True),
    "tool.topk": Case(tool, 3, 5, SERVED),
    "tool.solver_price": Case(questions, 0.0, 0.5, TINY),
    "warmup.steps": Case(traces, 4, 100, TINY + "warmup.guess_rate = 1.0\n"),
    "warmup.batch_size": Case(traces, 4, 5, TINY),
    "warmup.micro_batch": Case(warmed_up, 0, 2, TINY + "warmup = { steps = 1, batch_size = 4 }\n"),
    "warmup.learning_rate": Case(warmed_up, 0.1, 0.2, TINY + "warmup.steps = 1\n"),
    "warmup.guess_rate": Case(traces, 0.0, 1.0, TINY + "warmup.steps = 4\n"),
    "warmup.file": Case(demonstration, "none", "warmup.py", OWN),
    "warmup.shared": Case(shared, "here", "there", TINY),
    "rewards.file": Case(own_rewards, "none", "rewards.py", POLITE),
    "rewards.timeout": Case(own_rewards, 1.0, 2.0, POLITE + 'rewards = { file = "rewards.py" }\n'),
    "rewards.retries": Case(own_rewards, 0, 2, POLITE + 'rewards = { file = "rewards.py" }\n'),
    "rewards.failing": Case(
        own_rewards, "stop", "skip", POLITE + 'rewards = { file = "rewards.py" }\n'
    ),
    "paretopo.weighting": Case(
        records,
        "as given",
        "equal",
        GD2PO
        + objectives('name = "calls"')
        .replace("name", "weight = 4, name", 1)
        .replace('"calls"', '"calls", weight = 1'),
    ),
    "paretopo.preference": Case(records, "fixed", "given", estimator("rloo")),
    "paretopo.beta": Case(records, 0.1, 0.9, estimator("pareto")),
    "paretopo.gamma": Case(records, 0.0, 0.5, STAGE_1),
    "paretopo.reference": Case(records, "zero", "initial", RAW),
    "paretopo.stage1_steps": Case(records, 0, 2, SHORT),
    "paretopo.stage1_estimator": Case(records, "rloo", "grpo", STAGE_1),
    "paretopo.stage2_estimator": Case(records, "rloo", "gd2po", estimator("rloo")),
    "paretopo.economies": Case(records, "each", "least", THREE),
    "paretopo.multiplier_on": Case(records, "advantage", "none", STAGE_1),
    "paretopo.centre": Case(records, "mean", "none", estimator("pareto")),
    "paretopo.k": Case(records, 1, 2, estimator("hypervolume")),
    "paretopo.conflict": Case(records, 0.0, 1.0, estimator("gd2po")),
    "paretopo.gate": Case(records, "success", "none", RAW),
    "paretopo.group_filter": Case(records, "vector", "off", RAW),
    "preference.concentration": Case(records, 1.0, 0.1, GIVEN),
    "preference.levels": Case(records, 10, 20, GIVEN),
    "preference.grid": Case(records, 5, 10, GIVEN),
    "optimiser.steps": Case(trl_arguments, 10, 20),
    "optimiser.learn_from": Case(trl_arguments, "rewards", "answers"),
    "optimiser.learning_rate": Case(trl_arguments, 1e-4, 1e-5),
    "optimiser.learning_rate_schedule": Case(trl_arguments, "constant", "cosine"),
    "optimiser.prompts_per_step": Case(trl_arguments, 8, 16),
    "optimiser.group_size": Case(trl_arguments, 4, 8),
    "optimiser.micro_batch": Case(trl_arguments, 0, 16),
    "optimiser.temperature": Case(trl_arguments, 1.0, 0.7),
    "optimiser.max_completion_tokens": Case(trl_arguments, 64, 128),
    "optimiser.max_tool_calls": Case(trl_arguments, 2, 4),
    "optimiser.loss": Case(trl_arguments, "dapo", "grpo"),
    "optimiser.clip_low": Case(trl_arguments, 0.2, 0.1),
    "optimiser.clip_high": Case(trl_arguments, 0.2, 0.3),
    "optimiser.kl": Case(trl_arguments, 0.0, 0.01),
    "evaluation.prompts": Case(questions, 6, 9, TINY),
    "evaluation.temperature": Case(openrlhf_words, 0.0, 1.0, ORL),
    "run.out": Case(place, "here", "there"),
    "run.checkpoint_every": Case(trl_arguments, 1, 5),
    "run.threads": Case(cores, 0, 3),
    "run.tensorboard": Case(tracker, False, True),
    "run.wandb_project": Case(tracker, "none", "mine"),
    "trl.generation": Case(trl_arguments, "none", "--cache_implementation static"),
    "openrlhf.nodes": Case(openrlhf_words, 1, 2, ORL + "openrlhf.colocate = false\n"),
    "openrlhf.gpus_per_node": Case(openrlhf_words, 8, 4, ORL + "openrlhf.colocate = false\n"),
    "openrlhf.engines": Case(openrlhf_words, 8, 4, ORL + "openrlhf.colocate = false\n"),
    "openrlhf.engine_gpus": Case(openrlhf_words, 1, 2, ORL + "openrlhf.colocate = false\n"),
    "openrlhf.colocate": Case(openrlhf_words, True, False, ORL),
    "openrlhf.asynchronous": Case(openrlhf_words, True, False, ORL + "openrlhf.colocate = false\n"),
    "openrlhf.zero_stage": Case(openrlhf_words, 2, 3, ORL),
    "openrlhf.correction": Case(openrlhf_words, "off", "token", ORL),
    "openrlhf.dynamic_sampling": Case(openrlhf_words, True, False, ORL),
    "openrlhf.overlong_buffer": Case(records, 0, 40, ORL + SHORT),
    "openrlhf.overlong_penalty": Case(
        records, 1.0, 2.0, ORL + SHORT + "openrlhf.overlong_buffer = 40\n"
    ),
    "openrlhf.options": Case(openrlhf_words, "none", "--vllm.x 1", ORL),
}

# Key -> the file under tests/ with its effect, if that needs a framework or megabytes.
ELSEWHERE = {
    "model.chat_template": "integrations/huggingface/test_loading.py",
    "evaluation.every": "integrations/trl/test_run.py",
    "optimiser.decision_entropy": "integrations/trl/test_choices.py",
    "run.trajectories": "integrations/openrlhf/test_texts.py",
}


def known(*, arguments):
    """Dotted names of all keys, or of all arguments of their values."""
    sections = {"": RunConfig, "objectives": Objective, **SECTIONS}
    return {
        f"{section}.{name}".lstrip(".")
        for section, kind in sections.items()
        for name, about in keys(kind).items()
        if about.in_file and bool(about.of) == arguments
    }


def make(key, value, base):
    if key == "objectives.name":
        return loads(RAW.replace('"calls"', f'"{value}"'))
    if not isinstance(value, dict):
        section, _, last = key.rpartition(".")
        name = "polite" if "polite" in base else "dollars" if "dollars" in base else "calls"
        value = {f"objectives.{name}.{last}" if section == "objectives" else key: value}
    return loads(base, value)


class Refused(str):
    """An error in the place of an outcome."""


def outcome(case, config, folder):
    try:
        return repr(case.observe(config, folder))
    except Exception as error:
        return Refused(f"{type(error).__name__}: {error}")


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Files that cases name, in the folder of the test."""
    monkeypatch.chdir(tmp_path)
    for name in "ab":
        rows = [{"prompt": f"{name}{at}?", "answer": "1"} for at in range(8)]
        Path(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        Path(f"tools_{name}.py").write_text(f'def {name}(x: int) -> int:\n    """{name}"""\n')
    Path("held.jsonl").write_text('{"prompt": "held?", "answer": "1"}\n')
    Path("warmup.py").write_text('def demonstrate(random, prompt, answer):\n    """One."""\n')
    Path("rewards.py").write_text("def polite(prompts, completions, **_):\n    return []\n")
    return tmp_path


@pytest.mark.parametrize("key", CASES)
def test_key_changes_the_outcome(key, files):
    case = CASES[key]
    configs = [make(key, value, case.base) for value in (case.one, case.other)]
    if not key.startswith("objectives."):
        one, other = map(attrgetter(key), configs)
        assert one != other
    seen = []
    for at, config in enumerate(configs):
        folder = files / str(at)
        folder.mkdir()
        seen.append(outcome(case, config, folder))
    texts = [one.replace(str(files / str(at)), "FOLDER") for at, one in enumerate(seen)]
    assert texts[0] != texts[1]
    refused = [isinstance(one, Refused) for one in seen]
    assert all(refused) if case.refused else not all(refused), seen


def test_every_key_has_a_case():
    assert CASES.keys() | ELSEWHERE.keys() == known(arguments=False) | known(arguments=True)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_arguments_of_an_estimator_are_its_switches(name):
    declared = {
        argument
        for argument, about in keys(SECTIONS["paretopo"]).items()
        if name in about.of.get("stage2_estimator", ()) and "multiplier_on" not in about.of
    }
    assert declared == ESTIMATORS[name].switches - {"centre"}


def test_from_table_takes_arguments_in_a_table():
    table = {"paretopo": {"stage2_estimator": {"name": "gd2po", "conflict": 1.0}}}
    flat = {"paretopo": {"stage2_estimator": "gd2po", "conflict": 1.0}}
    assert from_table(table) == from_table(flat)
