"""One recorded story, played through all adapters: equal advantages, equal files.

A rollout is described in neutral terms and handed over as each framework would: to TRL's side as
text completions with a mask of the policy's tokens; to OpenRLHF's as rows of an experience; to
verl's as rows of its queue in the order of another batch, with padding, and with outputs before the
last.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl")

from support.sessions import new_session, read_records
from support.trainer_rollouts import make_experience, make_row, padded

from paretopo.controller.limits import Multipliers
from paretopo.integrations.advantages import spread
from paretopo.integrations.openrlhf.rollouts import (
    find_components,
    make_rollout,
    read_status,
    with_text,
)
from paretopo.integrations.trl.generated import Generated
from paretopo.integrations.trl.rewards import HANDED_OVER, SessionRewards
from paretopo.integrations.trl.session import SessionCallback
from paretopo.integrations.trl.session_trainer import SessionTrainer
from paretopo.integrations.verl.training import ParetoTraining, group_rows
from paretopo.records.trajectories import choose_recorded
from paretopo.tasks.environment import grade_each

MOST, POINTS, STEPS, END = 40, 3, 2, 1
SETTINGS = f"""
[optimiser]
steps = {STEPS}
group_size = {POINTS}
prompts_per_step = 2
max_completion_tokens = {MOST}
[evaluation]
every = 1
[run]
trajectories = 1
"""
OBJECTIVES = [
    'name = "correct"',
    'name = "calls"\neconomy = "paretopo"',
    'name = "tokens"\neconomy = "raw"\nhigh = 40\nreference = 40',
    'name = "seconds"\neconomy = "paretopo"\nalpha = 2.0',
    'name = "polite"\nlow = -1\nhigh = 1\nfailure = "keeps"',
    'name = "dollars"\neconomy = "raw"',
    'name = "words"\nbetter = "fewer"\neconomy = "share of the group"',
    'name = "turns"\neconomy = "raw"',
    'name = "failed_calls"\neconomy = "raw"',
]
TOKENIZER = SimpleNamespace(
    eos_token="<end>",
    eos_token_id=END,
    decode=lambda tokens: "".join("<end>" if token == END else chr(token) for token in tokens),
)


@dataclass(frozen=True)
class Told:
    """A rollout: the question, and pieces of text by turns of the policy and of its tool."""

    question: int
    pieces: tuple[str, ...]
    calls: int
    solved: bool
    ends: bool = True
    extra: bool = False  # does the environment measure more than every one does?

    @property
    def components(self) -> dict[str, float | None]:
        """The measures of the environment; some rollouts have no politeness."""
        polite = None if self.calls == 1 else 0.3 * self.calls - 0.5
        return {
            "correct": float(self.solved),
            "calls": self.calls,
            "failed_calls": self.calls // 2,
            "turns": self.calls + 1,
            "seconds": 0.1 + 0.7 * self.calls + 0.05 * len(self.pieces[-1]),
        } | ({"polite": polite, "words": float(len(self.written.split("<")))} if self.extra else {})

    @property
    def prompt(self) -> str:
        return f"{self.question} + 1 = "

    @property
    def tokens(self) -> tuple[list[int], list[int]]:
        """Tokens of the response, and for each whether the policy wrote it."""
        tokens = [ord(letter) for piece in self.pieces for letter in piece]
        own = [int(at % 2 == 0) for at, piece in enumerate(self.pieces) for _ in piece]
        return ([*tokens, END], [*own, 1]) if self.ends else (tokens, own)

    @property
    def written(self) -> str:
        return "".join(self.pieces[::2])


def tell(question, calls, solved, *, truncated=False) -> Told:
    answer = str(question + 1 if solved else 0)
    pieces = [text for number in range(calls) for text in (f"<call>{number}</call>", f"[{number}]")]
    pieces.append(answer)
    if truncated:
        pieces[-1] += "?" * (MOST - sum(map(len, pieces)))
    return Told(question, tuple(pieces), calls, solved, ends=not truncated)


# Two groups a step. In the second step a prompt of the first comes again, solved with fewer calls.
TRAINING = [
    [
        *(tell(1, 2, True), tell(1, 1, False), tell(1, 0, False, truncated=True)),
        *(tell(2, 1, True), tell(2, 2, True), tell(2, 0, True)),
    ],
    [
        *(tell(1, 1, True), tell(1, 2, True), tell(1, 2, True)),
        *(tell(3, 0, False), tell(3, 1, False), tell(3, 2, False)),
    ],
]
HELD_OUT = [
    [tell(11, 2, True), tell(10, 2, True), tell(12, 1, False), tell(10, 1, True)],
    [tell(11, 1, True), tell(10, 2, True), tell(12, 2, True), tell(10, 0, False)],
    [tell(11, 0, True), tell(10, 1, True), tell(12, 0, True, truncated=True), tell(10, 1, True)],
]
MEASURED = {"loss": 0.5, "grad_norm": 0.25, "learning_rate": 1e-3}


class OnTRL:
    """The story on TRL's side, with the parts of the trainer that need no model."""

    def __init__(self, session):
        self.session = session
        grade = lambda text, answer: text.rstrip("?").endswith(answer)  # noqa: E731
        trainer = object.__new__(SessionTrainer)
        trainer.session = session
        trainer.read_measured = lambda: self.rewards.rollouts
        self.rewards = SessionRewards(grade_each(grade))
        trainer.processing_class = TOKENIZER
        trainer.max_completion_length = MOST
        trainer.accelerator = SimpleNamespace(process_index=0, gather=lambda values: values)
        self.trainer = trainer
        self.callback = SessionCallback(trainer, [f"q{one.question}" for one in HELD_OUT[0]])
        self.callback.on_train_begin(None, None, None)

    def generate(self, story, *, held_out, first_row=0):
        trainer, tokens = self.trainer, [one.tokens for one in story]
        columns = {
            "answer": [str(one.question + 1) for one in story],
            "id": [f"q{one.question}" for one in story],
            "kind": ["sum"] * len(story),
            "held_out": [held_out] * len(story),
            "row": list(range(first_row, first_row + len(story))),
        }
        completions = ["".join(one.pieces) for one in story]
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        inputs = [row | {"prompt": one.prompt} for row, one in zip(rows, story, strict=True)]
        trainer.generated = Generated(
            [own for own, _ in tokens],
            [own for _, own in tokens],
            inputs,
            [one.prompt for one in story],
            completions,
        )
        self.measure(story, columns)
        trainer.measured = trainer.gather_measured()

    def measure(self, story, columns):
        components = [one.components for one in story]
        handed_over = {name: [one.pop(name) for one in components] for name in HANDED_OVER}
        self.rewards.measure(
            self.trainer.generated.completions,
            **columns,
            **handed_over,
            written=[one.written for one in story],
            reward_components=components,
        )

    def train(self, step, story):
        state = SimpleNamespace(global_step=step, max_steps=STEPS)
        self.callback.on_step_begin(None, None, None)
        self.generate(story, held_out=False)
        advantages = self.trainer.compute_advantages(POINTS)
        rate = {"lr": MEASURED["learning_rate"]}
        self.callback.on_optimizer_step(
            None, None, None, optimizer=SimpleNamespace(param_groups=[rate])
        )
        self.callback.on_step_end(None, state, SimpleNamespace())
        logs = {name: MEASURED[name] for name in ("loss", "grad_norm")}
        self.callback.on_log(None, state, None, logs=logs)
        return advantages

    def evaluate(self, step, story):
        for first in range(0, len(story), 3):  # batches
            self.generate(story[first : first + 3], held_out=True, first_row=first)
            self.callback.on_prediction_step(None, None, None)
        self.callback.on_evaluate(None, SimpleNamespace(global_step=step), None)


