"""Questions of the user's own, and demonstrations of their answers."""

import json

import pytest

from paretopo.config import ConfigError, loads
from paretopo.tasks.choice import make_task


def task_of(tmp_path, train, held_out='{"prompt": "other?"}', **overrides):
    for name, text in (("train", train), ("held_out", held_out)):
        (tmp_path / f"{name}.jsonl").write_text(text, encoding="utf-8")
    files = {f"task.{name}": str(tmp_path / f"{name}.jsonl") for name in ("train", "held_out")}
    return make_task(loads("", {"task.name": "questions", "warmup.steps": 0, **files, **overrides}))


def test_questions_keep_their_columns(tmp_path):
    chat = [{"role": "system", "content": "be kind"}, {"role": "user", "content": "and?"}]
    rows = [
        {"prompt": "why?", "id": 7, "kind": "hard", "answer": ["a", "b"], "source": "X"},
        {"prompt": chat, "answer": 3},
    ]
    task = task_of(tmp_path, "\n".join(map(json.dumps, rows)) + "\n\n")
    first, second = task.training
    assert (first.id, first.kind, first.text, first.answer) == ("7", "hard", "why?", ["a", "b"])
    assert first.columns == {"prompt": "why?", "source": "X"}
    assert task.prompt(first) == [{"role": "user", "content": "why?"}]
    assert (second.text, second.answer, second.kind) == ("and?", "3", "all")
    assert task.prompt(second) == chat
    assert task.solution(second) == [*chat, {"role": "assistant", "content": "3"}]
    assert task.held_out[0].answer == ""
    with pytest.raises(ConfigError, match="has no answer to imitate"):
        task.solution(task.held_out[0])


DEMONSTRATE = """
def demonstrate(random, prompt, answer, source, **columns):
    if source == "tool":
        return [{"role": "tool", "content": "8"}, {"role": "assistant", "content": answer}]
    return 1 / 0 if source == "broken" else None if source == "none" else f"{source} {answer}"
"""


def demonstrated(tmp_path, source, functions=DEMONSTRATE):
    (tmp_path / "warmup.py").write_text(functions, encoding="utf-8")
    row = json.dumps({"prompt": "why?", "answer": "7", "source": source})
    return task_of(tmp_path, row, **{"warmup.file": str(tmp_path / "warmup.py")})


def test_a_warm_up_imitates_demonstrations(tmp_path):
    asked = {"role": "user", "content": "why?"}
    [trace] = demonstrated(tmp_path, "so").traces(0, 1, 0, 0.0)
    assert trace == [asked, {"role": "assistant", "content": "so 7"}]
    task = demonstrated(tmp_path, "tool")
    [trace] = task.traces(0, 1, 0, 0.0)
    assert [one["role"] for one in trace] == ["user", "tool", "assistant"]
    assert "8" in task.words()  # a tiny model can read it


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("broken", "demonstrate fails on the question '.*': ZeroDivisionError"),
        ("none", "demonstrate must return a text, or messages .*, got None"),
    ],
)
def test_broken_demonstrations_are_named(tmp_path, source, message):
    with pytest.raises(ConfigError, match=message):
        demonstrated(tmp_path, source).traces(0, 1, 0, 0.0)


def test_demonstrations_use_the_weights_of_the_run(tmp_path):
    leaning = """
def demonstrate(random, prompt, answer, source, preference):
    return ", ".join(f"{name} {weight:g}" for name, weight in preference.items())
"""
    [trace] = demonstrated(tmp_path, "so", leaning).traces(0, 1, 0, 0.0)
    names = [one.name for one in loads("", {}).objectives]
    assert trace[-1]["content"] == ", ".join(f"{name} 0.5" for name in names)


def test_a_file_without_demonstrate_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="must define only the function demonstrate, got show"):
        demonstrated(tmp_path, "so", "def show(random): ...")
    with pytest.raises(ConfigError, match=r'warmup.file is for task.name = "questions"'):
        loads("", {"warmup.file": "x.py"})


@pytest.mark.parametrize(
    ("train", "message"),
    [
        ("", "holds no questions"),
        ('{"prompt": "a"}\n{', r"task.train: .*train.jsonl, line 2: no JSON"),
        (r'{"prompt": "\ud800"}', r"train.jsonl, line 1: '.ud800' is half of a surrogate pair"),
        ("[1]", "line 1: must be an object with a prompt"),
        ('{"question": "a"}', "must be an object with a prompt"),
        ('{"prompt": [1]}', "prompt must be a text or chat messages"),
        ('{"prompt": "a", "answer": {"x": 1}}', "answer must be a text or a list of texts"),
        ('{"prompt": "other?"}', "1 of its questions are trained on"),
    ],
)
def test_wrong_questions_are_refused_with_their_place(tmp_path, train, message):
    with pytest.raises(ConfigError, match=message):
        task_of(tmp_path, train)


def test_questions_need_files():
    with pytest.raises(ConfigError, match=r'"questions" needs task.train and task.held_out'):
        loads("[task]\nname = 'questions'")


def test_a_tiny_model_knows_the_arguments_of_demonstrated_calls_and_all_messages(tmp_path):
    shown = """
def demonstrate(random, prompt, answer, source, **columns):
    function = {"name": "look_up", "arguments": {"part": "screen", "count": 3}}
    call = {"type": "function", "function": function}
    return [{"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "name": "look_up", "content": "89"},
            {"role": "assistant", "content": answer}]
"""
    (tmp_path / "warmup.py").write_text(shown, encoding="utf-8")
    chat = [{"role": "system", "content": "kindly"}, {"role": "user", "content": "why?"}]
    row = json.dumps({"prompt": chat, "answer": "7", "source": "x"})
    words = task_of(tmp_path, row, **{"warmup.file": str(tmp_path / "warmup.py")}).words()
    assert {"look_up", "part screen", "count 3", "kindly", "why?", "89", "7"} <= set(words)
