"""Tasks of the real package `verifiers`: questions, and a rubric whose values are objectives."""

from __future__ import annotations

import asyncio
import time
from typing import ClassVar

import pytest

pytest.importorskip("trl")
vf = pytest.importorskip("verifiers.v1")

from datasets import Dataset
from support.sessions import read_records
from support.tiny_trainers import grpo_arguments, tiny_policy

from paretopo.integrations.trl import ParetoGRPOTrainer, ScriptSession
from paretopo.integrations.trl.of_verifiers import read_tasks
from paretopo.rewards.calls import Limits, call_again
from paretopo.rollout import BadRollout


class SumData(vf.TaskData):
    answer: str


class Sum(vf.Task[SumData]):
    """A sum, with two rewards and a metric."""

    @vf.reward(weight=2.0)
    async def correct(self, trace) -> float:
        return float(trace.last_reply == self.data.answer)

    @vf.reward(weight=0.5)
    async def digits(self, task, trace) -> float:
        assert task is self.data
        return float(any(letter.isdigit() for letter in trace.last_reply))

    @vf.metric
    async def letters(self, trace) -> float:
        return len(trace.last_reply)


class Boxed(vf.Task[SumData]):
    @vf.reward
    async def correct(self, trace) -> float:
        return vf.verify_boxed_math_answer(trace.last_reply, self.data.answer)


class Sums(vf.Taskset[Sum]):
    def load(self):
        for at in range(8):
            yield Sum(SumData(prompt=f"{at}+1=", system_prompt="Add", answer=str(at + 1)))


def make_task(kind=Sum, **data):
    return kind(SumData(**{"prompt": "1+1=", "answer": "2"} | data))


def say(*texts):
    return [[{"role": "assistant", "content": text}] for text in texts]


def test_questions_and_values_are_those_of_the_tasks():
    rows, rubric = read_tasks(Sums(vf.TasksetConfig()))
    assert rows[3] == {
        "prompt": [{"role": "system", "content": "Add"}, {"role": "user", "content": "3+1="}],
        "id": "3",
        "task": 3,
    }
    assert rubric.reward_components == {"correct": 2.0, "digits": 0.5, "letters": 0.0}
    assert rubric(completions=say("4", "5", "five"), task=[3, 3, 4]) == [
        {"correct": 1.0, "digits": 1.0, "letters": 1.0},
        {"correct": 0.0, "digits": 1.0, "letters": 1.0},
        {"correct": 0.0, "digits": 0.0, "letters": 4.0},
    ]


def test_mathematics_is_graded_in_the_main_thread():
    """math-verify works nowhere else, and verifiers would count its error as a wrong answer."""
    _, rubric = read_tasks([make_task(Boxed, answer="0.5")])
    given = say(r"\boxed{\frac{1}{2}}", r"\boxed{2}")
    assert rubric(completions=given, task=[0, 0]) == [{"correct": 1.0}, {"correct": 0.0}]


class Slow(Sum):
    """Its first scoring does not end, whether it waits or blocks."""

    calls: ClassVar = []

    @vf.reward
    async def correct(self, trace) -> float:
        self.calls.append(self.data.answer)
        if len(self.calls) == 1:
            time.sleep(60) if self.data.answer == "block" else await asyncio.sleep(60)
        return 1.0


@pytest.mark.parametrize(
    ("answer", "own", "limits", "hung"),
    [
        ("wait", None, Limits(1.0), "hung on prompt 'q7': .* rewards.timeout = 1 seconds"),
        ("block", None, Limits(1.0), "hung on prompt 'q7': .* rewards.timeout = 1 seconds"),
        ("wait", 0.5, Limits(), "on prompt 'q7': TimeoutError: .* 0.5 seconds, the task's timeout"),
        ("block", None, Limits(1.0, retries=1), None),
        ("wait", 0.5, Limits(retries=1), None),
    ],
)
def test_a_scoring_ends_by_the_timeout_of_run_or_task(answer, own, limits, hung, monkeypatch):
    monkeypatch.setattr(Slow, "calls", [])
    _, rubric = read_tasks([make_task(Slow, answer=answer, timeout={"scoring": own})])

    def ask():
        return call_again("rubric", lambda: rubric(say("2"), task=[0]), ["q7"], limits)

    if hung is None:
        assert ask()[0]["correct"] == 1.0
    else:
        with pytest.raises(BadRollout, match=hung):
            ask()