class OnOpenRLHF:
    """The story on OpenRLHF's side; of its classes only the experiences."""

    def __init__(self, session):
        self.session = session

    def row(self, one):
        label = {"id": f"q{one.question}", "kind": "sum", "answer": one.question + 1}
        tokens, own = one.tokens
        return {
            "prompt": one.prompt,
            "label": json.dumps(label),
            "asked": [ord(letter) for letter in one.prompt],
            "response": tokens,
            "own": own,
            "truncated": not one.ends,
        }

    def rollout(self, one):
        experience = make_experience(self.row(one))
        logs = {"reward_components": one.components}
        response = {"prompt": one.prompt, "label": experience.labels[0]}
        components = find_components(response, logs, self.session.objectives)
        return make_rollout(experience, components, self.session.objectives)

    def add_texts(self, rollouts, story):
        """As OpenRLHF puts the experiences of single rollouts together."""
        whole = make_experience(*map(self.row, story))
        return [with_text(one, whole, row, TOKENIZER) for row, one in enumerate(rollouts)]

    def train(self, step, story):
        groups = [story[first : first + POINTS] for first in range(0, len(story), POINTS)]
        # As TRL scores them: all groups of a batch learn before any is scored.
        scored = self.session.score([[*map(self.rollout, group)] for group in groups])
        rollouts = [[*group.rollouts] for group in scored]
        rollouts[0] = self.add_texts(rollouts[0], groups[0])
        advantages = self.session.advantages(rollouts)
        names = {"loss": "policy_loss", "grad_norm": "actor_grad_norm", "learning_rate": "actor_lr"}
        status = {names[ours]: value for ours, value in MEASURED.items()}
        self.session.record_step(step, read_status(status))
        return advantages

    def evaluate(self, step, story):
        rollouts = [*map(self.rollout, story)]
        chosen = choose_recorded([one.prompt_id for one in rollouts], 1)
        self.session.observe(
            step,
            [
                texted if one.prompt_id in chosen else one
                for one, texted in zip(rollouts, self.add_texts(rollouts, story), strict=True)
            ],
            seconds=1.0,
        )


