"""Reward functions that do not fit their questions are refused before a model is loaded."""

import json
import os

import pytest

from paretopo.config import ConfigError, loads
from paretopo.tasks.probe import check_functions

ROWS = [
    {"prompt": "why?", "answer": "so", "department": "billing", "topics": ["a"]},
    {"prompt": "how?", "answer": ["thus", "so"]},
]
POLITE = "def polite(completions, department, **_):\n    "
MEASURED = POLITE + "return [float(len(text)) for text in completions]\n"


def config_of(folder, text, *, train=ROWS, objectives=("correct", "polite"), **overrides):
    """Return a configuration with these questions and this file of reward functions."""
    for name, rows in (("train", train), ("held_out", [{"prompt": "who?", "answer": "I"}])):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    (folder / "rewards.py").write_text(text, encoding="utf-8")
    tables = "".join(f'[[objectives]]\nname = "{one}"\n' for one in objectives)
    files = {f"task.{name}": str(folder / f"{name}.jsonl") for name in ("train", "held_out")}
    settings = {
        "task.name": "questions",
        "rewards.file": str(folder / "rewards.py"),
        "paretopo.stage2_estimator": "gd2po",
        "optimiser.group_size": 4,
        "warmup.steps": 0,
    }
    return loads(tables, settings | files | overrides)


def test_functions_that_fit_are_called_once_with_a_whole_group(tmp_path):
    seen = tmp_path / "seen.txt"
    note = (
        "import json\nfrom pathlib import Path\n"
        "def polite(prompts, completions, trainer_state, **columns):\n"
        "    assert trainer_state.max_steps == 100 and trainer_state.global_step == 0\n"
        "    columns['log_metric']('seen', 1.0)\n"
        "    row = [prompts, completions, columns['topics'], columns['answer']]\n"
        f"    with Path({str(seen)!r}).open('a') as file:\n"
        "        file.write(json.dumps(row) + '\\n')\n"
        "    return [1.0] * len(completions)\n"
    )
    check_functions(config_of(tmp_path, note))
    [row] = map(json.loads, seen.read_text().splitlines())
    assert row == [["why?"] * 4, ["so"] * 4, [["a"]] * 4, ["so"] * 4]


def test_an_estimator_that_is_not_there_is_refused(tmp_path):
    own = {"paretopo.stage2_estimator": "no_such_module:gain"}
    with pytest.raises(ConfigError, match=r"stage2_estimator = 'no_such_module:gain': No module"):
        check_functions(config_of(tmp_path, MEASURED, **own))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return [c[0]['content'] for c in completions]", "'polite' failed on prompt"),
        ("return [1.0]", "returned 1 values for the 4 rollouts"),
        ("return [5.0] * 4", "'polite' = 5.0 .* at most 1"),
        ("while True: pass", "'polite' hung on prompt"),
    ],
)
def test_a_call_that_fails_is_refused(tmp_path, body, message):
    limits = {"objectives.polite.high": 1.0}
    limits["rewards.timeout"] = 0.2 if "while" in body else 60.0
    with pytest.raises(ConfigError, match=f"{message}.*before the model is loaded"):
        check_functions(config_of(tmp_path, POLITE + body + "\n", **limits))


def test_where_functions_run_in_other_processes_so_does_the_call(tmp_path):
    text = f"import os\n{POLITE}raise ValueError(os.getpid())\n"
    with pytest.raises(ConfigError, match=r"ValueError: [0-9]+ .*the model is loaded") as refused:
        check_functions(config_of(tmp_path, text, backend="openrlhf"))
    assert f"ValueError: {os.getpid()} " not in str(refused.value)
    check_functions(config_of(tmp_path, MEASURED, backend="openrlhf"))


def test_messages_of_the_file_are_messages_for_the_function(tmp_path):
    chat = [{"role": "system", "content": "be kind"}, {"role": "user", "content": "why?"}]
    text = (
        "def polite(prompts, completions, **_):\n"
        "    assert [one['role'] for one in prompts[0]] == ['system', 'user']\n"
        "    return [float(len(c[0]['content'])) for c in completions]\n"
    )
    check_functions(config_of(tmp_path, text, train=[{"prompt": chat, "answer": "so"}]))


@pytest.mark.parametrize(
    ("signature", "message"),
    [
        ("completions, departmnt", "needs the argument 'departmnt', .* mean 'department'"),
        ("completions, solution", "needs the argument 'solution', which no question has"),
    ],
)
def test_an_argument_that_no_question_has_is_refused(tmp_path, signature, message):
    text = f"def polite({signature}):\n    return [1.0] * len(completions)\n"
    with pytest.raises(ConfigError, match=message):
        check_functions(config_of(tmp_path, text))


def test_a_question_without_an_answer_is_refused_where_answers_are_graded(tmp_path):
    rows = [*ROWS, {"prompt": "when?", "id": "third"}]
    with pytest.raises(ConfigError, match=r"task.train: 1 of 3 questions .* 'third'.* column"):
        check_functions(config_of(tmp_path, MEASURED, train=rows))
    ungated = {"objectives.correct.gate": False, "paretopo.gate": "none"}
    check_functions(config_of(tmp_path, MEASURED, train=rows, **ungated))
    with pytest.raises(ConfigError, match=r"task.train: 1 of 1 questions have no answer"):
        check_functions(config_of(tmp_path, MEASURED, train=rows[2:], **ungated))
    own = MEASURED + "def correct(completions):\n    return [1.0] * len(completions)\n"
    check_functions(config_of(tmp_path, own, train=rows))


TOOL = 'def look(x: str) -> str:\n    """Look.\n\n    Args:\n        x: A.\n    """\n    return x\n'


@pytest.mark.parametrize(
    ("named", "overrides", "constant"),
    [
        ("calls", {}, "'calls' is always 0: the task has no tool"),
        ("failed_calls", {}, "'failed_calls' is always 0: the task has no tool"),
        ("turns", {}, "'turns' is always 1: the task has no tool"),
        ("dollars", {}, "'dollars' is always 0: no call costs anything"),
        ("calls", {"objectives.calls.weight": 0.0}, None),
        ("calls", {"tools": TOOL}, None),
        ("calls", {"tools": TOOL, "optimiser.max_tool_calls": 0}, "optimiser.max_tool_calls = 0"),
        ("dollars", {"tools": TOOL}, "'dollars' is always 0"),
        ("dollars", {"tools": TOOL + "look.dollars = 0.1\n"}, None),
        ("tokens", {}, None),
    ],
)
def test_measures_that_cannot_differ_are_named(tmp_path, named, overrides, constant):
    given = dict(overrides)
    if "tools" in given:
        (tmp_path / "tools.py").write_text(given.pop("tools"), encoding="utf-8")
        given["task.tools"] = str(tmp_path / "tools.py")
    if "objectives.calls.weight" in given:
        given["objectives.correct.weight"] = 1.0
    given["rewards.file"] = "none"
    notes = check_functions(config_of(tmp_path, "", objectives=("correct", named), **given))
    assert (constant is None) == (not notes)
    assert constant is None or (constant in notes[0].text and notes[0].warns)
