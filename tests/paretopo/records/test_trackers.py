"""TensorBoard and Weights & Biases: the numbers that a run logs, and runs without them."""

import importlib.util
import subprocess
import sys
from importlib.machinery import ModuleSpec

import pytest
from support.curves import HAS_TENSORBOARD, read_curves
from support.sessions import group, new_session, score

from paretopo.config import ConfigError, loads
from paretopo.records.folder import RunFolder
from paretopo.records.trackers import check_trackers
from paretopo.rollout import Rollout
from paretopo.session import Session

needs_tensorboard = pytest.mark.skipif(not HAS_TENSORBOARD, reason="needs tensorboard")
TENSORBOARD = "[run]\ntensorboard = true\n"
WANDB = "[run]\nwandb_project = 'ours'\n"


@pytest.fixture(autouse=True)
def _number_event_files_from_zero(monkeypatch):
    """TensorBoard reads files of one second by name: number 10 of a process before number 9."""
    if HAS_TENSORBOARD:
        from tensorboard.summary.writer import event_file_writer

        counter = event_file_writer.AtomicCounter(0)
        monkeypatch.setattr(event_file_writer, "_global_uid", counter)


def make_step(session, step, calls=(1, 2)):
    session.advantages([score(session, group(calls, [1, 1]))])
    session.record_step(step, {"loss": 0.5, "grad_norm": None}, {"entropy": 1.5, "sample": "text"})


def test_without_trackers_nothing_is_imported_and_written(tmp_path):
    code = (
        "import sys; sys.path.insert(0, sys.argv[2])\n"
        "from support.sessions import *\n"
        "session = new_session(sys.argv[1])\n"
        "session.observe(0, group([2, 0], [1, 0]))\n"
        "session.advantages([score(session, group([1, 2], [1, 1]))])\n"
        "session.record_step(1, {'loss': 0.5})\n"
        "assert not {'tensorboard', 'wandb', 'torch'} & set(sys.modules)\n"
    )
    tests = next(path for path in sys.path if path.endswith("tests"))
    subprocess.run([sys.executable, "-c", code, str(tmp_path), tests], check=True)
    [run] = tmp_path.iterdir()
    assert not {path.name for path in run.iterdir()} & {"tensorboard", "wandb"}


@needs_tensorboard
def test_resumed_run_continues_its_curves(tmp_path):
    session = new_session(tmp_path, TENSORBOARD, objectives__calls__economy="paretopo")
    session.observe(0, group([2, 0], [1, 0]))
    make_step(session, 1)
    state = session.state()
    make_step(session, 2, calls=(0, 2))
    session.observe(2, group([2, 2], [1, 0]))
    # Killed here without closing anything. The remaining steps run again with other numbers.
    again = Session(session.run, prompts=64, steps_per_epoch=8)
    again.restore(state)
    make_step(again, 2, calls=(1, 3))
    again.observe(2, group([0, 0], [1, 1]))
    make_step(again, 3)
    curves = read_curves(session.run)
    assert curves["train/paretopo/measured/calls"] == [(1, 1.5), (2, 2.0), (3, 1.5)]
    assert curves["eval/paretopo/solved"] == [(0, 0.5), (2, 1.0)]
    assert curves["train/paretopo/loss"] == [(1, 0.5), (2, 0.5), (3, 0.5)]
    assert curves["train/entropy"] == [(1, 1.5), (2, 1.5), (3, 1.5)]
    volumes = [row["hypervolume"] for row in session.run.evaluations()]
    drawn = [value for _, value in curves["eval/paretopo/hypervolume"]]
    assert drawn == pytest.approx(volumes)
    assert {"gain", "smoothed_gain"} <= {tag.removeprefix("eval/paretopo/") for tag in curves}
    # The multiplier ends with stage 1, the first step.
    assert [step for step, _ in curves["train/paretopo/multiplier"]] == [1]
    anew = Session(session.run, prompts=64, steps_per_epoch=8)
    anew.restore(None)  # from the beginning, and not a point is left
    make_step(anew, 1)
    assert {len(curve) for curve in read_curves(session.run).values()} == {1}