class QueueOfVerl:
    """The parts of verl's trainer that our hooks use: it holds rows and calls the estimator."""

    tokenizer, _began_evaluation = TOKENIZER, 0.0

    def __init__(self, session):
        self.session = session
        self._scored, self._held_out = {}, []
        trainer = SimpleNamespace(default_local_dir=session.run.path / "none")
        self.config = SimpleNamespace(
            trainer=trainer, data=SimpleNamespace(max_response_length=MOST)
        )

    def step(self, metrics, timing_raw):
        names = {"loss": "actor/loss", "grad_norm": "actor/grad_norm", "learning_rate": "actor/lr"}
        metrics |= {names[ours]: value for ours, value in MEASURED.items()}
        return self._compute_advantage(self.batch, metrics)

    def _compute_advantage(self, batch, metrics):
        masks = [self.columns[key]["response_mask"] for key in batch.keys]
        mask = padded([one.tolist() for one in masks])
        advantages, returns = spread(torch.zeros(mask.shape), mask)
        assert torch.equal(advantages, returns)
        self.written = dict(zip(batch.keys, advantages, strict=True))
        return batch

    def _val_metrics_update(self, *args, **kwargs):
        return {"val-core/sum/reward/mean@1": 0.5}

    def _save_checkpoint(self):
        raise AssertionError("not in this story")


class TrainingOnVerl(ParetoTraining, QueueOfVerl):
    __init__ = QueueOfVerl.__init__

    def _read(self, keys, partition_id):
        return [self.columns[key] | {"key": key} for key in keys]


