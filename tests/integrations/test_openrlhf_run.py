"""The real pipeline on a CPU: Ray, DeepSpeed, vLLM and OpenRLHF itself, with a tiny policy.

Skipped where OpenRLHF is not installed; `scripts/test_openrlhf_cpu.sh` runs it in its own
environment, after `scripts/install_openrlhf_cpu.sh`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("openrlhf", exc_type=ImportError)
psutil = pytest.importorskip("psutil")

from paretopo_core.training.config import loads  # noqa: E402
from paretopo_core.training.records import RunFolder  # noqa: E402

pytestmark = pytest.mark.timeout(1500)
RUN_SECONDS = 540  # a run beside other work on two cores; alone it takes one or two minutes
GONE_SECONDS = 180
SMALL = """
backend = "openrlhf"
seed = 3
[model]
layers = 2
width = 64
heads = 2
mlp_width = 128
[task]
prompts = 24
facts = 4
kinds = [0.5, 0.5, 0.0]
[warmup]
steps = 120
batch_size = 16
learning_rate = 5e-3
[paretopo]
stage1_steps = 2
[optimiser]
steps = 4
prompts_per_step = 4
group_size = 4
learning_rate = 1e-3
max_completion_tokens = 48
[evaluation]
every = 2
prompts = 16
temperature = 1.0
[run]
checkpoint_every = 1
[openrlhf]
nodes = 1
gpus_per_node = 1
engines = 1
colocate = false
eager_engine = true
attention = "eager"
correction = "token"
"""
TRAIN = (
    "import sys; from paretopo_core.training.records import RunFolder\n"
    "from paretopo_core.integrations.openrlhf.train import train\n"
    "run = RunFolder.open(sys.argv[1])\n"
    "train(run.config, run, resume=sys.argv[2] == 'True', options=sys.argv[3:])\n"
)
PREPARE = (
    "import sys; from paretopo_core.training.records import RunFolder\n"
    "from paretopo_core.integrations.openrlhf.prepare import prepare\n"
    "run = RunFolder.open(sys.argv[1]); prepare(run.config, run, lambda: False)\n"
)


def environment() -> dict[str, str]:
    return {**os.environ, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}


@pytest.fixture(scope="session")
def policy(tmp_path_factory) -> Path:
    """A warmed-up tiny policy, made once for all runs."""
    run = RunFolder.create(tmp_path_factory.mktemp("policy"), loads(SMALL))
    subprocess.run([sys.executable, "-c", PREPARE, str(run.path)], check=True, env=environment())
    return run.checkpoints / "start"


@pytest.fixture
def new_run(policy, tmp_path):
    """A function: dotted settings → the folder of a run that is to be rehearsed."""

    def make(**settings) -> RunFolder:
        overrides = {name.replace("__", "."): value for name, value in settings.items()}
        run = RunFolder.create(tmp_path, loads(SMALL, {"model.path": str(policy)} | overrides))
        run.update_manifest(rehearsal=["a test"])
        return run

    return make


def start(run: RunFolder, *options: str, resume: bool = False) -> subprocess.Popen[str]:
    """Train in a process of its own, with its output in a file beside the run."""
    command = [sys.executable, "-c", TRAIN, str(run.path), str(resume), *options]
    with (run.path / "log").open("a", encoding="utf-8") as log:
        return subprocess.Popen(
            command, stdout=log, stderr=subprocess.STDOUT, text=True, env=environment()
        )


def output(run: RunFolder) -> str:
    return (run.path / "log").read_text(encoding="utf-8")


def finish(run: RunFolder, *options: str, resume: bool = False) -> str:
    """Train to the end; the rehearsal's own checks hold everything together."""
    process = start(run, *options, resume=resume)
    try:
        code = process.wait(RUN_SECONDS)
    finally:
        kill_all(process)
    assert code == 0, output(run)[-6000:]
    told = output(run)
    assert "weights of " in told
    assert "replay buffers got the controller's advantages" in told
    return told


