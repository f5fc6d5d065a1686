"""The real verl on a CPU: Ray, TransferQueue, agent loops, FSDP, with a tiny policy.

Skipped where verl is not installed; `scripts/test_verl_cpu.sh` runs it in its own environment,
after `scripts/install_verl_cpu.sh`. docs/rehearsal.md lists the parts that replace a GPU.
"""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

if importlib.util.find_spec("verl") is None:
    pytest.skip("verl is not installed", allow_module_level=True)
pytest.importorskip("psutil")

from support.rehearsals import (
    environment,
    kill_all,
    make_steerable_questions,
    output,
    wait_for,
)
from support.step_records import check_cosine, check_limit

from paretopo.controller.estimators import ESTIMATORS
from paretopo.records.folder import RunFolder
from paretopo.tasks.choice import make_task

pytestmark = pytest.mark.timeout(2400)
ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "own_rewards" / "train.toml"
TRAIN = [
    *("--backend", "verl", "--rehearse", "--set", "warmup.steps=10"),
    *("--set", "paretopo.stage1_steps=2", "--set", "paretopo.stage1_estimator=rloo"),
    *("--set", "paretopo.stage2_estimator=dr_grpo", "--set", "objectives.routed.high=1"),
    *("--set", "run.checkpoint_every=1", "--set", "evaluation.every=1"),
    *("--set", "optimiser.learning_rate_schedule=cosine"),
]
LIMIT = 16  # mean tokens


def start(folder, *words):
    """Train in a process of its own, with its output in a file."""
    with (folder / "log").open("a", encoding="utf-8") as log:
        return subprocess.Popen(
            [sys.executable, *words], stdout=log, stderr=subprocess.STDOUT, text=True,
            env=environment() | {"RAY_AUTH_MODE": "disabled"}, cwd=ROOT,
        )  # fmt: skip


def rehearse(folder, example, *words):
    """Train to the end of two steps; the run."""
    command = ["-m", "paretopo", "train", example, "--steps", "2", "--backend", "verl"]
    more = ["--rehearse", "--set", "warmup.steps=60", "--set", "evaluation.prompts=8"]
    process = start(folder, *command, *more, *words, "--out", str(folder / "runs"))
    log = RunFolder(folder, None)
    try:
        assert process.wait(1500) == 0, output(log)[-6000:]
    finally:
        kill_all(process)
    assert "the queue got the controller's advantages" in output(log)
    return RunFolder.open(next((folder / "runs").iterdir()))


