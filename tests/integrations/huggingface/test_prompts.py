"""Questions with prompts longer than `optimiser.max_prompt_tokens` are left out."""

import json
from importlib import import_module

import pytest

pytest.importorskip("transformers")

from paretopo.config import ConfigError, loads
from paretopo.integrations.huggingface.prompts import leave_out_long_prompts
from paretopo.integrations.huggingface.tiny_model import make_task_tokenizer
from paretopo.records.folder import RunFolder
from paretopo.tasks.choice import make_task


def config_of(folder, **overrides):
    for name, words in (("train", ("a", "a b", "a " * 60)), ("held_out", ("b", "b " * 60))):
        rows = [json.dumps({"prompt": one, "answer": "a"}) for one in words]
        (folder / f"{name}.jsonl").write_text("\n".join(rows), encoding="utf-8")
    files = {f"task.{name}": str(folder / f"{name}.jsonl") for name in ("train", "held_out")}
    objectives = "[[objectives]]\nname = 'correct'\n"
    return loads(objectives, {"task.name": "questions", **files, **overrides})


def test_longer_prompts_are_left_out_and_counted(tmp_path, caplog):
    task = make_task(config_of(tmp_path))
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


def prompts_of_openrlhf(path):
    return [json.loads(line)["prompt"] for line in path.read_text(encoding="utf-8").splitlines()]


def test_openrlhf_gets_no_longer_prompts(tmp_path, monkeypatch, caplog):
    module, read = import_module("paretopo.integrations.openrlhf.prepare"), prompts_of_openrlhf
    key = "optimiser.max_prompt_tokens"
    config = config_of(
        tmp_path, **{"backend": "openrlhf", key: 40, "optimiser.prompts_per_step": 2}
    )
    tokenizer = make_task_tokenizer(make_task(config))
    monkeypatch.setattr(module, "keep_policy", lambda *_, **__: "model")
    monkeypatch.setattr(module, "load_tokenizer", lambda _: tokenizer)
    files = module.prepare(config, RunFolder.create(tmp_path, config), lambda: False)
    assert files.prompt_count == len(read(files.prompts)) == 2
    assert len(read(files.held_out)) == 1
    texts = [*read(files.prompts), *read(files.held_out)]
    assert all(len(tokenizer(one, add_special_tokens=False)["input_ids"]) <= 40 for one in texts)
    assert f"{key} = 40: 1 of 3 training questions have longer prompts" in caplog.text


def test_sequences_of_openrlhf_have_room_for_the_longest_prompt(tmp_path):
    options = import_module("paretopo.integrations.openrlhf.options")
    response = {"optimiser.max_completion_tokens": 100}
    assert options.longest_sequence(loads("", response)) == 612
    longer = response | {"optimiser.max_prompt_tokens": 2000}
    assert options.longest_sequence(loads("", longer)) == 2100


def test_openrlhf_refuses_a_limit_for_files_of_its_own():
    given = {"backend": "openrlhf", "openrlhf.held_out": "b.jsonl"}
    with pytest.raises(ConfigError, match="for the questions of a task"):
        loads("", given | {"optimiser.max_prompt_tokens": 9})