def kill_all(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """SIGKILL for the process and everything below it; returns what was below."""
    try:
        below = psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        below = []
    for one in [process, *below]:
        try:
            one.send_signal(signal.SIGKILL)
        except (psutil.NoSuchProcess, ProcessLookupError):
            continue
    process.wait(GONE_SECONDS)
    return below


def wait_for(condition, process, run, seconds=RUN_SECONDS):
    end = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, output(run)[-6000:]
        assert time.monotonic() < end, "waited too long\n" + output(run)[-6000:]
        time.sleep(0.2)


def exchanges(run: RunFolder) -> list[dict]:
    path = run.path / "rehearsal" / "advantages.jsonl"
    if not path.exists():
        return []
    whole = path.read_text(encoding="utf-8").rpartition("\n")[0]
    return [json.loads(line) for line in whole.splitlines()]


def tensorboard(run: RunFolder) -> dict[str, dict[int, float]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(next((run.path / "tensorboard").iterdir())))
    events.Reload()
    return {
        tag: {event.step: event.value for event in events.Scalars(tag)}
        for tag in events.Tags()["scalars"]
    }


@pytest.mark.openrlhf_short
def test_a_synchronous_run_crosses_both_stages(new_run):
    run = new_run()
    told = finish(run)
    assert [row["stage"] for row in run.steps()] == [1, 1, 2, 2]
    assert [row["step"] for row in run.evaluations()] == [0, 2, 4]
    assert run.evaluations()[0]["multiplier"] == 1.0
    assert all(abs(row["vllm_kl"]) < 0.01 for row in run.steps())
    assert "64 rollouts" in told
    assert (run.model / "config.json").exists()
    logged = tensorboard(run)
    for row in run.steps():
        step = row["step"]
        assert logged["train/reward"][step] == pytest.approx(row["accuracy"], abs=1e-6)
        assert logged["train/paretopo/stage"][step] == row["stage"]
        assert logged["train/paretopo/multiplier"][step] == pytest.approx(row["multiplier"])
        assert row["generated_groups"] == 4
    for row in run.evaluations():
        assert logged["eval/accuracy"][row["step"]] == pytest.approx(row["accuracy"])


@pytest.mark.parametrize("partial", [False, True])
def test_an_asynchronous_run(new_run, partial):
    # Rollouts are a step or two older than the policy: at small steps that is a small difference.
    run = new_run(
        openrlhf__asynchronous=True,
        openrlhf__partial_rollouts=partial,
        optimiser__learning_rate=1e-4,
    )
    finish(run)
    assert all(abs(row["vllm_kl"]) < 0.01 for row in run.steps())
    assert [row["step"] for row in run.evaluations()] == [0, 2, 4]
    assert [row["stage"] for row in run.steps()] == [1, 1, 2, 2]


def test_zero_3_with_the_multiplier_on_the_learning_rate_and_overlong_punishment(new_run):
    run = new_run(
        openrlhf__zero_stage=3,
        paretopo__multiplier_on="learning_rate",
        openrlhf__overlong_buffer=40,
        optimiser__kl=0.01,
        evaluation__every=1,
    )
    finish(run)
    rates = [row["learning_rate"] for row in run.steps()]
    factors = [row["multiplier"] if row["stage"] == 1 else 1.0 for row in run.steps()]
    assert rates == pytest.approx([1e-3 * factor for factor in factors])
    assert factors[0] == 1.0
    assert factors[1] != 1.0
    assert any(row["overlong"] > 0 for row in run.steps())


def test_two_actors_and_two_engines_sharing_gpus_with_dynamic_sampling(new_run):
    run = new_run(
        openrlhf__gpus_per_node=2,
        openrlhf__engines=2,
        openrlhf__colocate=True,
        openrlhf__dynamic_sampling=True,
    )
    told = finish(run)
    assert "weights of 2 engine(s)" in told
    assert all(row["informative"] == 1.0 for row in run.steps())
    assert all(row["generated_groups"] >= 4 for row in run.steps())


def test_lora_trains_with_weights_that_reach_the_engine(new_run):
    run = new_run(openrlhf__lora_rank=4)
    told = finish(run)
    assert "after each of 4 updates" in told
    lines = (run.path / "rehearsal" / "weights.jsonl").read_text(encoding="utf-8").splitlines()
    adapted = [
        json.loads(line)["policy"]["model.layers.0.self_attn.o_proj.weight"][1] for line in lines
    ]
    assert len(set(adapted)) == 4  # trained through its adapter alone


def test_a_killed_job_goes_on_where_its_checkpoint_is(new_run):
    run = new_run(optimiser__steps=5, paretopo__stage1_steps=3, evaluation__every=1)
    process = start(run)
    try:
        # Step 3 has its checkpoint when step 4 has its advantages.
        wait_for(lambda: len(exchanges(run)) >= 4, process, run)
    finally:
        kill_all(process)
    before = exchanges(run)
    finish(run, resume=True)
    assert [row["step"] for row in run.steps()] == [1, 2, 3, 4, 5]
    assert [row["step"] for row in run.evaluations()] == [0, 1, 2, 3, 4, 5]
    (resumed,) = run.manifest["resumed"]
    assert resumed["from_step"] >= 3
    again = [row for row in exchanges(run)[len(before) :] if row["step"] == 4]
    if resumed["from_step"] == 3:
        assert again[0]["before"] == before[3]["before"]


def test_a_killed_engine_ends_the_run_and_leaves_no_process(new_run):
    run = new_run(optimiser__steps=50)
    process = start(run)
    below = []
    try:
        wait_for(lambda: len(run.steps()) >= 1, process, run)
        below = psutil.Process(process.pid).children(recursive=True)
        (engine,) = [one for one in below if "CpuEngine" in " ".join(one.cmdline())]
        engine.send_signal(signal.SIGKILL)
        code = process.wait(GONE_SECONDS)
    finally:
        kill_all(process)
    assert code != 0
    assert "a rollout engine" in output(run)
    end = time.monotonic() + GONE_SECONDS
    while any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in below):
        assert time.monotonic() < end, [one for one in below if one.is_running()]
        time.sleep(0.5)


