"""The parts around the trainer: tiny model, warm-up, rewards, checkpoints, Ctrl-C."""

import json
import signal
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl")

from transformers import TrainerControl, TrainerState
from trl.chat_template_utils import (
    is_chat_template_prefix_preserving,
    parse_response,
    supports_tool_calling,
)

from paretopo.config import loads
from paretopo.integrations.huggingface.tiny_model import (
    make_model,
    make_task_tokenizer,
    make_tokenizer,
)
from paretopo.integrations.huggingface.warmup import collate
from paretopo.integrations.trl.callbacks import WholeCheckpoints
from paretopo.integrations.trl.checkpoints import Checkpoints
from paretopo.integrations.trl.datasets import make_question_dataset, read_question
from paretopo.integrations.trl.rewards import SessionRewards
from paretopo.interrupt import Interrupt
from paretopo.tasks.calculator import FACTS, CalculatorTask, CalculatorWithSolver, is_correct
from paretopo.tasks.choice import make_task
from paretopo.tasks.environment import grade_each

TASK = CalculatorTask(prompts=12, held_out=6, seed=0)
PRICED = CalculatorWithSolver(prompts=12, held_out=6, seed=0)


@pytest.fixture(scope="module")
def tokenizer():
    return make_tokenizer(TASK.words(), TASK.phrases())


def tiny(tokenizer, seed=0):
    return make_model(tokenizer, layers=1, width=16, heads=2, seed=seed)


# ---- tiny model ------------------------------------------------------------------------------


def test_trl_accepts_the_template(tokenizer):
    assert supports_tool_calling(tokenizer)
    assert is_chat_template_prefix_preserving(tokenizer)


@pytest.mark.parametrize("task", [TASK, PRICED])
def test_every_trace_is_known_to_the_tokenizer_and_reads_back(task):
    tokenizer = make_tokenizer(task.words(), task.phrases())
    for conversation in task.traces(step=3, count=60, redundant_calls=2, guess_rate=0.3):
        text = tokenizer.apply_chat_template(conversation, tokenize=False)
        tokens = tokenizer(text, add_special_tokens=False)["input_ids"]
        assert tokenizer.unk_token_id not in tokens
        assert tokenizer.decode(tokens) == text


def test_generated_text_becomes_the_message_it_was(tokenizer):
    conversation = next(
        talk for talk in TASK.traces(0, 50, 0, 0.0) if sum("tool_calls" in m for m in talk) == 2
    )
    for i, message in enumerate(conversation):
        if message["role"] == "assistant":
            prefix = tokenizer.apply_chat_template(
                conversation[:i], add_generation_prompt=True, return_dict=False
            )
            whole = tokenizer.apply_chat_template(conversation[: i + 1], return_dict=False)
            parsed = parse_response(tokenizer, whole[len(prefix) :], prefix=prefix)
            assert parsed == message


def test_the_facts_fit_the_vocabulary_in_few_tokens(tokenizer):
    assert len(tokenizer) < 150
    for text, _ in FACTS:
        tokens = tokenizer(text)["input_ids"]
        assert tokenizer.unk_token_id not in tokens
        assert len(tokens) <= 10


