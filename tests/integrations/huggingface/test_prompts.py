"""Questions with prompts longer than `optimiser.max_prompt_tokens` are left out."""

import json

import pytest

pytest.importorskip("transformers")

from paretopo.config import ConfigError, loads
from paretopo.integrations.huggingface.prompts import leave_out_long_prompts
from paretopo.integrations.huggingface.tiny_model import make_task_tokenizer
from paretopo.tasks.choice import make_task


def task_of(folder):
    for name, words in (("train", ("a", "a b", "a " * 60)), ("held_out", ("b", "b " * 60))):
        rows = [json.dumps({"prompt": one, "answer": "a"}) for one in words]
        (folder / f"{name}.jsonl").write_text("\n".join(rows), encoding="utf-8")
    files = {f"task.{name}": str(folder / f"{name}.jsonl") for name in ("train", "held_out")}
    objectives = "[[objectives]]\nname = 'correct'\n"
    return make_task(loads(objectives, {"task.name": "questions", **files}))


def test_longer_prompts_are_left_out_and_counted(tmp_path, caplog):
    task = task_of(tmp_path)
    tokenizer = make_task_tokenizer(task)
    leave_out_long_prompts(task, tokenizer, 0)
    assert (len(task.training), len(task.held_out)) == (3, 2)
    leave_out_long_prompts(task, tokenizer, 40)
    assert [one.text for one in task.training] == ["a", "a b"]
    assert [one.text for one in task.held_out] == ["b"]
    assert "1 of 3 training questions have longer prompts and are left out" in caplog.text
    assert "1 of 2 held-out questions" in caplog.text
    with pytest.raises(ConfigError, match="none would be left: raise it"):
        leave_out_long_prompts(task, tokenizer, 1)


def test_a_limit_is_refused_for_a_file_of_prompts():
    given = {"backend": "openrlhf", "openrlhf.prompts": "a.jsonl", "openrlhf.held_out": "b.jsonl"}
    with pytest.raises(ConfigError, match="max_prompt_tokens is for the questions of a task"):
        loads("", given | {"optimiser.max_prompt_tokens": 9})
