"""A user's own script on TRL: its session records, evaluates and resumes."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl")

from support.scripts import TABLE, digits, even, make_trainer, watched
from transformers import EarlyStoppingCallback, TrainerCallback

from paretopo.cli import main
from paretopo.config import ConfigError
from paretopo.controller.by_group import advantages_by_group
from paretopo.integrations.trl import ScriptSession
from paretopo.records.folder import RunFolder
from paretopo.rollout import BadRollout
from paretopo_lab.training.report import write_report

# ---- records ---------------------------------------------------------------------------------


class Watch(ScriptSession):
    """Keeps the rollouts of each evaluation."""

    def open(self, steps):
        super().open(steps)
        self.seen, session = [], self._trainer.session
        observe = session.observe

        def watch(step, rollouts, seconds=None):
            self.seen.append(rollouts)
            return observe(step, rollouts, seconds)

        session.observe = watch


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A trainer after its training; its records are in `args.output_dir`."""
    folder = tmp_path_factory.mktemp("trained")
    session = Watch(TABLE, method="gdpo")
    trainer = make_trainer(folder, session=session, save_strategy="steps", save_steps=2)
    trainer.train()
    return trainer


@pytest.fixture
def copy(trained, tmp_path):
    """A copy of the records and checkpoints."""
    return shutil.copytree(trained.args.output_dir, tmp_path / "copy")


def test_the_records_are_those_of_any_run(trained, capsys):
    trainer, folder = trained, Path(trained.args.output_dir)
    run = RunFolder.open(folder)
    steps, evaluations = run.steps(), run.evaluations()
    assert [row["step"] for row in steps] == [1, 2, 3, 4]
    assert [row["step"] for row in evaluations] == [0, 2, 4]
    assert [row["phase"] for row in evaluations] == ["pretrained", "train", "final"]
    names = ["digits", "tokens", "even"]
    for row in [*steps, *evaluations]:
        assert list(row["measured"]) == list(row["rewards"]) == names
        assert row["measured"]["tokens"] == pytest.approx(row["response_tokens"])
    assert all(row["loss"] is not None and row["learning_rate"] > 0 for row in steps)
    for row in evaluations:
        assert list(row["by_kind"]) == ["even", "odd"]
    assert run.config.paretopo.stage2_estimator == "gdpo"
    assert run.config.optimiser.steps == 4
    assert (run.config.optimiser.prompts_per_step, run.config.optimiser.group_size) == (2, 4)
    written = tomllib.loads((folder / "config.toml").read_text(encoding="utf-8"))
    assert not {"task", "tool", "preference"} & written.keys()  # a script has none of these
    assert written["evaluation"]["temperature"] == trainer.args.temperature
    assert "timeout" not in written["rewards"]
    assert main(["evaluate", str(folder)]) == 2
    assert "give the folder of a checkpoint" in capsys.readouterr().err
    assert "resume_from_checkpoint" in run.manifest["script"]
    assert run.manifest["status"] == "finished"
    groups = list(run.trajectories())
    assert {len(group.rollouts) for group in groups if not group.held_out} == {4}
    assert all(one.prompt for group in groups for one in group.rollouts)
    assert ", seed 42" in write_report([run]).read_text(encoding="utf-8")
    assert sorted(path.name for path in folder.glob("checkpoint-*")) == [
        "checkpoint-2",
        "checkpoint-4",
    ]


@pytest.mark.parametrize(
    ("settings", "every", "steps", "told"),
    [
        ({"eval_strategy": "no"}, None, [0, 4], "step and after the last"),
        ({"eval_strategy": "no"}, 3, [0, 3, 4], "step, every 3 steps and after the last"),
        ({"eval_steps": 3}, 1, [0, 3, 4], "step, every 3 steps and after the last"),
        ({"eval_steps": 0.5}, None, [0, 2, 4], "step, every 2 steps and after the last"),
    ],
)
def test_evaluations_follow_the_schedule_and_tell_their_price(
    tmp_path, caplog, settings, every, steps, told
):
    table = TABLE if every is None else TABLE | {"evaluation": {"every": every}}
    trainer = make_trainer(tmp_path, table, **settings)
    trainer.train()
    assert [row["step"] for row in RunFolder.open(tmp_path).evaluations()] == steps
    assert f"generates 5 questions x 2 completions = 10: before the first {told}" in caplog.text
    assert trainer.args.eval_on_start is False


def test_each_question_is_evaluated_as_often_as_trl_samples_it(trained):
    assert len(trained.script.seen) == 3
    for rollouts in trained.script.seen:
        names = [one.prompt_id for one in rollouts]
        assert sorted(set(names)) == [f"{20 + i}+1=" for i in range(5)]
        assert len(names) == 10
        assert all(one.held_out for one in rollouts)