class OnVerl:
    """The story on verl's side, with the trainer above."""

    def __init__(self, session):
        self.session, self.trainer = session, TrainingOnVerl(session)

    def row(self, one):
        tokens, own = one.tokens
        return make_row(
            {"score": 1.0, **one.components},
            prompt=one.prompt,
            tokens=tokens,
            own=own,
            prompts=torch.tensor([ord(letter) for letter in one.prompt]),
            num_turns=2 * one.components["turns"],
            data_source="sum",
            reward_model={"ground_truth": str(one.question + 1)},
            extra_info={"id": f"q{one.question}"},
        )

    def batch(self, story, uids):
        """Return the rows in verl's order after a row of padding; some have an earlier output."""
        rows, sessions = {}, dict.fromkeys(uids, 0)
        for uid, one in zip(uids, story, strict=True):
            row = self.row(one)
            key = f"{uid}_{sessions[uid]}"
            sessions[uid] += 1
            if one.solved:  # an output without a token of the policy's own, which is not ranked
                blind = {"response_mask": torch.zeros(2, dtype=int)}
                rows[f"{key}_0"] = row | blind | {"responses": torch.tensor([97, 98])}
            rows[f"{key}_{int(one.solved)}"] = row
        first, *others = rows
        keys = [first, *reversed(others)]  # groups are in the order of their first row
        if len(sessions) == 2:
            keys = sorted(rows, key=lambda key: (key.split("_")[0] != uids[0], key[::-1]))
        keys.insert(1, "padding_0_0")
        self.trainer.columns = rows | {"padding_0_0": rows[first]}
        tags = [{"is_padding": key.startswith("padding")} for key in keys]
        return SimpleNamespace(keys=keys, tags=tags, partition_id="train")

    def train(self, step, story):
        uids = [f"{step}u{at // POINTS}" for at in range(len(story))]
        self.trainer.batch, self.trainer.global_steps = self.batch(story, uids), step
        self.trainer.step({}, {})
        written = self.trainer.written
        assert not written["padding_0_0"].any()
        advantages = []
        for at, (uid, one) in enumerate(zip(uids, story, strict=True)):
            key = f"{uid}_{at % POINTS}_{int(one.solved)}"
            own = self.trainer.columns[key]["response_mask"].bool()
            [advantage] = written[key][: len(own)][own].unique().tolist()
            advantages.append(advantage)
        return np.array(advantages).reshape(-1, POINTS)

    def evaluate(self, step, story):
        self.trainer.global_steps = step
        for first in range(0, len(story), 3):  # batches
            part = story[first : first + 3]
            batch = self.batch(part, [f"{step}v{first + at}" for at in range(len(part))])
            rows = self.trainer._read(batch.keys, "val")
            for [outputs] in group_rows(batch.keys, batch.tags).values():
                own = [rows[one] for one in outputs]
                self.trainer._held_out.append((own[-1], self.trainer._make_rollout(own)))
        counts = {("sum", str(at)): 1 for at in range(len(story))}
        numbers = self.trainer._val_metrics_update([], [], {}, [], expected_acc_counts=counts)
        assert "paretopo/hypervolume" in numbers
        self.trainer._held_out = []


def play(adapter, *, extra=False):
    training, held_out = (
        [[replace(one, extra=extra) for one in story] for story in stories]
        for stories in (TRAINING, HELD_OUT)
    )
    adapter.evaluate(0, held_out[0])
    advantages = []
    for step in range(1, STEPS + 1):
        advantages.append(adapter.train(step, training[step - 1]))
        adapter.evaluate(step, held_out[step])
    adapter.session.finish()
    return np.array(advantages)


def compare(advantages, adapters):
    """Equal advantages, rows and states; returns the rows."""
    first, *others = advantages
    records = read_records(adapters[0].session.run.path)
    assert (first != 0).any()
    for theirs, adapter in zip(others, adapters[1:], strict=True):
        written = np.float32 if isinstance(adapter, OnVerl) else np.float64
        np.testing.assert_array_equal(written(first), written(theirs))
        assert records == read_records(adapter.session.run.path)
        assert adapters[0].session.state() == adapter.session.state()
    return records


# The recommended recipe's own estimator takes no objective that is no share.
RECIPES = [
    {"recipe": "recommended", "paretopo__stage2_estimator": "hypervolume_gd2po"},
    {"recipe": "paper"},
]