def test_the_plug_in_is_found_and_every_estimator_can_be_chosen():
    finished = subprocess.run(
        [
            *(sys.executable, "-c"),
            "import verl, json\n"
            "from verl.trainer.ppo.v1 import get_trainer_cls\n"
            "from verl.trainer.ppo.core_algos import ADV_ESTIMATOR_REGISTRY as known\n"
            "names = [get_trainer_cls(f'paretopo_{n}').__name__ for n in "
            "('sync', 'colocate_async')]\n"
            "print(json.dumps([names, sorted(known)]))\n",
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    trainers, estimators = json.loads(finished.stdout.splitlines()[-1])
    assert trainers == ["ParetoPPOTrainerSync", "ParetoPPOTrainerColocateAsync"]
    assert {"paretopo", *(f"paretopo_{name}" for name in ESTIMATORS)} <= set(estimators)


def test_failing_plugin_is_reported(tmp_path):
    broken = tmp_path / "transfer_queue.py"
    broken.write_text("raise ImportError('broken on purpose')")
    finished = subprocess.run(
        [sys.executable, "-c", "import verl"],
        capture_output=True,
        text=True,
        env=environment() | {"PYTHONPATH": str(tmp_path)},
    )
    assert "paretopo: the plug-in for verl failed" in finished.stderr
    assert "broken on purpose" in finished.stderr


def test_a_run_killed_and_resumed_crosses_both_stages(tmp_path):
    """Four objectives, one limited; each step compares the queue's advantages."""
    limited = tmp_path / "limited.toml"
    text, name, rest = EXAMPLE.read_text(encoding="utf-8").partition('name = "tokens"')
    rest = rest.replace("weight = 0.2", f"limit = {LIMIT}", 1)
    limited.write_text(text + name + rest, encoding="utf-8")
    words = ["-m", "paretopo", "train", str(limited), *TRAIN, "--out", str(tmp_path / "runs")]
    process = start(tmp_path, *words)
    latest = "checkpoints/latest_checkpointed_iteration.txt"
    try:
        log = RunFolder(tmp_path, None)
        wait_for(lambda: list(tmp_path.glob(f"runs/*/{latest}")), process, log, 1000)
    finally:
        kill_all(process)
    run = RunFolder.open(next((tmp_path / "runs").iterdir()))
    done = int((run.path / latest).read_text())
    assert 1 <= done < 4
    state = json.loads((run.checkpoints / f"global_step_{done}" / "paretopo.json").read_text())
    before = [row for row in run.steps() if row["step"] <= done]
    known = run.evaluations()[: state["evaluations"]]

    process = start(tmp_path, "-m", "paretopo", "train", "--resume", str(run.path), "--trust")
    try:
        assert process.wait(1000) == 0, output(log)[-6000:]
    finally:
        kill_all(process)
    assert "the queue got the controller's advantages: 64 rollouts" in output(log)
    assert run.manifest["status"] == "finished"
    assert run.manifest["resumed"][0]["from_step"] == done
    steps, evaluations = run.steps(), run.evaluations()
    assert steps[:done] == before
    assert [row["stage"] for row in steps] == [1, 1, 2, 2]
    assert [row["step"] for row in evaluations] == [0, 1, 2, 3, 4]
    assert evaluations[: len(known)] == known
    assert set(steps[0]["measured"]) == {"routed", "polite", "greets", "tokens"}
    [multiplier] = state["controller"]["limits"]["values"]
    assert steps[done]["limits"]["tokens"]["multiplier"] == multiplier
    check_cosine(steps, run.config.optimiser.learning_rate)
    check_limit(steps, "tokens", LIMIT, {"routed": 0.625, "polite": 0.1875, "greets": 0.1875})
    lines = (run.path / "rehearsal.jsonl").read_text().splitlines()
    proofs = {row["step"]: row for row in map(json.loads, lines)}
    assert {step: row["stage"] for step, row in proofs.items()} == {1: 1, 2: 1, 3: 2, 4: 2}
    assert all(row["rollouts"] == 16 for row in proofs.values())
    taught = {step for step, row in proofs.items() if row["not_zero"] > 0}
    assert taught, "no group had two different rollouts"
    assert {row["step"] for row in steps if row["grad_norm"] > 0} == taught
    assert all(row["loss"] is not None for row in steps)
    assert (run.model / "model.safetensors").exists()
    groups = list(run.trajectories())
    assert {group.held_out for group in groups} == {True, False}
    # A response of one token is only its end.
    assert all(one.segments or one.tokens == 1 for group in groups for one in group.rollouts)
    assert (run.report / "report.md").exists()


def test_a_task_with_a_tool_is_rehearsed_as_it_stands(tmp_path):
    """The calculator: turns, results between them, and both stages in two steps."""
    stages = ["--set", "paretopo.stage1_steps=1", "--set", "paretopo.stage2_estimator=pareto"]
    run = rehearse(tmp_path, "examples/calculator.toml", *stages)
    assert [row["stage"] for row in run.steps()] == [1, 2]
    assert any(row["measured"]["calls"] > 0 for row in run.steps()), "no tool was called"
    written = [one for group in run.trajectories() for one in group.rollouts]
    assert any(len(one.segments) > 1 for one in written), "no result was read"


def test_a_gguf_file_with_adapters_is_rehearsed_with_its_own_weights(tmp_path):
    pytest.importorskip("gguf")
    from support.small_models import make_tokenizer, save_gguf

    changes = {
        "model.path": save_gguf(tmp_path / "model.gguf", make_tokenizer()),
        "model.chat_template": "chatml-tools",
        "model.lora.rank": 4,
        "optimiser.prompts_per_step": 2,
        "optimiser.group_size": 4,
        "optimiser.learning_rate": 1e-2,
        "optimiser.max_completion_tokens": 24,
        "paretopo.stage2_estimator": "pareto",
    }
    sets = [word for name, value in changes.items() for word in ("--set", f"{name}={value}")]
    run = rehearse(tmp_path, "examples/calculator.toml", "--real-model", *sets)
    assert run.config.model.path == str(changes["model.path"])
    assert len(run.steps()) == 2
    assert (run.model / "model.safetensors").exists()


def test_preferences_are_given_with_each_question(tmp_path):
    """As docs/steerable.md has it: prompts, records and sweeps go by preferences."""
    run = rehearse(tmp_path, "examples/steerable.toml", *make_steerable_questions(tmp_path))
    by_step = {row["step"]: row["preferences"] for row in run.steps()}
    assert sorted(by_step) == [1, 2]
    groups = [group for group in run.trajectories() if not group.held_out]
    assert all(group.preference in group.prompt for group in groups)
    assert all(group.preference in by_step[group.step] for group in groups)
    last = [row["preference"] for row in run.evaluations() if row["step"] == 2]
    assert last == [given.text for given in make_task(run.config).preferences.grid]
    assert (run.report / "preferences.png").exists()
