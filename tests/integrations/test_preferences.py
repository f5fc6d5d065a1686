"""Preferences on every trainer: in prompts, warm-ups, files and rollouts."""

import json
import shutil

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from support.trainer_rollouts import make_experience

from paretopo.config import loads
from paretopo.integrations.huggingface.prompts import prompt_text
from paretopo.integrations.huggingface.tiny_model import make_task_tokenizer
from paretopo.integrations.huggingface.warmup import encode, make_trace_source
from paretopo.integrations.openrlhf.prepare import prepare
from paretopo.integrations.openrlhf.rehearsal.checks import _check_steps as check_steps
from paretopo.integrations.openrlhf.rollouts import make_rollout
from paretopo.records.folder import RunFolder
from paretopo.tasks.choice import make_task
from paretopo_lab.evaluate.own_task import format_evaluation, plan_evaluation
from paretopo_lab.training.report import write_report

TINY = """
seed = 3
model = { layers = 1, width = 32, heads = 2 }
task = { prompts = 8, facts = 4, kinds = [1.0, 0.0, 0.0] }
warmup = { steps = 30, batch_size = 16, learning_rate = 5e-3 }
paretopo = { preference = "given" }
preference = { levels = 2, grid = 2 }
optimiser = { steps = 3, prompts_per_step = 2, group_size = 4, max_completion_tokens = 24 }
evaluation = { every = 1, prompts = 4, temperature = 1.0 }
"""


@pytest.fixture(scope="module")
def task():
    return make_task(loads(TINY))


def test_a_preference_is_one_token_of_the_tiny_model(task):
    tokenizer = make_task_tokenizer(task)
    for given in task.preferences.all:
        [token] = tokenizer(given.line, add_special_tokens=False)["input_ids"]
        assert tokenizer.decode([token]) == given.line
    asked = task.sweep()
    assert len(asked) == 3 * 4
    text = prompt_text(tokenizer, task.ask(asked[0]))
    assert text.startswith("<|system|>Preference: correct 1, calls 0<|end|><|user|>")
    assert tokenizer.unk_token_id not in tokenizer(text, add_special_tokens=False)["input_ids"]


def test_warm_up_masks_the_loss_on_preferences(task):
    tokenizer, config = make_task_tokenizer(task), loads(TINY)
    traces = make_trace_source(task, config.warmup)(0)
    assert traces == make_trace_source(task, config.warmup)(0)
    lines = {trace[0]["content"] for trace in traces}
    assert lines == {one.line for one in task.preferences.all}
    tokens, written = encode(tokenizer, traces[0], task.functions)
    read = tokenizer.decode([t for t, own in zip(tokens, written, strict=True) if not own])
    assert traces[0][0]["content"] in read
    wrote = tokenizer.decode([t for t, own in zip(tokens, written, strict=True) if own])
    assert "Preference" not in wrote


def test_fixed_weights_leave_tasks_unchanged():
    plain = make_task(loads(TINY.replace('"given"', '"fixed"')))
    assert plain.preferences is None
    assert plain.sweep() == list(plain.held_out)
    assert plain.written(100, 2) is plain.training
    assert "<|system|>" not in make_task_tokenizer(plain).get_vocab()


def test_openrlhf_reads_preferences_from_its_files(task, tmp_path):
    config = loads('backend = "openrlhf"\n' + TINY, {"model.width": 64, "warmup.steps": 0})
    files = prepare(config, RunFolder.create(tmp_path, config), lambda: False)
    asked, rows = task.written(3, 2), [*map(json.loads, files.prompts.read_text().splitlines())]
    assert len(rows) == files.prompt_count == 6  # of all steps
    label = json.loads(rows[0]["label"])
    assert label["preference"] == asked[0].preference.text
    assert asked[0].preference.line in rows[0]["prompt"]
    rollout = make_rollout(make_experience(rows[0]), {}, ("correct", "calls"))
    assert rollout.preference == asked[0].preference.text


def test_trl_trains_on_preferences_and_resumes_bit_for_bit(tmp_path):
    pytest.importorskip("trl")
    from support.interrupts import without_time

    from paretopo.integrations.trl.checkpoints import Checkpoints
    from paretopo.integrations.trl.train import evaluate, train

    config = loads(TINY)
    run = RunFolder.create(tmp_path, config)
    train(config, run)
    groups = [group for group in run.trajectories() if not group.held_out]
    assert all(one.preference and one.preference in one.prompt for one in groups)
    assert len({one.preference for one in groups}) > 1
    rows = run.evaluations()
    assert [row["step"] for row in rows] == [step for step in range(4) for _ in range(3)]
    assert [row["preference"] for row in rows[:3]] == [
        "correct 1, calls 0",
        "correct 0.5, calls 0.5",
        "correct 0, calls 1",
    ]
    again = RunFolder(tmp_path / "again", config)
    shutil.copytree(run.path, again.path)
    latest = Checkpoints(again.checkpoints).latest()
    assert latest == 3
    shutil.rmtree(Checkpoints(again.checkpoints).path(latest))
    train(config, again, resume=True)
    assert without_time(again.steps()) == without_time(run.steps())
    assert without_time(again.evaluations()) == without_time(rows)
    assert check_steps(run).startswith("3 steps and 4 evaluations")  # not one for each preference

    text = write_report([run]).read_text(encoding="utf-8")
    assert "| correct 0.5, calls 0.5 |" in text
    assert (run.report / "preferences.png").stat().st_size > 10_000

    asked = plan_evaluation(config, str(run.model))
    folder = RunFolder.create(tmp_path / "evaluations", asked)
    rows = evaluate(asked, folder)
    assert [row["weights"] for row in rows] == [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]
    assert "correct 0.5, calls 0.5" in format_evaluation(rows, asked)