AGENT = """
from paretopo_core.integrations.openrlhf.agent import ToolAgent, ToolAgentExecutor, Turn
class Agent(ToolAgent):
    async def turn(self, text):
        {turn}
    async def step(self, states, **kwargs):
        result = await super().step(states, **kwargs)
        {step}
        return result
class AgentExecutor(ToolAgentExecutor):
    agent = Agent
"""


@pytest.mark.parametrize(
    ("turn", "step", "complaint"),
    [
        ("raise ZeroDivisionError('my tool broke')", "pass", "ZeroDivisionError: my tool broke"),
        ("return Turn(done=True, correct=float('nan'))", "pass", "'correct' = nan"),
        ("return Turn(done=True)", "del result['extra_logs']['calls']", "no 'calls'"),
    ],
)
def test_a_bad_agent_is_told_with_its_prompt(new_run, tmp_path, turn, step, complaint):
    agent = tmp_path / "agent.py"
    agent.write_text(AGENT.format(turn=turn, step=step), encoding="utf-8")
    run = new_run(openrlhf__agent=str(agent))
    process = start(run)
    try:
        code = process.wait(RUN_SECONDS)
    finally:
        kill_all(process)
    assert code != 0
    last = output(run).strip().splitlines()[-1]
    assert complaint in last
    assert "prompt '" in last


def command(folder: Path, module: str, *words: str) -> str:
    """Run a command to its end; returns what it said."""
    log = folder / "log"
    with log.open("w", encoding="utf-8") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *words],
            stdout=file,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment(),
        )
    try:
        code = process.wait(2 * RUN_SECONDS)
    finally:
        kill_all(process)
    told = log.read_text(encoding="utf-8")
    assert code == 0, told[-6000:]
    return told


def test_gpus_that_are_not_there_are_refused_instead_of_waited_for(new_run):
    run = new_run()
    run.update_manifest(rehearsal=[])  # for real, then
    process = start(run)
    try:
        code = process.wait(RUN_SECONDS)
    finally:
        kill_all(process)
    assert code != 0
    assert "the run needs 2 GPUs, and Ray knows of " in output(run)


OWN_AGENT = """
from types import SimpleNamespace
from paretopo_core.integrations.openrlhf.agent import ToolAgentExecutor
from paretopo_core.integrations.openrlhf.episodes import EpisodeAgent
class Episode:
    stop, turn_tokens, feedback_tokens, calls = (" day",), 6, 2, 0
    async def step(self, text):
        assert len(text) < 200
        done = self.calls > 0 and text.count("7") != 1
        self.calls += not done
        return SimpleNamespace(feedback=" 7 7 7 7 7 7 7 7", done=done or self.calls > 3)
class Agent(EpisodeAgent):
    def episode(self):
        return Episode()
    def grade(self, response):
        return float(len(response) % 2 == int(self.label["parity"]))
class AgentExecutor(ToolAgentExecutor):
    agent = Agent
"""


def test_the_command_rehearses_a_configuration_of_ones_own(policy, tmp_path):
    (tmp_path / "agent.py").write_text(OWN_AGENT, encoding="utf-8")
    for name, rows in (("train", 70), ("held_out", 6)):
        lines = [
            json.dumps({"prompt": f"What is {i}*{i}?", "label": {"id": i, "parity": i % 2}})
            for i in range(rows)
        ]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "own.toml").write_text(
        f"""
        backend = "openrlhf"
        recipe = "paper"
        [model]
        path = "{policy}"
        [optimiser]
        prompts_per_step = 128
        steps = 500
        max_completion_tokens = 3072
        [run]
        out = "{tmp_path / "runs"}"
        [openrlhf]
        agent = "{tmp_path / "agent.py"}"
        prompts = "{tmp_path / "train.jsonl"}"
        held_out = "{tmp_path / "held_out.jsonl"}"
        gpus_per_node = 1
        engines = 1
        zero_stage = 3
        packing = true
        overlong_buffer = 614
        correction = "token"
        """,
        encoding="utf-8",
    )
    own = ["--actor.entropy_coef", "0"]
    words = [str(tmp_path / "own.toml"), "--rehearse", *own]
    told = command(tmp_path, "paretopo_core.integrations.openrlhf", *words)
    assert "Proved here" in told
    assert "packed samples" in told.partition("Not covered")[2]
    (folder,) = (tmp_path / "runs").iterdir()
    run = RunFolder.open(folder)
    assert run.config.model.path == f"small:{policy}"
    assert all(1.0 <= row["calls"] <= 4.0 for row in run.steps())
    assert (folder / "report" / "report.md").exists()


def test_forty_steps_of_the_example_raise_accuracy_while_calls_do_not_rise(tmp_path):
    example = Path(__file__).parents[2] / "examples" / "rehearsal.toml"
    words = ["train", str(example), "--rehearse", "--steps", "40", "--out", str(tmp_path / "runs")]
    told = command(tmp_path, "paretopo_core.cli", *words)
    assert "40 steps and 11 evaluations" in told
    (folder,) = (tmp_path / "runs").iterdir()
    rows = RunFolder.open(folder).evaluations()
    assert rows[-1]["accuracy"] - rows[0]["accuracy"] >= 0.20
    assert rows[-1]["calls"] <= rows[0]["calls"]