def test_a_reward_that_does_not_apply_is_missing_not_zero(trained):
    groups = RunFolder.open(trained.args.output_dir).trajectories()
    rollouts = [one for group in groups for one in group.rollouts]
    values = {one.reward_components["even"] for one in rollouts}
    assert None in values
    for one in rollouts:
        assert (one.reward_components["even"] is None) == (one.reward_components["digits"] == 0.0)


@pytest.mark.parametrize("method", [None, pytest.param("trl", marks=pytest.mark.long)])
@pytest.mark.parametrize("judges", ["some rollouts", "a question", "none"])
def test_a_gate_of_none_skips_a_rollout_and_frees_a_prompt(tmp_path, judges, method, caplog):
    def correct(prompts, completions, **_):
        known = {
            "some rollouts": [at % 3 > 0 for at, _ in enumerate(prompts)],
            "a question": [prompt != prompts[0] for prompt in prompts],
            "none": [len(prompts[0]) == 5] * len(prompts),  # held-out questions
        }[judges]
        pairs = zip(digits(completions), known, strict=True)
        return [value if judged else None for value, judged in pairs]

    sizes = {"num_generations_eval": 4, "max_steps": 2}
    trainer = make_trainer(tmp_path, {}, (correct, watched), method=method, **sizes)
    compute, steps = trainer.compute_advantages, []

    def keep(points):
        found = compute(points).ravel()
        steps.append((found, trainer._theirs.numpy(), trainer.rewards, trainer.prompt_names))
        return found.reshape(-1, points)

    trainer.compute_advantages = keep
    trainer.train()
    run, state = RunFolder.open(tmp_path), None
    for row, (found, theirs, rewards, prompts) in zip(run.steps(), steps, strict=True):
        known = ~np.isnan(rewards[:, 0])
        judged = {name for name, one in zip(prompts, known, strict=True) if one}
        counted = known | [name not in judged for name in prompts]
        assert (row["rollouts"], row["applies"]["watched"]) == (counted.sum(),) * 2
        assert row["solved"] == (rewards[known, 0].mean() if known.any() else None)
        if method == "trl":
            np.testing.assert_array_equal(found, theirs)
            continue
        vectors = np.where(np.isnan(rewards), None, rewards)[counted]
        names, switches = np.array(prompts)[counted], run.config.paretopo
        expected, state = advantages_by_group(vectors, names, switches, state)
        np.testing.assert_allclose(found[counted], expected, atol=1e-9)
        assert not found[~counted].any()
    assert any(np.any(found) for found, *_ in steps)
    told = "such prompts train on the other rewards" in caplog.text
    assert told == (judges != "some rollouts" and method is None)
    counted = 12 if judges == "some rollouts" else 20
    assert {row["rollouts"] for row in run.evaluations()} == {counted}


def test_a_gate_that_skips_all_held_out_rollouts_is_named(tmp_path):
    def correct(prompts, **_):
        return [1.0 if len(prompt) == 4 else None for prompt in prompts]  # trained questions

    trainer = make_trainer(tmp_path, {}, (correct, watched))
    with pytest.raises(BadRollout, match=r"gate 'correct' is None for all 10 held-out .* none"):
        trainer.train()


def brief(completions, **_):
    return [len(text) / 2 for text in completions]


def test_a_negative_weight_is_a_cost_as_on_trl(tmp_path):
    trainer = make_trainer(
        tmp_path,
        functions=(digits, brief),
        session=ScriptSession(gate="digits"),
        reward_weights=[1.0, -0.25],
        max_steps=1,
    )
    trainer.train()
    run = RunFolder.open(tmp_path)
    cost = run.config.objective("brief")
    assert (cost.better, cost.economy, cost.weight) == ("fewer", "raw", 0.2)
    rollouts = [one for group in run.trajectories() for one in group.rollouts]
    assert any(one.reward_components["brief"] > 0.0 for one in rollouts)
    assert all(one.rewards[1] == -one.reward_components["brief"] for one in rollouts)


CALLS = []


def judge(completions, **_):
    CALLS.append(len(completions))
    return [{"digits": digits([text])[0], "even": even([text])[0]} for text in completions]


class Panel:
    """Measure two objectives, asynchronously."""

    async def __call__(self, completions, **_):
        CALLS.append(len(completions))
        await asyncio.sleep(0)
        return {"digits": digits(completions), "even": even(completions)}


@pytest.mark.parametrize("function", [judge, Panel()])
def test_functions_are_named_and_may_measure_several_objectives(tmp_path, function):
    CALLS.clear()
    tables = [
        one | ({} if one["name"] == "tokens" else {"function": "judged"})
        for one in TABLE["objectives"]
    ]
    trainer = make_trainer(
        tmp_path,
        functions=(function, lambda completions, **_: [0.5] * len(completions)),
        session=ScriptSession({"objectives": tables}, names=["judged", "watched"]),
        reward_weights=[1.0, 0.0],
        max_steps=1,
        seed=1,
    )
    trainer.train()
    assert trainer.reward_func_names == ["digits", "even", "watched"]
    assert CALLS == [8, 2, 8, 8, 2]  # once for each batch
    values = [
        one.reward_components for g in RunFolder.open(tmp_path).trajectories() for one in g.rollouts
    ]
    assert {one["even"] is None for one in values} == {True, False}


