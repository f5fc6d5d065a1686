"""Learning from right answers: tokens with loss, records, and resuming."""

import pytest

pytest.importorskip("trl")


from paretopo.config import ConfigError, loads, with_method
from paretopo.integrations.huggingface.tiny_model import make_task_tokenizer
from paretopo.integrations.trl.datasets import make_answer_dataset
from paretopo.integrations.trl.train import train
from paretopo.records.folder import RunFolder
from paretopo.records.schema import Example, write_rows
from paretopo.tasks.calculator import CalculatorTask, is_correct
from paretopo.tasks.choice import make_task
from paretopo_lab.training.report import write_report

SMALL = {
    "model": {"layers": 1, "width": 32, "heads": 2},
    "task": {"prompts": 12, "facts": 4},
    "warmup": {"steps": 0},
    "optimiser": {
        "steps": 4,
        "prompts_per_step": 12,
        "group_size": 2,
        "micro_batch": 8,
        "learning_rate": 1e-2,
        "max_completion_tokens": 16,
    },
    "evaluation": {"every": 2, "prompts": 4},
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    run = RunFolder.create(tmp_path_factory.mktemp("whole"), with_method(SMALL, "sft"))
    train(run.config, run)
    return run


def test_loss_falls_and_the_run_is_recorded(whole):
    losses = [row["loss"] for row in whole.steps()]
    assert [row["step"] for row in whole.steps()] == [1, 2, 3, 4]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.8 * losses[0]
    rows = whole.evaluations()
    assert [row["step"] for row in rows] == [0, 2, 4]
    assert [row["phase"] for row in rows] == ["pretrained", "train", "final"]
    for row in rows:
        assert {"solved", "measured", "rewards", "outcome", "response_tokens"} <= set(row)
    kept = {(group.step, group.held_out) for group in whole.trajectories()}
    assert kept == {(0, True), (2, True), (4, True)}
    assert "# Training report" in write_report([whole]).read_text()


def test_only_answers_carry_loss():
    task = CalculatorTask(prompts=6, held_out=3, facts=2, seed=0)
    tokenizer = make_task_tokenizer(task)
    rows = make_answer_dataset(task, task.training, tokenizer)
    for question, row in zip(task.training, rows, strict=True):
        learnt = [token for token in row["labels"] if token != -100]
        assert tokenizer.decode(learnt) == question.answer + tokenizer.eos_token
        assert row["input_ids"][-len(learnt) :] == learnt
        prompt = row["input_ids"][: -len(learnt)]
        asked = tokenizer.apply_chat_template(
            task.prompt(question), add_generation_prompt=True, return_dict=False
        )
        assert prompt == asked


def test_calculator_answers_are_right():
    task = CalculatorTask(prompts=6, held_out=3)
    for question in task.training:
        asked, answered = task.solution(question)
        assert asked["role"] == "user"
        assert is_correct(answered["content"], question.answer)
        assert "tool_calls" not in answered


@pytest.mark.parametrize(
    ("name", "response"),
    [("math", "The answer is \\boxed{1/2}."), ("multihop", "<answer> 1/2 </answer>")],
)
def test_files_answer_in_the_form_that_is_graded(name, response, tmp_path):
    for part in ("train", "held_out"):
        write_rows(
            tmp_path / f"{part}.jsonl", [Example(part, "x", part, f"{part}?", ("1/2", "0.5"))]
        )
    config = loads(
        f'model.path = "some/model"\nwarmup.steps = 0\ntool.search_url = "http://127.0.0.1:1"\n'
        f'[task]\nname = "{name}"\n'
        f'train = "{tmp_path}/train.jsonl"\nheld_out = "{tmp_path}/held_out.jsonl"'
    )
    task = make_task(config)
    assert task.solution(task.training[0]).pieces == ((response, True),)


@pytest.mark.parametrize("name", ["kl", "decision_entropy"])
def test_settings_for_rewards_are_refused(name):
    with pytest.raises(ConfigError, match=rf"= \"answers\" needs .* {name} = 0.1"):
        loads(f'[optimiser]\nlearn_from = "answers"\n{name} = 0.1')
