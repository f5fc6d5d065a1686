"""Environments with several rewards, in TRL's `environment_factory`: each is an objective."""

from __future__ import annotations

import asyncio
import copy
import itertools
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl")

from datasets import Dataset
from support.memorised import save_memorised
from support.sessions import read_records
from support.tiny_trainers import grpo_arguments
from transformers import AutoModelForCausalLM, AutoTokenizer

from paretopo.config import ConfigError, loads
from paretopo.integrations.trl import ParetoGRPOTrainer, ScriptSession
from paretopo.integrations.trl.script_rewards import check_rewards, split_reward
from paretopo.integrations.trl.train import train
from paretopo.records.folder import RunFolder
from paretopo.rewards.calls import Limits
from paretopo.rollout import BadRollout
from paretopo_lab.training.report import write_report

CAPITALS = {"Norway": "Oslo", "Peru": "Lima", "Ghana": "Accra"}
OPENING = '<call>{"name": "look_up", "arguments": {"country": "'
HINT = " Be brief"


class Atlas:
    """Answers one question, and numbers its instances, so that rollouts of a group differ."""

    made = itertools.count()

    def __init__(self):
        self.number = next(self.made)

    def reset(self, country, **_):
        """Begin with a question about a country, and complete its prompt."""
        self.looks, self.country = 0, country
        return HINT

    def look_up(self, country: str) -> str:
        """Look up a capital.

        Args:
            country: A country.

        Returns:
            Its name.
        """
        self.looks += country == self.country
        return CAPITALS[country]

    def _measure(self):
        return {"found": float(self.looks == 1), "even": float(self.number % 2 == 0)}


class Rewarding(Atlas):
    """Measures itself."""

    reward_components = ("found", "even")

    def get_reward(self):
        """Return both values."""
        return self._measure()


class Asynchronous(Atlas):
    """Measures itself, and a judge must be awaited."""

    reward_components: ClassVar = {"found": 1.0, "even": 1.0}

    async def get_reward(self):
        """Return both values."""
        return self._measure()


def found(environments, **_):
    return [one._measure()["found"] for one in environments]


def even(environments, **_):
    return [one._measure()["even"] for one in environments]


def both(environments, **_):
    return [one._measure() for one in environments]


both.reward_components = ["found", "even"]


def both_as_columns(environments, **_):
    return {name: [one._measure()[name] for one in environments] for name in ("found", "even")}


both_as_columns.reward_components = ["found", "even"]


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    """The folder of a policy that looks up each capital and then answers."""
    folder = tmp_path_factory.mktemp("policy")
    traces = [
        (
            [{"role": "user", "content": f"Capital of {country}?{HINT}"}],
            f'{OPENING}{country}"}}}}</call><|end|><|tool|>{city}<|end|><|assistant|>{city}',
        )
        for country, city in CAPITALS.items()
    ]
    save_memorised(folder, traces, phrases=[OPENING, '"}}</call>'])
    return folder


def ask(*countries):
    rows = [
        {"prompt": [{"role": "user", "content": f"Capital of {one}?"}], "country": one}
        for one in countries
    ]
    return Dataset.from_list(rows)


def make_trainer(policy, out, environment, functions=(), session=None, **settings):
    Atlas.made = itertools.count()
    defaults = {
        "per_device_train_batch_size": 8,
        "per_device_eval_batch_size": 2,
        "num_generations": 4,
        "num_generations_eval": 2,
        "max_completion_length": 48,
        "temperature": 0.01,
        "max_steps": 1,
        "eval_strategy": "steps",
        "eval_steps": 1,
        "logging_steps": 1,
    }
    return ParetoGRPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(policy),
        processing_class=AutoTokenizer.from_pretrained(policy),
        args=grpo_arguments(out, **defaults | settings),
        reward_funcs=list(functions),
        train_dataset=ask("Norway", "Peru"),
        eval_dataset=ask("Ghana"),
        environment_factory=environment,
        session=session or ScriptSession(gate="found"),
    )


@pytest.fixture(autouse=True)
def _silence(monkeypatch):
    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")


