"""The checks before a training or a rehearsal; without OpenRLHF."""

import sys

import pytest

from paretopo import cli
from paretopo.config import loads
from paretopo.config.python_files import list_missing_files

TOML = """
backend = "openrlhf"
model = { path = "tiny" }
task = { prompts = 1024 }
warmup = { steps = 0 }
[optimiser]
prompts_per_step = 128
micro_batch = 2
max_completion_tokens = 3072
steps = 500
[evaluation]
every = 2
"""


@pytest.mark.parametrize("backend", ["openrlhf", "trl"])
def test_a_dry_run_needs_no_trainer_and_makes_no_folder(tmp_path, monkeypatch, capsys, backend):
    for name in ("openrlhf", "ray", "trl"):
        monkeypatch.setitem(sys.modules, name, None)
    file = tmp_path / "run.toml"
    file.write_text(TOML, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["train", str(file), "--dry-run", "--backend", backend]) == 0
    assert "passed the checks" in capsys.readouterr().out
    assert [one.name for one in tmp_path.iterdir()] == ["run.toml"]


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        (["optimiser.prompts_per_step=2000"], "a step needs at least optimiser.prompts_per_step"),
        (["openrlhf.gpus_per_node=7", "openrlhf.engines=7"], "must be a multiple of the 7 GPUs"),
        (["optimiser.lr=1"], "optimiser"),
        (["openrlhf.prompts=a.jsonl", "openrlhf.held_out=b.jsonl"], "a.jsonl; openrlhf.held_out: "),
        (["rewards.file=none.py", "backend=trl"], "rewards.file: there is no file none.py"),
    ],
)
def test_a_dry_run_refuses_the_faults_of_a_training(tmp_path, capsys, settings, complaint):
    file = tmp_path / "run.toml"
    file.write_text(TOML, encoding="utf-8")
    words = [word for one in settings for word in ("--set", one)]
    assert cli.main(["train", str(file), "--dry-run", *words]) == 2
    assert complaint in capsys.readouterr().err


def test_files_that_another_trainer_reads_are_not_missed():
    text = "[openrlhf]\nprompts = 'a.jsonl'\nheld_out = 'b.jsonl'"
    assert list_missing_files(loads(text)) == []
    assert len(list_missing_files(loads(text, {"backend": "openrlhf"}))) == 2


def test_all_that_a_rehearsal_lacks_stands_in_one_error(tmp_path, monkeypatch, capsys):
    script = "scripts/install_openrlhf_cpu.sh"
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    words = ["--backend", "openrlhf", "--rehearse", "--set", "task.name=questions"]
    words += ["--set", "task.train=a.jsonl", "--set", "task.held_out=b.jsonl"]
    file = tmp_path / "run.toml"
    file.write_text('model = { path = "x" }\nwarmup = { steps = 0 }\n', encoding="utf-8")
    assert cli.main(["train", str(file), *words]) == 2
    error = capsys.readouterr().err
    assert f"not installed; run in a clone: {script}; task.train: there is no file a.jsonl" in error
    assert "task.held_out: there is no file b.jsonl" in error
