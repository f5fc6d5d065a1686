"""A run goes on with the files that it was begun with, from any folder, and may become longer."""

import errno
import json
import sys
from types import SimpleNamespace

import pytest
from support.run_stories import tell

from paretopo import cli
from paretopo.config import ConfigError, from_table, load, loads
from paretopo.config.python_files import load_module
from paretopo.records.folder import RunFolder

REWARDS = "def polite(completions):\n    return [1.0] * len(completions)\n"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return a run whose files have relative paths."""
    monkeypatch.chdir(tmp_path)
    neighbour = f"next_to_{tmp_path.name}"  # no other test's
    (tmp_path / f"{neighbour}.py").write_text("x = 1\n")
    (tmp_path / "rewards.py").write_text(f"import {neighbour}\n{REWARDS}")
    for name in ("train", "held_out"):
        row = json.dumps({"prompt": f"{name}?", "answer": "1"})
        (tmp_path / f"{name}.jsonl").write_text(row + "\n")
    load_module("rewards.file", tmp_path / "rewards.py")
    tables = "[[objectives]]\nname = 'correct'\n[[objectives]]\nname = 'polite'\nhigh = 1\n"
    files = {"rewards.file": "rewards.py", "task.name": "questions", "warmup.steps": 0}
    files |= {"task.train": "train.jsonl", "task.held_out": "held_out.jsonl"}
    return RunFolder.create("runs", loads(tables, {**files, "optimiser.steps": 4}))


@pytest.mark.parametrize("name", ["rewards.py", "train.jsonl", "next_to_*.py"])
def test_a_run_does_not_go_on_with_other_files_unless_that_is_accepted(run, tmp_path, name):
    run.check_files()
    [path] = tmp_path.glob(name)
    with path.open("a") as file:
        file.write("\n")
    with pytest.raises(
        ConfigError, match=r"changed after the start of the run: .*--accept-changes"
    ):
        run.check_files()
    run.append_step({"step": 3})
    run.accept_files()
    run.check_files()
    assert [one["step"] for one in run.manifest["accepted"]] == [3]


def test_a_run_finds_its_files_from_any_folder(run, tmp_path, monkeypatch):
    assert RunFolder.open(run.path).config == run.config
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    whole = run.path.resolve()
    monkeypatch.chdir(elsewhere)
    found = RunFolder.open(whole)
    assert found.config.rewards.file == str(tmp_path / "rewards.py")
    assert found.config.task.train == str(tmp_path / "train.jsonl")
    assert found.config.model.path == "tiny"
    found.check_files()


def test_a_run_becomes_longer_and_nothing_else_changes(run):
    with pytest.raises(
        ConfigError, match="more than the 4 steps that the run is configured for, got 4"
    ):
        run.extend(4)
    run.extend(9)
    assert run.config.optimiser.steps == 9
    again = load(run.path / "config.toml")
    assert again == run.config
    assert again.task.train == "train.jsonl"


@pytest.fixture
def trained(monkeypatch):
    """Return the configurations that are trained, without a trainer."""
    calls = []
    fake = SimpleNamespace(train=lambda config, run, resume: calls.append((config, resume)))
    monkeypatch.setitem(sys.modules, "paretopo.integrations.trl.train", fake)
    monkeypatch.setattr("paretopo.cli.train._print_end", lambda _: None)
    return calls


def test_the_command_takes_more_steps_and_accepted_changes(run, trained, tmp_path, capsys):
    command = ["train", "--resume", str(run.path), "--trust"]
    assert cli.main([*command, "--steps", "6"]) == 0
    [(config, resume)] = trained
    assert (config.optimiser.steps, resume) == (6, True)
    with (tmp_path / "train.jsonl").open("a") as file:
        file.write("\n")
    assert cli.main(command) == 2
    assert "task.train changed after the start" in capsys.readouterr().err
    assert cli.main([*command, "--accept-changes"]) == 0
    assert len(trained) == 2
    assert cli.main([*command, "--set", "optimiser.kl=0.1"]) == 2
    assert cli.main([*command, "--steps", "many"]) == 2


def test_a_refused_run_leaves_no_folder(run, trained, tmp_path, monkeypatch, capsys):
    def refuse(config, run, resume):
        raise ConfigError("no such model")

    monkeypatch.setattr(sys.modules["paretopo.integrations.trl.train"], "train", refuse)
    (tmp_path / "a.toml").write_text("[run]\nout = 'others'\n")
    assert cli.main(["train", "a.toml"]) == 2
    assert "no such model" in capsys.readouterr().err
    assert list((tmp_path / "others").iterdir()) == []
    assert cli.main(["train", "--resume", str(run.path), "--trust"]) == 2
    assert run.path.exists()  # one that was begun stays


def test_files_may_begin_with_a_byte_order_mark(tmp_path):
    (tmp_path / "a.toml").write_text("\ufeffseed = 3\n", encoding="utf-8")
    assert load(tmp_path / "a.toml").seed == 3


def test_a_misspelt_measure_is_named():
    with pytest.raises(ConfigError, match=r"did you mean 'tokens'\?"):
        loads("[[objectives]]\nname = 'correct'\n[[objectives]]\nname = 'tokenz'\n")


def test_a_report_on_several_leaves_out_folders_without_records(run, tmp_path, capsys):
    for name in ("comparison", "empty"):
        (run.path.parent / name).mkdir()
    assert cli.main(["report", *(str(one) for one in run.path.parent.iterdir())]) == 2
    assert "none of these folders holds an evaluation" in capsys.readouterr().err
    assert cli.main(["report", str(run.path)]) == 2
    assert "has no evaluations yet" in capsys.readouterr().err
    assert cli.main(["report", str(run.path), str(tmp_path / "missing")]) == 2
    assert "missing: give a run folder" in capsys.readouterr().err
    evaluated = tell(tmp_path / "evaluated")
    folders = [*run.path.parent.iterdir(), evaluated.path]
    assert cli.main(["report", *map(str, folders), "--out", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().err
    assert printed.count("holds no run: left out") == 2
    assert printed.count("holds no evaluation yet: left out") == 1


def test_the_manifest_names_a_full_disk(run, monkeypatch):
    finish = RunFolder.finish

    def finish_with_room(self, *given):
        if (self.path / "claim").stat().st_size:
            raise OSError(errno.ENOSPC, "no space")
        finish(self, *given)

    monkeypatch.setattr(RunFolder, "finish", finish_with_room)
    with monkeypatch.context() as disk:
        disk.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=0))
        raw = RuntimeError("[enforce fail at inline_container.cc:672]")
        with pytest.raises(OSError, match="the disk is full"), run.claim(), run.note_failure():
            raise raw
    assert run.manifest["status"] == "failed"
    assert "inline_container" in run.manifest["error"]
    with pytest.raises(RuntimeError, match="enforce"), run.note_failure():
        raise raw  # with room on the disk it is another error
    assert run.manifest["error"].startswith("RuntimeError")


def test_a_tiny_model_is_not_resumed_with_other_words(run):
    pytest.importorskip("trl")
    from paretopo.integrations.trl.train import _check_vocabulary

    words = SimpleNamespace(get_vocab=lambda: {"red": 0, "blue": 1})
    _check_vocabulary(run, words)
    _check_vocabulary(run, words)
    with pytest.raises(ConfigError, match="their words have changed"):
        _check_vocabulary(run, SimpleNamespace(get_vocab=lambda: {"red": 0, "navy": 1}))


def test_tied_weights_are_not_called_missing():
    pytest.importorskip("trl")
    from paretopo.integrations.trl.session_trainer import TiedWeights

    class Base:
        warned = False

        def _issue_warnings_after_load(self, _):
            self.warned = True

    class Resumed(TiedWeights, Base):
        model = SimpleNamespace(all_tied_weights_keys={"lm_head.weight": "embed"})

    Resumed.model.tie_weights = lambda: None
    for missing, warns in (("lm_head.weight", False), ("norm.weight", True)):
        trainer = Resumed()
        trainer._issue_warnings_after_load(
            SimpleNamespace(missing_keys=[missing], unexpected_keys=[])
        )
        assert trainer.warned is warns


def test_a_resumed_run_names_the_settings_that_differ(run):
    three = [{"name": "correct"}, {"name": "calls"}, {"name": "tokens"}]
    begun = RunFolder.create("runs", from_table({"objectives": three}))
    for objectives, changed in (
        ([*three[:2], {"name": "tokens", "price": 2.0}], "objectives.tokens.price"),
        (three[:2], "objectives.tokens"),
        ([three[0], three[2], three[1]], "objectives"),
    ):
        other = RunFolder(begun.path, from_table({"objectives": objectives}))
        with pytest.raises(ConfigError, match=rf"other values of (.*, )?{changed}[,. ]"):
            other.check_settings("begin again")