@pytest.mark.long
def test_components_train_as_plain_reward_functions_do(policy, tmp_path):
    ways = {
        "plain": (Atlas, [found, even]),
        "environment": (Rewarding, []),
        "awaited": (Asynchronous, []),
        "mappings": (Atlas, [both]),
        "columns": (Atlas, [both_as_columns]),
    }
    for name, (environment, functions) in ways.items():
        make_trainer(policy, tmp_path / name, environment, functions).train()
    expected = read_records(tmp_path / "plain")
    for name in ways:
        assert read_records(tmp_path / name) == expected, name
    assert [row["measured"] for row in expected["steps"]] == [{"found": 1.0, "even": 0.5}]
    [group, *_] = [one for one in expected["trajectories"] if not one["held_out"]]
    assert group["objectives"] == ["found", "even"]
    advantages = [one["advantage"] for one in group["rollouts"]]
    assert advantages[0] == advantages[2] > 0 > advantages[1] == advantages[3]
    # The tool ran, and the prompt is the one that the policy read.
    [first, *_] = group["rollouts"]
    assert [part["kind"] for part in first["segments"]] == ["call", "tool", "model"]
    assert group["prompt"].endswith("?" + HINT)


class Engine:
    """The calls of TRL to its engine; it has no weights until TRL sends them."""

    def __init__(self, vllm):
        self.model = copy.deepcopy(vllm.model)
        for weight in self.model.parameters():
            torch.nn.init.zeros_(weight)
        self.llm_engine = self.model_executor = self.driver_worker = self.model_runner = self
        self.model_config = SimpleNamespace(max_model_len=1024)
        self.model.load_weights = self.load_weights

    def load_weights(self, named):
        for name, weight in named:
            self.model.get_parameter(name).data.copy_(weight)

    def update_named_params(self, _, named):
        self.load_weights(named)

    def reset_prefix_cache(self):
        """Nothing is kept."""

    def get_server_info(self):
        return {"model_config": {"logprobs_mode": "processed_logprobs"}}

    def generate(self, prompts, sampling_params=None, n=1, **_):
        if sampling_params is None:
            said = [self._answer(ids) for ids in prompts for _ in range(n)]
            chances = [[[0.0] for _ in one] for one in said]
            return {"prompt_ids": prompts, "completion_ids": said, "logprobs": chances}
        answers = []
        for ids in (one["prompt_token_ids"] for one in prompts):
            said, chance = self._answer(ids), {0: SimpleNamespace(rank=1, logprob=0.0)}
            output = SimpleNamespace(token_ids=said, logprobs=[chance] * len(said))
            answers.append(SimpleNamespace(prompt_token_ids=ids, outputs=[output]))
        return answers

    def _answer(self, tokens):
        given = torch.tensor([tokens])
        whole = self.model.generate(
            given, attention_mask=torch.ones_like(given), max_new_tokens=48, do_sample=False
        )
        return whole[0, len(tokens) :].tolist()


def test_a_vllm_engine_plays_with_tools_and_the_newest_weights(policy, tmp_path, monkeypatch):
    from trl.generation import vllm_generation

    def start(vllm):
        vllm.llm = vllm.vllm_client = Engine(vllm)

    monkeypatch.setattr(vllm_generation.VLLMGeneration, "_init_vllm", start)
    monkeypatch.setattr(vllm_generation, "SamplingParams", SimpleNamespace, raising=False)
    for mode in ("plain", "server", "colocate"):
        engine = {} if mode == "plain" else {"use_vllm": True, "vllm_mode": mode}
        make_trainer(policy, tmp_path / mode, Rewarding, **engine).train()
        read = read_records(tmp_path / mode)
        assert [row["measured"] for row in read["steps"]] == [{"found": 1.0, "even": 0.5}]
        assert [row["step"] for row in read["evaluations"]] == [0, 1]
        segments = [one["segments"] for group in read["trajectories"] for one in group["rollouts"]]
        assert all([part["kind"] for part in one] == ["call", "tool", "model"] for one in segments)


def test_a_run_passes_its_options_to_vllm(tmp_path, monkeypatch):
    from trl.generation import vllm_generation

    engines = []

    def start(vllm):
        vllm.llm = Engine(vllm)
        engines.append((vllm, vllm.model.name_or_path))

    def sample(**given):
        temperatures.append(given["temperature"])
        return SimpleNamespace(**given)

    temperatures = []
    monkeypatch.setattr(vllm_generation.VLLMGeneration, "_init_vllm", start)
    monkeypatch.setattr(vllm_generation, "SamplingParams", sample, raising=False)
    small = """
        model.path = { name = "tiny", layers = 1, width = 32, heads = 1 }
        task.train = { name = "made up", prompts = 4, facts = 2 }
        warmup.steps = 0
        evaluation = { prompts = 2, temperature = 0.0 }
        optimiser = { steps = 1, prompts_per_step = 2, group_size = 2, temperature = 0.7 }
        trl.generation = "--use_vllm true --vllm_mode colocate --vllm_max_model_length 99"
    """
    run = RunFolder.create(tmp_path, loads(small))
    train(run.config, run)
    [(vllm, path)] = engines
    assert (vllm.mode, vllm.max_model_length, path) == (
        *("colocate", 99),
        str(run.checkpoints / "reference"),
    )
    assert (run.checkpoints / "reference" / "model.safetensors").is_file()
    assert [*dict.fromkeys(temperatures)] == [0.0, 0.7]  # evaluations, and training
    assert temperatures[-1] == 0.0
    assert vllm.temperature == 0.7