@pytest.mark.parametrize("switches", RECIPES)
@pytest.mark.parametrize("count", [1, 3, 9])
def test_all_adapters_tell_the_same_story(tmp_path, count, switches):
    tables = "".join(f"[[objectives]]\n{one}\n" for one in OBJECTIVES[:count])
    adapters = [
        kind(new_session(tmp_path / kind.__name__, SETTINGS + tables, **switches))
        for kind in (OnTRL, OnOpenRLHF, OnVerl)
    ]
    records = compare([play(adapter, extra=count == 9) for adapter in adapters], adapters)
    steps, evaluations, groups = records.values()
    names = [line.split('"')[1] for line in OBJECTIVES[:count]]
    for row in [*steps, *evaluations]:
        assert list(row["measured"]) == list(row["rewards"]) == names
    for group in groups:
        assert group["objectives"] == names
        assert all(len(one["rewards"]) == count for one in group["rollouts"])
        assert all(set(names) <= set(one["reward_components"]) for one in group["rollouts"])
    # The story is worth telling: something of every kind is in the files.
    assert [row["stage"] for row in steps] == [1, 2]
    assert steps[0]["truncated"] == pytest.approx(1 / 6)
    assert count == 9 or steps[1]["kept"] < 1
    assert {group["held_out"] for group in groups} == {True, False}
    rollouts = [one for group in groups for one in group["rollouts"]]
    pieces = [piece["kind"] for one in rollouts for piece in one["segments"]]
    assert set(pieces) == {"model", "call", "tool"}
    if count == 9:
        # The second of the calls 2, 1, 0 has no politeness, and the mean leaves it out.
        first = groups[1]["rollouts"]
        assert [one["reward_components"]["polite"] for one in first] == [0.6 - 0.5, None, -0.5]
        assert first[1]["rewards"][4] == pytest.approx((0.1 - 0.5) / 2)
        polite = [one for one in (0.1, None, -0.5, None, 0.1, -0.5) if one is not None]
        assert steps[0]["measured"]["polite"] == pytest.approx(np.mean(polite))


def test_all_adapters_keep_limits_alike(tmp_path):
    tables = """
    [[objectives]]
    name = "correct"
    [[objectives]]
    name = "calls"
    limit = 0.8
    [[objectives]]
    name = "tokens"
    limit = { value = 20, share = 0.9 }
    """
    adapters = [
        kind(new_session(tmp_path / kind.__name__, SETTINGS + tables, paretopo__stage1_steps=0))
        for kind in (OnTRL, OnOpenRLHF, OnVerl)
    ]
    advantages = [play(adapter) for adapter in adapters]
    steps, evaluations, _ = compare(advantages, adapters).values()
    calls, tokens = ([row["limits"][name] for row in steps] for name in ("calls", "tokens"))
    written = [[sum(one.tokens[1]) for one in story] for story in TRAINING]
    assert [one["mean"] for one in calls] == pytest.approx([1.0, 8 / 6])
    assert calls[0]["deviation"] == pytest.approx(np.sqrt(2 / 3))  # 2, 1, 0 calls, twice
    assert [one["share"] for one in tokens] == [np.mean(np.array(one) <= 20) for one in written]
    held = [Multipliers([-0.8]), Multipliers([0.9], [0.3])]
    held[0].update([-1.0], [calls[0]["deviation"]])
    held[1].update([tokens[0]["share"]], [0.5])
    assert [calls[0]["multiplier"], calls[1]["multiplier"]] == [0.0, held[0].values[0]]
    assert [tokens[0]["multiplier"], tokens[1]["multiplier"]] == [0.0, held[1].values[0]]
    assert held[0].values[0] > 0.0 < held[1].values[0]
    # In the second step all rewards of a group are equal, and only the limits teach.
    assert (np.array(advantages[0])[0] != 0.0).any()
    assert (np.array(advantages[0])[1] != 0.0).any()
    written = [[sum(one.tokens[1]) for one in story] for story in HELD_OUT]
    assert [row["limits"]["tokens"]["share"] for row in evaluations] == [
        np.mean(np.array(one) <= 20) for one in written
    ]
