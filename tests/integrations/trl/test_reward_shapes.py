"""Reward functions in the shapes of public projects: TRL's trainer and ours get the same numbers.

The shapes are those of open-r1, the GRPO demo of W. Brown, Unsloth's notebooks, mini-R1, TRL's own
documentation, TRL's package, VLM-R1 and Search-R1; the code is ours. `test_calls.py` has judges,
classes, partial functions and coroutines.
"""

import json

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl")

from datasets import Dataset
from support.tiny_trainers import grpo_arguments, tiny_policy
from trl import GRPOTrainer

from paretopo.config import from_table
from paretopo.integrations.trl.datasets import make_question_dataset, read_question
from paretopo.integrations.trl.rewards import SessionRewards
from paretopo.rewards.functions import find_rewards
from paretopo.rewards.own import OwnRewards
from paretopo.tasks.choice import make_task
from paretopo.tasks.probe import check_functions

# Prompts are messages, and so are completions.
OF_MESSAGES = """
import json
import re

from math_verify import parse, verify
from trl.rewards import think_format_reward

# open-r1: mathematics by math-verify with its own limits, which are alarms
def verified(completions, solution, **kwargs):
    contents = [completion[0]["content"] for completion in completions]
    rewards = []
    for content, gold in zip(contents, solution):
        parsed = parse(gold)
        rewards.append(float(verify(parsed, parse(content))) if parsed else None)
    return rewards

# the GRPO demo: the last user message, an answer in tags, and pay for each tag
def graded(prompts, completions, answer, **kwargs) -> list[float]:
    question = prompts[0][-1]["content"]
    assert question
    found = [re.findall("<answer>(.*?)</answer>", one[0]["content"]) for one in completions]
    return [2.0 if texts[-1:] == [right] else 0.0 for texts, right in zip(found, answer)]

# Unsloth's notebooks: a counter of the module, and a column that is no text
PRINTED = 0

def near(prompts, completions, answer, tolerance, **kwargs):
    global PRINTED
    PRINTED += 1
    scores = []
    for one, right, allowed in zip(completions, answer, tolerance):
        numbers = re.findall(r"-?[0-9.]+", one[0]["content"])
        try:
            scores.append(1.0 - abs(float(numbers[-1]) - float(right)) / allowed)
        except (IndexError, ValueError):
            scores.append(-1.0)
    return scores

# TRL's documentation: tokens, the state of the trainer, further metrics and columns
def long_enough(completion_ids, trainer_state, log_metric, log_extra, **kwargs):
    lengths = [len(ids) for ids in completion_ids]
    log_metric("longest", max(lengths))
    log_extra("length", lengths)
    return [float(length >= 3 + trainer_state.global_step) for length in lengths]

# VLM-R1: JSON out of the text, a list as the column
def overlap(completions, box, **kwargs):
    rewards = []
    for one, right in zip(completions, box):
        try:
            given = json.loads(one[0]["content"])["box"]
        except (ValueError, KeyError, TypeError):
            given = []
        rewards.append(len(set(given) & set(right)) / len(set(given) | set(right)))
    return rewards
"""
# Prompts are texts, and so are completions.
OF_TEXTS = """
import re

# mini-R1: the prompt ends inside a tag; columns are a number and a list of numbers
def equation(completions, target, nums, **kwargs):
    rewards = []
    for completion, right, numbers in zip(completions, target, nums):
        match = re.search(r"<answer>(.*?)</answer>", "<think>" + completion)
        if match is None or sorted(map(int, re.findall("[0-9]+", match[1]))) != sorted(numbers):
            rewards.append(0.0)
            continue
        try:
            rewards.append(float(eval(match[1], {"__builtins__": None}, {}) == right))
        except Exception:
            rewards.append(0.0)
    return rewards

# Search-R1: words compared with several golden answers
def matched(completions, golden_answers, **kwargs):
    return [float(any(one.lower() in text.lower() for one in golden))
            for text, golden in zip(completions, golden_answers)]
"""
SYSTEM, USER = ({"role": role, "content": "a"} for role in ("system", "user"))
CHAT = [
    {"prompt": [SYSTEM, USER], "answer": "4", "solution": "$4$", "tolerance": 2.0, "box": [1, 2]},
    {"prompt": [USER], "answer": "5", "solution": "$5$", "tolerance": 10, "box": [3]},
]
WRITTEN = ["<answer>4</answer>", "print $4$", '{"box": [1, 5]}', "<think>\nso\n</think>\n4"]
TEXTS = [
    {"prompt": "a", "target": 24, "nums": [4, 6], "golden_answers": ["Nile"]},
    {"prompt": "b", "target": 7, "nums": [3, 4], "golden_answers": ["x", "so"]},
]
TOLD = ["</think> <answer>4 * 6</answer>", "the nile, please", "so <answer>3+4</answer>", "aaaaaa"]
MESSAGE_NAMES = ["verified", "graded", "near", "long_enough", "overlap", "think_format_reward"]
TEXT_NAMES = ["equation", "matched"]
CASES = [(OF_MESSAGES, CHAT, WRITTEN, MESSAGE_NAMES), (OF_TEXTS, TEXTS, TOLD, TEXT_NAMES)]