def test_weights_of_components_make_costs_and_leave_out_values(policy, tmp_path):
    class Weighted(Rewarding):
        reward_components: ClassVar = {"found": 0.5, "even": -0.25, "looks": 0.0}

        def get_reward(self):
            return {**self._measure(), "looks": self.looks}

    trainer = make_trainer(policy, tmp_path, Weighted)
    trainer.train()
    chosen = RunFolder.open(tmp_path).config.objectives
    assert [(one.name, one.better) for one in chosen] == [("found", "more"), ("even", "fewer")]
    assert [one.weight for one in chosen] == pytest.approx([2 / 3, 1 / 3])
    assert trainer.reward_func_names == ["found", "even", "looks"]
    assert trainer.reward_weights.tolist() == [0.5, -0.25, 0.0]
    assert any("rewards/looks/mean" in row for row in trainer.state.log_history)  # only recorded


def test_two_environments_each_measure_their_own(policy, tmp_path):
    class Other(Atlas):
        reward_components = ("odd",)

        def get_reward(self):
            return {"odd": float(self.number % 2)}

    trainer = make_trainer(
        policy, tmp_path, {"one": Rewarding, "two": Other}, session=ScriptSession(gate="none"),
    )  # fmt: skip
    rows = ask("Norway", "Peru").add_column("environment", ["one", "two"])
    trainer.train_dataset, trainer.eval_dataset = rows, rows.select([0])
    trainer.train()
    [step] = RunFolder.open(tmp_path).steps()
    assert step["applies"] == {"found": 4, "even": 4, "odd": 4}


class Exact(Rewarding):
    """Names the gate of a second suite, and shares one value with the first."""

    reward_components: ClassVar = {"accuracy": 1.0, "even": 1.0}

    def get_reward(self):
        """Return both values."""
        return {"accuracy": float(self.looks), "even": 0.25}


class Correct(Rewarding):
    """Names the gate of the first suite."""

    reward_components = ("correct", "even")

    def get_reward(self):
        """Return both values."""
        return {"correct": float(self.looks == 0), "even": float(self.number % 2)}


class AwaitedCorrect(Correct):
    """Must be awaited."""

    async def get_reward(self):
        """Return both values."""
        return Correct.get_reward(self)


BOTH = {"one": "correct", "two": "accuracy"}
TABLES = [{"name": "correct", "weight": 2}, {"name": "accuracy", "weight": 2}]
TABLES += [{"name": "even", "weight": 1}]


@pytest.mark.parametrize(
    ("first", "session"),
    [
        (Correct, {}),
        (
            AwaitedCorrect,
            {"gate": BOTH, "names": ["first", "second"], "config": {"objectives": TABLES}},
        ),
    ],
)
def test_suites_share_objectives_and_each_has_its_gate(policy, tmp_path, first, session, caplog):
    trainer = make_trainer(
        policy, tmp_path, {"one": first, "two": Exact}, session=ScriptSession(**session),
    )  # fmt: skip
    rows = ask("Norway", "Peru").add_column("environment", ["one", "two"])
    trainer.train_dataset = trainer.eval_dataset = rows
    trainer.train()
    run, gate = RunFolder.open(tmp_path), "correct_or_accuracy"
    assert trainer.reward_func_names == [gate, "even"]
    assert [(one.name, bool(one.gate)) for one in run.config.objectives] == [
        (gate, True),
        ("even", False),
    ]
    named = "'correct' and 'accuracy' decide whether a rollout solved its prompt" in caplog.text
    assert named == (session == {})
    [step] = run.steps()
    assert step["applies"] == {gate: 8, "even": 8}
    suites = run.evaluations()[0]["by_kind"]
    assert suites["one"]["measured"][gate] == suites["one"]["solved"] == 0.0
    assert suites["two"]["measured"] == {gate: 1.0, "even": 0.25}
    assert "| one: even |" in write_report([run]).read_text("utf-8")