def test_a_conversation_is_a_prompt():
    opening = [vf.UserMessage(content="hi"), vf.AssistantMessage(content="hello")]
    [row], rubric = read_tasks([make_task(prompt=[*opening, vf.UserMessage(content="1+1=")])])
    assert [one["role"] for one in row["prompt"]] == ["user", "assistant", "user"]
    assert rubric(completions=say("2"), task=[0])[0]["correct"] == 1.0


def test_keyed_rewards_need_the_names_of_their_values():
    class Keyed(Sum):
        @vf.reward
        async def judged(self, trace):
            return {"kind": 0.25, "short": 1.0}

    _, rubric = read_tasks([make_task(Keyed)], components={"kind": 1.0, "short": 0.5})
    assert rubric.reward_components == {"kind": 1.0, "short": 0.5}
    [values] = rubric(completions=say("2"), task=[0])
    assert (values["kind"], values["short"]) == (0.25, 1.0)


class NeedsRuntime(Sum):
    @vf.reward
    async def tests_pass(self, trace, runtime) -> float:
        return 1.0


class NeedsSetup(Sum):
    async def setup(self, trace, runtime):
        """Write files."""


class NeedsFinalize(Sum):
    async def finalize(self, trace, runtime):
        """Read files."""


class NeedsContainer(Sum):
    NEEDS_CONTAINER: ClassVar = True


class NeedsTools(Sum):
    @classmethod
    def toolsets(cls, config):
        return [object()]


@pytest.mark.parametrize(
    ("kind", "need"),
    [
        (NeedsRuntime, "a runtime"),
        (NeedsSetup, "setup"),
        (NeedsFinalize, "finalize"),
        (NeedsContainer, "a container"),
        (NeedsTools, "toolsets"),
    ],
)
def test_tasks_of_more_than_one_answer_are_refused(kind, need):
    with pytest.raises(ValueError, match=f"{kind.__name__} needs {need}, which only"):
        read_tasks([make_task(kind)])


def test_prompts_that_trl_cannot_ask_are_refused():
    with pytest.raises(ValueError, match="task 0 has no prompt"):
        read_tasks([make_task(prompt=None)])
    picture = vf.ImageUrlContentPart(image_url=vf.ImageUrlSource(url="data:image/png;base64,"))
    with pytest.raises(ValueError, match="parts other than text"):
        read_tasks([make_task(prompt=[vf.UserMessage(content=[picture])])])
    with pytest.raises(ValueError, match=r"one task of one type, got \[\]"):
        read_tasks([])
    with pytest.raises(ValueError, match=r"one type, got \['Boxed', 'Sum'\]"):
        read_tasks([make_task(), make_task(Boxed)])


def test_a_rubric_trains_as_plain_reward_functions_do(tmp_path):
    rows, rubric = read_tasks(Sums(vf.TasksetConfig()))
    answers = [str(at + 1) for at in range(len(rows))]

    def texts(completions):
        return [one[0]["content"].strip() for one in completions]

    def correct(completions, task, **_):
        pairs = zip(texts(completions), task, strict=True)
        return [float(text == answers[at]) for text, at in pairs]

    def digits(completions, **_):
        return [float(any(one.isdigit() for one in text)) for text in texts(completions)]

    def letters(completions, **_):
        return [len(text) for text in texts(completions)]

    records = {}
    for name, functions, weights in (
        ("rubric", [rubric], [1.0]),
        ("plain", [correct, digits, letters], [2.0, 0.5, 0.0]),
    ):
        trainer = ParetoGRPOTrainer(
            args=grpo_arguments(
                tmp_path / name,
                per_device_train_batch_size=8,
                per_device_eval_batch_size=8,
                num_generations=4,
                num_generations_eval=2,
                max_completion_length=6,
                max_steps=2,
                eval_strategy="steps",
                eval_steps=1,
                reward_weights=weights,
            ),
            reward_funcs=functions,
            train_dataset=Dataset.from_list(rows[:6]),
            eval_dataset=Dataset.from_list(rows[6:]),
            session=ScriptSession(gate="correct"),
            **tiny_policy("Add a b"),
        )
        trainer.train()
        records[name] = read_records(tmp_path / name)
    assert records["rubric"] == records["plain"]
    assert {0.0, 1.0} == {
        one["rewards"][1] for group in records["plain"]["trajectories"] for one in group["rollouts"]
    }