@needs_tensorboard
def test_an_objective_has_a_point_where_it_applies(tmp_path):
    text = "[[objectives]]\nname = 'correct'\n[[objectives]]\nname = 'polite'\nhigh = 1\n"
    session = new_session(tmp_path, text + TENSORBOARD)
    for step, values in ((1, (None, 0.5)), (2, (None, None)), (3, (0.25, 0.75))):
        rollouts = [Rollout("q", {"correct": 1.0, "polite": value}) for value in values]
        session.advantages([score(session, rollouts)])
        session.record_step(step, {})
    curves = read_curves(session.run)
    assert curves["train/paretopo/measured/polite"] == [(1, 0.5), (3, 0.5)]
    assert [step for step, _ in curves["train/paretopo/rewards/polite"]] == [1, 3]


@needs_tensorboard
def test_one_of_several_processes_draws(tmp_path):
    session = new_session(tmp_path, TENSORBOARD)
    reader = Session(session.run, prompts=64, steps_per_epoch=8, writes=False)
    make_step(reader, 1)
    assert not (session.run.path / "tensorboard").exists()


# ---- Weights & Biases ----------------------------------------------------------------------------


class _Board:
    """The part of `wandb.init`'s result that we use."""

    def __init__(self, **given):
        self.given, self.logged, self.open = given, [], True

    def log(self, numbers, step):
        self.logged.append((step, numbers))

    def finish(self):
        self.open = False


def test_resumed_run_continues_in_weights_and_biases(tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb")
    boards = []

    def init(**given):
        boards.append(_Board(**given))
        return boards[-1]

    monkeypatch.setattr(wandb, "init", init)
    monkeypatch.setenv("WANDB_API_KEY", "a key")
    session = new_session(
        tmp_path, WANDB + "[optimiser]\nsteps = 2\n", objectives__calls__economy="paretopo"
    )
    session.observe(0, group([2, 0], [1, 0]))
    make_step(session, 1)
    again = Session(session.run, prompts=64, steps_per_epoch=8)
    again.restore(session.state())
    make_step(again, 2)
    again.finish()
    first, second = boards
    assert first.given["id"] == second.given["id"] == session.run.manifest["wandb"]
    assert first.given["resume"] == "allow"
    assert (first.given["project"], first.given["name"]) == ("ours", session.run.path.name)
    assert first.given["config"]["optimiser"]["steps"] == 2
    assert [step for step, _ in first.logged + second.logged] == [0, 1, 2]
    (_, evaluation), (_, step) = first.logged
    assert evaluation["eval/paretopo/measured/calls"] == 1.0
    assert step["train/paretopo/measured/calls"] == 1.5
    assert not second.open
    other = new_session(tmp_path / "other", WANDB)
    make_step(other, 1)
    assert boards[2].given["id"] != first.given["id"]


def test_offline_curves_stay_in_the_run_folder(tmp_path, monkeypatch):
    pytest.importorskip("wandb")
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    session = new_session(tmp_path, WANDB + "[optimiser]\nsteps = 1\n")
    make_step(session, 1)
    session.finish()
    [kept] = (session.run.path / "wandb").glob("offline-run-*")
    assert kept.name.endswith(session.run.manifest["wandb"])
    [log] = kept.glob("*.wandb")
    assert b"train/paretopo/measured/calls" in log.read_bytes()


# ---- missing packages ----------------------------------------------------------------------------


@pytest.mark.parametrize("found", [None, ModuleSpec("a folder of that name", None)])
@pytest.mark.parametrize(("text", "package"), [(TENSORBOARD, "tensorboard"), (WANDB, "wandb")])
def test_a_missing_package_is_named_with_its_extra(tmp_path, monkeypatch, text, package, found):
    monkeypatch.setenv("WANDB_MODE", "offline")
    run = RunFolder.create(tmp_path, loads(text))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: found)
    missing = rf'needs the package {package}: pip install "\.\[{package}\]" in a clone'
    with pytest.raises(ConfigError, match=missing):
        check_trackers(run.config.run)
    with pytest.raises(ConfigError, match=missing):
        Session(run, prompts=8, steps_per_epoch=1)


def test_weights_and_biases_needs_a_key_unless_it_is_offline(monkeypatch):
    pytest.importorskip("wandb")
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    monkeypatch.delenv("WANDB_MODE", raising=False)
    config = loads(WANDB)
    with pytest.raises(ConfigError, match=r"run\.wandb_project needs the key .* WANDB_API_KEY"):
        check_trackers(config.run)
    monkeypatch.setenv("WANDB_MODE", "offline")
    check_trackers(config.run)