def test_a_failing_function_can_be_left_out(tmp_path, caplog):
    def even(completions, **_):
        raise ConnectionError("503")

    table = TABLE | {"rewards": {"failing": "skip"}}
    trainer = make_trainer(tmp_path, table, functions=(digits, even), max_steps=1)
    trainer.train()
    run = RunFolder.open(tmp_path)
    assert run.steps()[0]["measured"]["even"] is None
    assert run.steps()[0]["skipped_rewards"] == 8
    assert [row["skipped_rewards"] for row in run.evaluations()] == [10, 10]
    assert "ConnectionError: 503: even does not apply to these rollouts" in caplog.text


def short(completions, **_):
    return [-1.0 - len(text) for text in completions]


@pytest.mark.filterwarnings("error:the held-out outcome")
@pytest.mark.parametrize("table", [None, {"objectives": [{"name": "digits"}, {"name": "short"}]}])
def test_a_length_reward_of_ones_own_gains_hypervolume_at_once(tmp_path, table, caplog):
    session = ScriptSession(table, gate="digits")
    trainer = make_trainer(tmp_path, functions=(digits, short), session=session, max_steps=1)
    trainer.train()
    run = RunFolder.open(tmp_path)
    [first, *_] = run.evaluations()
    assert first["hypervolume"] > 0.0
    groups = [group for group in run.trajectories() if group.held_out and group.step == 0]
    shown = [one.reward_components["short"] for group in groups for one in group.rollouts]
    assert trainer.controller.reference.tolist()[0] == 0.0
    assert trainer.controller.reference[1] <= min(shown)
    assert f"paretopo report {tmp_path}\nparetopo show {tmp_path}" in caplog.text


def test_unlogged_steps_are_recorded_without_loss(tmp_path):
    with pytest.warns(UserWarning, match="there is no eval_dataset: nothing is evaluated"):
        trainer = make_trainer(tmp_path, logging_steps=3, eval_strategy="no", held_out=None)
    trainer.train()
    rows = RunFolder.open(tmp_path).steps()
    assert [row["step"] for row in rows] == [1, 2, 3, 4]
    assert ["loss" in row for row in rows] == [False, False, True, False]
    assert all(row["seconds"] > 0 for row in rows)


