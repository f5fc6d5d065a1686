"""A user's own script on TRL: wrong settings and arguments are refused, broken rewards named."""

from __future__ import annotations

import asyncio
import re
import time

import pytest

pytest.importorskip("torch")
pytest.importorskip("trl")

from datasets import Dataset, IterableDataset
from support import scripts
from support.scripts import TABLE, digits, make_trainer, questions
from support.tiny_trainers import grpo_arguments, tiny_policy

from paretopo.config import ConfigError, ParetoPOConfig
from paretopo.integrations.trl import ControllerTrainer, ParetoGRPOTrainer, ScriptSession
from paretopo.records.folder import RunFolder
from paretopo.rollout import BadRollout

REFUSED = [
    ({"objectives": [{"name": "digit"}, {"name": "even"}]}, {}, "did you mean 'digits'"),
    ({"objectives": [{"name": "digits"}]}, {}, "function 'even' is not an objective"),
    (TABLE, {"functions": (digits, lambda **_: [0.0])}, r"<lambda>.*: give each function one"),
    (TABLE, {"gradient_accumulation_steps": 4, "steps_per_generation": 2}, "got 2 .* 1 and 4"),
    (TABLE, {"method": "gdpoo"}, "did you mean 'gdpo'"),
    (TABLE, {"method": "otc_grpo"}, "there is no objective 'calls' to set"),
    (TABLE | {"rewards": {"file": "rewards.py"}}, {}, "rewards.file is for paretopo train"),
    (TABLE | {"trl": {"generation": "--use_vllm true"}}, {}, "a script's own arguments choose"),
    (TABLE | {"run": {"tensorboard": True}}, {}, r"run\.tensorboard .* GRPOConfig.report_to"),
    ("nowhere.toml", {}, "no configuration file at nowhere.toml"),
    (TABLE | {"optimizer": {}}, {}, "unknown key optimizer; did you mean 'optimiser'"),
]


@pytest.mark.parametrize(("table", "settings", "message"), REFUSED)
def test_unsuitable_settings_are_refused_before_training(tmp_path, table, settings, message):
    with pytest.raises(ConfigError, match=message):
        make_trainer(tmp_path, table, **settings)
    assert not (tmp_path / "config.toml").exists()


def test_held_out_questions_are_one_data_set(tmp_path):
    for held_out in (
        {"a": Dataset.from_list(questions(2))},
        IterableDataset.from_generator(lambda: iter(questions(2))),
    ):
        with pytest.raises(ConfigError, match="eval_dataset must be one data set with a length"):
            make_trainer(tmp_path, held_out=held_out)
    with pytest.warns(UserWarning, match="there is no eval_dataset: nothing is evaluated"):
        make_trainer(tmp_path, held_out=None, eval_strategy="no")


def test_held_out_prompts_that_are_trained_on_are_named(tmp_path):
    with pytest.warns(UserWarning, match="2 of the 3 prompts of eval_dataset are also trained on"):
        make_trainer(tmp_path, held_out=Dataset.from_list(questions(3, start=4)))


def test_a_trainer_without_a_session_makes_its_own(tmp_path):
    with pytest.warns(UserWarning, match="training has no gate") as warned:
        trainer = make_trainer(tmp_path, None, max_steps=1)
    assert {one.filename for one in warned if "gate" in str(one.message)} == {scripts.__file__}
    assert [one.name for one in trainer.script.run.config.objectives] == ["digits", "even"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ScriptSession(metho="trl"), "has no argument 'metho': did you mean method=?"),
        (lambda: ScriptSession(beta=0.1), "pass args=GRPOConfig(beta=...)"),
        (lambda: ScriptSession(objectives=[]), 'pass session=ScriptSession({"objectives": ...})'),
        (lambda: ScriptSession(eval_dataset=[]), "pass eval_dataset= to ParetoGRPOTrainer"),
        (lambda: ScriptSession(zzz=1), "it has config, gate, threshold, names, method, overrides"),
        (lambda: ScriptSession({}, "digits"), "ScriptSession(): too many positional arguments; p"),
        *(
            (lambda one=one: ScriptSession(**one), f"{next(iter(one))} must be given as ")
            for one in (
                {"config": [1]},
                {"gate": digits},
                {"names": "digits"},
                {"method": 1},
                {"overrides": [1]},
            )
        ),
        (lambda: ParetoGRPOTrainer(method="gdpo"), "pass session=ScriptSession(method=...)"),
        (lambda: ParetoGRPOTrainer(metho="gdpo"), "did you mean session=ScriptSession(method=."),
        (lambda: ParetoGRPOTrainer(session=TABLE), "session must be given as a ScriptSession("),
        (lambda: ParetoGRPOTrainer(controller=1), "pass controller= to ControllerTrainer"),
        (lambda: ControllerTrainer(controller=ParetoPOConfig()), "controller must be given as a"),
    ],
)
def test_a_wrong_argument_is_explained(call, message):
    with pytest.raises((TypeError, ConfigError), match=re.escape(message)):
        call()


def test_evaluation_temperature_must_not_be_negative(tmp_path):
    with pytest.raises(ValueError, match=r"evaluation_temperature must be at least 0, got -1"):
        ParetoGRPOTrainer(
            args=grpo_arguments(tmp_path),
            reward_funcs=[digits],
            train_dataset=Dataset.from_list(questions(6)),
            **tiny_policy("a b"),
            evaluation_temperature=-1,
        )


def test_a_session_serves_one_trainer(tmp_path):
    session = ScriptSession(TABLE)
    make_trainer(tmp_path, session=session)
    with pytest.raises(ValueError, match="a ScriptSession serves one trainer"):
        make_trainer(tmp_path, session=session)


def rename(function, name):
    def renamed(**columns):
        return function(**columns)

    renamed.__name__ = name
    return renamed


def fail(completions, **_):
    raise ZeroDivisionError("oh")


async def own_limit(completions, **_):
    raise TimeoutError("theirs")


@pytest.mark.parametrize(
    ("broken", "complaint"),
    [
        (fail, "failed on prompt '2..1=' and 3 more: ZeroDivisionError: oh"),
        (own_limit, "failed on prompt '2..1=' and 3 more: TimeoutError: theirs"),
        pytest.param(
            lambda **_: time.sleep(60),
            "hung on prompt '2..1=' and 3 more: .* = 5 seconds",
            marks=pytest.mark.long,
        ),
    ],
)
def test_a_reward_that_breaks_names_itself_and_prompts(tmp_path, broken, complaint):
    if asyncio.iscoroutinefunction(broken):

        async def even(**columns):
            return await broken(**columns)
    else:
        even = rename(broken, "even")
    table = TABLE | {"rewards": {"timeout": 5}}
    with pytest.raises(BadRollout, match=f"the reward 'even' .*{complaint}"):
        make_trainer(tmp_path, table, functions=(digits, even)).train()
    manifest = RunFolder.open(tmp_path).manifest
    assert manifest["status"] == "failed"
    assert manifest["error"].startswith("BadRollout: the reward 'even'")