def test_seed_fixes_weights_without_touching_the_global_seed(tokenizer):
    torch.manual_seed(7)
    expected = torch.rand(1)
    torch.manual_seed(7)
    first, again, other = (tiny(tokenizer, seed) for seed in (0, 0, 1))
    assert torch.equal(torch.rand(1), expected)
    weights = [model.model.embed_tokens.weight for model in (first, again, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


# ---- warm-up ---------------------------------------------------------------------------------


def test_batches_are_padded_without_loss():
    batch = collate([([5, 6, 7], [False, True, True]), ([8], [True])], padding=0)
    assert batch["input_ids"].tolist() == [[5, 6, 7], [8, 0, 0]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1], [1, 0, 0]]
    assert batch["labels"].tolist() == [[-100, 6, 7], [8, -100, -100]]


# ---- rewards ---------------------------------------------------------------------------------


def completion(calls, answer):
    return [
        *[{"role": "assistant", "content": "", "tool_calls": [{}]}, {"role": "tool"}] * calls,
        {"role": "assistant", "content": answer},
    ]


def measure(rewards, rollouts, *, held_out=False, name="q", **more):
    completions = [completion(calls, answer) for calls, answer in rollouts]
    n = len(completions)
    columns = {
        "completions": completions,
        "answer": ["6"] * n,
        "id": [name] * n,
        "kind": ["one"] * n,
        "held_out": [held_out] * n,
    }
    return rewards.measure(**columns | more)


def test_rollouts_are_measured_and_left_to_the_session():
    rewards = SessionRewards(grade_each(is_correct))
    given = measure(rewards, [(2, "6"), (1, "6"), (0, "7")], held_out=True)
    assert given == [1.0, 1.0, 0.0]  # the reward that TRL logs
    assert [one.reward_components for one in rewards.rollouts] == [
        {"correct": 1.0, "calls": 2.0, "failed_calls": 0.0, "turns": 3.0},
        {"correct": 1.0, "calls": 1.0, "failed_calls": 0.0, "turns": 2.0},
        {"correct": 0.0, "calls": 0.0, "failed_calls": 0.0, "turns": 1.0},
    ]
    assert {(one.held_out, one.rewards) for one in rewards.rollouts} == {(True, ())}


def test_batch_is_graded_at_once_without_missing_answers():
    batches = []

    def grade_all(texts, answers):
        batches.append((list(texts), list(answers)))
        return [None if text == "?" else float(text == "6") for text in texts]

    rewards = SessionRewards(grade_all)
    # A response that ends in a call or its result has no answer.
    pending = {"role": "assistant", "content": "6", "tool_calls": [{}]}
    talks = [completion(0, text) for text in ("6", "7", "?")]
    talks += [completion(1, "6")[:-1], [pending], []]
    measure(rewards, [(0, "")] * 6, completions=talks)
    assert batches == [(["6", "7", "?"], ["6"] * 3)]
    right = [one.reward_components.get("correct") for one in rewards.rollouts]
    assert right == [1.0, 0.0, None, 0.0, 0.0, 0.0]
    assert [one.reward_components["calls"] for one in rewards.rollouts] == [0, 0, 0, 1, 0, 0]


def test_measures_of_the_environment_take_precedence():
    rewards = SessionRewards(grade_each(is_correct))
    own = [{"polite": 0.5, "calls": 7.0}, {"polite": None}]
    measure(rewards, [(1, "6"), (1, "6")], reward_components=own, seconds=[0.25, 0.5])
    known = {"correct": 1.0, "failed_calls": 0.0, "turns": 2.0}
    assert [one.reward_components for one in rewards.rollouts] == [
        {**known, "calls": 7.0, "seconds": 0.25, "polite": 0.5},
        {**known, "calls": 1.0, "seconds": 0.5, "polite": None},
    ]


def test_calls_of_a_tool_with_a_price_cost_dollars():
    rewards = SessionRewards(grade_each(is_correct), prices={"solver": 0.25})
    conversations = [
        [
            *({"role": "tool", "name": name} for name in called),
            {"role": "assistant", "content": "6"},
        ]
        for called in ((), ("calculator",), ("solver", "calculator", "solver"))
    ]
    measure(rewards, [(0, "")] * 3, completions=conversations)
    spent = [one.reward_components["dollars"] for one in rewards.rollouts]
    assert spent == [0.0, 0.0, 0.5]
    assert [one.reward_components["calls"] for one in rewards.rollouts] == [0.0, 1.0, 3.0]


def test_answers_may_be_texts_and_lists_in_one_file(tmp_path):
    answers = ["a", ["a", "b"], "c"]
    for name, words in (("train", answers), ("held_out", ["d"])):
        rows = [{"prompt": f"{name} {one}", "answer": one} for one in words]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(text, encoding="utf-8")
    files = {f"task.{name}": str(tmp_path / f"{name}.jsonl") for name in ("train", "held_out")}
    task = make_task(loads("", {"task.name": "questions", **files}))
    rows = make_question_dataset(task, task.training, make_task_tokenizer(task), held_out=False)
    assert [read_question(row)["answer"] for row in rows] == answers


# ---- checkpoints, Ctrl-C ---------------------------------------------------------------------


def test_only_marked_checkpoints_count_and_two_are_kept(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    assert checkpoints.latest() is None
    for step in (1, 2, 10):
        checkpoints.path(step).mkdir()
        (checkpoints.path(step) / "model.safetensors").touch()
        assert checkpoints.latest() != step
        checkpoints.complete(step, {"step": step})
        assert checkpoints.latest() == step
    assert checkpoints.steps() == [2, 10]
    checkpoints.path(11).mkdir()
    (tmp_path / "checkpoint-notes").mkdir()
    checkpoints.remove_unfinished()
    assert {path.name for path in tmp_path.iterdir()} == {
        "checkpoint-2",
        "checkpoint-10",
        "checkpoint-notes",
    }
    assert checkpoints.state(10) == {"step": 10}


def test_the_log_in_checkpoints_does_not_grow_with_the_run():
    state, control = TrainerState(), TrainerControl()
    state.log_history = [{"step": step} for step in range(1000)]
    callback = WholeCheckpoints(None, None, None, SimpleNamespace(came=False), None)
    callback.on_step_end(None, state, control)
    assert [row["step"] for row in state.log_history] == list(range(900, 1000))
    assert not control.should_save


def test_the_second_ctrl_c_stops_at_once():
    before = signal.getsignal(signal.SIGINT)
    with Interrupt() as interrupt:
        signal.raise_signal(signal.SIGINT)
        assert interrupt.came
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before