def test_updates_of_one_generation_share_a_step(tmp_path):
    trainer = make_trainer(
        tmp_path,
        num_iterations=2,
        max_steps=6,
        eval_steps=3,
        save_strategy="steps",
        save_steps=3,
        method="paper",
    )
    trainer.train()
    run = RunFolder.open(tmp_path)
    rows = run.steps()
    assert [row["step"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert ["rank_histogram" in row for row in rows] == [True, False] * 3
    assert trainer.controller.steps_taken == 3
    assert {group.step for group in run.trajectories() if not group.held_out} == {1, 3, 5}
    # A checkpoint in the middle of a generation could not be gone on from.
    assert sorted(path.parent.name for path in tmp_path.glob("*/complete")) == [
        "checkpoint-4",
        "checkpoint-6",
    ]


def test_epochs_and_asynchronous_rewards(tmp_path, caplog):
    async def slow(completions, **_):
        await asyncio.sleep(0)
        return [float(len(text) % 3) for text in completions]

    graded = {"name": "slow", "high": 2, "economy": "saving"}
    table = {"objectives": [{"name": "digits", "gate": True}, graded]}
    trainer = make_trainer(
        tmp_path,
        table,
        (digits, slow),
        max_steps=-1,
        num_train_epochs=2,
        eval_strategy="epoch",
        save_strategy="epoch",
    )
    trainer.train()
    run = RunFolder.open(tmp_path)
    assert "10: before the first step, after every epoch and after" in caplog.text
    assert run.config.optimiser.steps == 6  # three of two prompts in each
    assert [row["step"] for row in run.evaluations()] == [0, 3, 6]
    assert len(list(tmp_path.glob("*/complete"))) == 2


HYPERVOLUME, DIGITS = "eval_paretopo/outcome_hypervolume", "paretopo/measured/digits"


def test_early_stopping_reads_the_hypervolume_among_the_logs(tmp_path, caplog):
    stop = EarlyStoppingCallback(early_stopping_patience=1, early_stopping_threshold=100.0)
    trainer = make_trainer(
        tmp_path,
        save_strategy="steps",
        save_steps=2,
        load_best_model_at_end=True,
        metric_for_best_model=HYPERVOLUME,
        greater_is_better=True,
        max_steps=8,
        callbacks=[stop],
    )
    trainer.train()
    assert "early stopping is disabled" not in caplog.text
    assert trainer.state.global_step == 4  # no gain of 100 between steps 2 and 4
    logs = trainer.state.log_history
    reached = {row["step"]: row[HYPERVOLUME] for row in logs if HYPERVOLUME in row}
    assert [*reached] == [0, 2, 4]
    assert trainer.state.best_metric == max(reached[2], reached[4])
    run = RunFolder.open(tmp_path)
    kept = [row["measured"]["digits"] for row in run.steps()]
    logged = [row[DIGITS] for row in logs if DIGITS in row]
    assert logged == pytest.approx(kept)
    assert [row["step"] for row in run.evaluations()] == [0, 2, 4]
    assert run.manifest["status"] == "stopped"
    way = "Go on with trainer.train(resume_from_checkpoint=True)."
    assert f"The run has stopped. {way} See its records with:" in caplog.text


# ---- resumption ------------------------------------------------------------------------------


def test_a_run_can_be_made_longer(tmp_path, monkeypatch, caplog):
    seen = []

    def keep(_self, args, *_, **__):
        seen.append({one: os.environ.get(one) for one in ("WANDB_RUN_ID", "WANDB_RESUME")})

    monkeypatch.setattr(TrainerCallback, "on_train_begin", keep)
    trainer = make_trainer(tmp_path, save_strategy="steps", save_steps=2)
    trainer.args.report_to = ["wandb"]
    trainer.train()
    assert "resumes" not in caplog.text
    longer = make_trainer(tmp_path, save_strategy="steps", save_steps=2, max_steps=6)
    longer.args.report_to = ["wandb"]
    longer.train(resume_from_checkpoint=True)
    assert f"Training resumes after step 4, from {tmp_path / 'checkpoint-4'}" in caplog.text
    name = RunFolder.open(tmp_path).manifest["wandb"]
    assert seen[0] == seen[-1] == {"WANDB_RUN_ID": name, "WANDB_RESUME": "allow"}
    assert "WANDB_RUN_ID" not in os.environ
    run = RunFolder.open(tmp_path)
    assert [row["step"] for row in run.steps()] == [1, 2, 3, 4, 5, 6]
    assert [row["step"] for row in run.evaluations()] == [0, 2, 4, 6]
    assert run.config.optimiser.steps == 6


def test_records_are_never_written_over(copy):
    before = RunFolder.open(copy).steps()
    with pytest.raises(ConfigError, match="holds the records of a run: resume it"):
        make_trainer(copy, max_steps=1).train()
    assert RunFolder.open(copy).steps() == before


def test_only_the_same_run_is_resumed(copy, tmp_path):
    other = make_trainer(copy, method="gd2po", save_strategy="steps", save_steps=2, max_steps=6)
    with pytest.raises(ConfigError, match=r"other values of paretopo\.stage2_estimator, "):
        other.train(resume_from_checkpoint=True)
    foreign = tmp_path / "elsewhere" / "checkpoint-7"
    foreign.mkdir(parents=True)
    with pytest.raises(
        ConfigError, match=r"checkpoint-7 is not a complete checkpoint .* steps \[\]"
    ):
        make_trainer(copy).train(resume_from_checkpoint=str(foreign))
    with pytest.raises(ConfigError, match=r"checkpoints in .* are not a ScriptSession's"):
        make_trainer(foreign.parent).train(resume_from_checkpoint=True)
    assert foreign.is_dir()  # TRL's own are never removed


# ---- several processes -----------------------------------------------------------------------

TWO = """
import sys
sys.path[:0] = sys.argv[2:]
from support.scripts import make_trainer
trainer = make_trainer(sys.argv[1], per_device_train_batch_size=4, per_device_eval_batch_size=4)
trainer.train()
"""


@pytest.mark.long
def test_two_processes_record_once_and_each_question_once(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    script = tmp_path / "two.py"
    script.write_text(TWO, encoding="utf-8")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2"),
            *(f"--master-port={port}", str(script), str(tmp_path / "out")),
            str(Path(__file__).parents[2]),
        ],
        capture_output=True,
        text=True,
        check=False,
        # On the CPU: each process would need a GPU of its own.
        env={**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    run = RunFolder.open(tmp_path / "out")
    assert [row["step"] for row in run.steps()] == [1, 2, 3, 4]
    assert [(row["step"], row["rollouts"]) for row in run.evaluations()] == [
        (step, 10)
        for step in (0, 2, 4)  # 16 in the batches of both processes
    ]
    assert run.config.optimiser.prompts_per_step == 2
    assert run.config.optimiser.steps == 4
    assert np.isfinite([row["loss"] for row in run.steps()]).all()