@pytest.mark.parametrize(("hard", "solved"), [("waited", 0.0), ("none", None)])
def test_kinds_of_questions_have_gates_of_their_own(policy, tmp_path, hard, solved):
    def looked(environments, **_):
        return np.array([one.looks for one in environments], np.float64)

    async def waited(environments, **_):
        return [-1.0 for _ in environments]

    session = ScriptSession(gate={"easy": "looked", "hard": hard})
    trainer = make_trainer(policy, tmp_path, Atlas, [looked, waited], session)
    trainer.train_dataset = trainer.eval_dataset = ask("Norway", "Peru").add_column(
        "kind", ["easy", "hard"]
    )
    trainer.train()
    suites = RunFolder.open(tmp_path).evaluations()[-1]["by_kind"]
    assert [suites[kind]["solved"] for kind in ("easy", "hard")] == [1.0, solved]


@pytest.mark.parametrize(
    ("environments", "session", "message"),
    [
        (
            {"one": Correct, "two": type("Other", (Exact,), {"reward_components": {"even": 2.0}})},
            {"gate": "none"},
            "Correct and Other give 'even' different weights, 1 and 2",
        ),
        (
            {
                "one": Correct,
                "two": type("Light", (Exact,), {"reward_components": {"accuracy": 2}}),
            },
            {"gate": BOTH},
            r"the gates correct, accuracy are one objective, .* same weight, got \[1.0, 2.0\]",
        ),
        (
            {"one": Correct, "two": Exact},
            {"gate": BOTH, "config": {"objectives": [*TABLES[1:], {"name": "correct"}]}},
            "give their tables the same keys",
        ),
    ],
)
def test_suites_that_disagree_are_refused(policy, tmp_path, environments, session, message):
    with pytest.raises(ConfigError, match=message):
        make_trainer(policy, tmp_path, environments, session=ScriptSession(**session))


def test_a_question_of_an_unknown_suite_is_named(policy, tmp_path):
    session = ScriptSession(gate={"easy": "found"})
    trainer = make_trainer(policy, tmp_path, Atlas, [found], session)
    with pytest.raises(BadRollout, match=r"no entry for the suite of prompt .*, got none: .* easy"):
        trainer.train()


def test_undeclared_components_need_a_declaration_or_a_table(policy, tmp_path):
    class Undeclared(Atlas):
        def get_reward(self):
            return self._measure()

    session = ScriptSession(gate="none")
    trainer = make_trainer(policy, tmp_path, Undeclared, session=session)
    with pytest.raises(BadRollout, match=r"Undeclared\.reward_components = \['found', 'even'\]"):
        trainer.train()
    tables = [
        {"name": one, "function": "Undeclared", "low": 0, "high": 1} for one in ("found", "even")
    ]
    session = ScriptSession({"objectives": tables}, gate="found")
    trainer = make_trainer(policy, tmp_path / "named", Undeclared, session=session)
    assert trainer.reward_func_names == ["found", "even"]


@pytest.mark.parametrize("declared", [(), "found", 3, [1]])
def test_a_declaration_that_names_nothing_is_refused(policy, tmp_path, declared):
    class Wrong(Rewarding):
        reward_components = declared

    with pytest.raises(ConfigError, match=r"Wrong\.reward_components must be names"):
        make_trainer(policy, tmp_path, Wrong, session=ScriptSession(gate="none"))


def test_a_retry_calls_an_asynchronous_function_with_several_values_again(monkeypatch):
    monkeypatch.setattr(Limits, "wait_before", lambda *_: 0.0)
    attempts = []

    async def judged(prompts, completions):
        attempts.append(completions)
        await asyncio.sleep(0)
        if len(attempts) == 1:
            raise ConnectionError("503")
        return [{"kind": 0.25, "short": 1.0}]

    names = ["kind", "short"]
    parts = split_reward(judged, "judged", names)
    trainer = SimpleNamespace(reward_funcs=parts, reward_func_names=names, values={}, failed=set())
    check_rewards(trainer, Limits(retries=1))
    batch = ["yes"]

    async def measure():
        return await asyncio.gather(
            *(one(prompts=["?"], completions=batch) for one in trainer.reward_funcs)
        )

    assert asyncio.run(measure()) == [[0.25], [1.0]]
    assert trainer.values == {0: [0.25], 1: [1.0]}
    assert len(attempts) == 2  # both values come from one more call