def config_of(folder, text, rows, names):
    held_out = [{**rows[0], "prompt": "held out"}]
    if not isinstance(rows[0]["prompt"], str):
        held_out = [{**rows[0], "prompt": [{"role": "user", "content": "held out"}]}]
    for name, content in (("train", rows), ("held_out", held_out)):
        lines = "".join(json.dumps(row) + "\n" for row in content)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    (folder / "rewards.py").write_text(text, encoding="utf-8")
    task = {name: str(folder / f"{name}.jsonl") for name in ("train", "held_out")}
    return from_table(
        {
            "objectives": [{"name": name} for name in names],
            "rewards": {"file": str(folder / "rewards.py")},
            "task": {"name": "questions", **task},
            "warmup": {"steps": 0},
            "paretopo": {"stage2_estimator": "rloo", "gate": "none"},
            "optimiser": {"prompts_per_step": 2, "group_size": 2},
        }
    )


def make_trainer(folder, functions, rows):
    sizes = {"per_device_train_batch_size": 4, "num_generations": 4, "max_completion_length": 8}
    return GRPOTrainer(
        args=grpo_arguments(folder / "trl", **sizes),
        reward_funcs=functions,
        train_dataset=rows,
        **tiny_policy("a b held out"),
    )


def score(trainer, rows, texts):
    """Return the numbers that TRL's trainer computes for these texts, a row each, and its logs.

    Every text answers every row.
    """
    inputs = [row for row in rows for _ in texts]
    prompts = [row["prompt"] for row in inputs]
    completions = [
        text if isinstance(prompt, str) else [{"role": "assistant", "content": text}]
        for prompt, text in zip(prompts, texts * len(rows), strict=True)
    ]
    ids = [[0] * (1 + at) for at in range(len(inputs))]
    rewards = trainer._calculate_rewards(inputs, prompts, completions, ids)
    return rewards, {**trainer._pending_metrics}, {**trainer._pending_extra_logs}


@pytest.mark.parametrize(("text", "rows", "written", "names"), CASES, ids=["messages", "texts"])
def test_functions_of_public_projects_give_the_same_numbers(tmp_path, text, rows, written, names):
    config = config_of(tmp_path, text, rows, names)
    check_functions(config)
    own = OwnRewards(config)
    copy = tmp_path / "copy"  # whose semaphores belong to TRL's event loop
    copy.mkdir()
    by_name = {one.name: one.function for one in find_rewards(config_of(copy, text, rows, names))}
    theirs = make_trainer(tmp_path, [by_name[name] for name in names], Dataset.from_list(rows))
    numbers, metrics, extra = score(theirs, rows, written)
    assert numbers.shape == (2 * len(written), len(names))
    varied = [len(set(column)) > 1 for column in numbers.T.tolist()]
    assert all(varied), f"these texts tell nothing of {names[varied.index(False)]}"

    task = make_task(config)
    ours = SessionRewards(lambda texts, _: [None] * len(texts), own)
    asked = make_question_dataset(task, task.training, theirs.processing_class, held_out=False)
    trainer = make_trainer(tmp_path, [ours.measure], asked)
    # As `paretopo train` has it, a text of the file is a user's message.
    _, our_metrics, our_extra = score(trainer, [read_question(row) for row in asked], written)
    seen = [
        [torch.nan if one.reward_components[name] is None else one.reward_components[name]]
        for one in ours.rollouts
        for name in names
    ]
    torch.testing.assert_close(
        torch.tensor(seen, dtype=torch.float32).reshape(numbers.shape), numbers, equal_nan=True
    )
    assert (our_metrics, our_extra) == (metrics, extra)
