import json
import os
import subprocess
import sys

import numpy as np
import pytest

from paretopo.config import ConfigError, from_table, loads
from paretopo.records.folder import RunFolder


@pytest.fixture
def run(tmp_path):
    return RunFolder.create(
        tmp_path / "runs", from_table({"seed": 4}), command=["paretopo", "train"]
    )


def test_new_folder_records_the_configuration(run):
    assert run.path.name.startswith("calculator-recommended-seed4-")
    assert loads((run.path / "config.toml").read_text(encoding="utf-8")) == run.config
    manifest = run.manifest
    assert manifest["seed"] == 4
    assert manifest["command"] == "paretopo train"
    assert manifest["status"] == "running"
    assert manifest["ended"] is None
    assert manifest["versions"]["numpy"] == np.__version__
    assert manifest["machine"]["cores"] >= 1
    assert {"commit", "changed"} == set(manifest["git"] or {"commit": 0, "changed": 0})
    assert run.steps() == run.evaluations() == []


def test_two_runs_in_the_same_second_get_their_own_folders(tmp_path):
    folders = {RunFolder.create(tmp_path, loads("")).path for _ in range(3)}
    assert len(folders) == 3


def test_a_run_without_a_method_is_named_by_recipe_and_estimator(tmp_path):
    own = RunFolder.create(tmp_path, loads("", {"paretopo.stage2_estimator": "gdpo"}))
    assert own.path.name.startswith("calculator-recommended-gdpo-seed0-")
    assert RunFolder.open(own.path).method == "recommended+gdpo"
    assert RunFolder.create(tmp_path, loads("")).method == "recommended"


def test_another_folder_is_no_run(run):
    with pytest.raises(ConfigError, match=r"is not a run folder: it holds no config\.toml"):
        RunFolder.open(run.path / "model")


def test_one_process_at_a_time_trains_into_a_folder(run):
    with run.claim():
        code = (
            "import sys; from paretopo.records.folder import RunFolder\n"
            "with RunFolder.open(sys.argv[1]).claim(): pass"
        )
        words = [sys.executable, "-c", code, str(run.path)]
        other = subprocess.run(words, capture_output=True, text=True, check=False)
    assert f"ClaimedError: another process works in {run.path}" in other.stderr
    subprocess.run(words, check=True)


def test_rows_come_back_as_plain_json(run):
    run.append_step(
        {
            "step": np.int64(3),
            "loss": float("nan"),
            "accuracy": np.float64(0.1),
            "outcome": np.array([0.5, np.inf]),
            "by_kind": {"direct": {"calls": (1, 2)}},
            "archived": np.True_,
        }
    )
    assert run.steps() == [
        {
            "step": 3,
            "loss": None,
            "accuracy": 0.1,
            "outcome": [0.5, None],
            "by_kind": {"direct": {"calls": [1, 2]}},
            "archived": True,
        }
    ]


def test_a_row_without_a_step_is_refused(run):
    with pytest.raises(ValueError, match=r"a row of steps.jsonl must say its step, got keys"):
        run.append_step({"loss": 1.0})


def test_a_row_that_does_not_fit_on_the_disk_stops_the_run(run, monkeypatch):
    run.append_step({"step": 1})
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, line: write(file, line[:9]))
    with pytest.raises(OSError, match=r"only 9 of the 23 bytes .* free space .*steps.jsonl"):
        run.append_step({"step": 2, "loss": 0.25})
    monkeypatch.undo()
    run.append_step({"step": 3})
    assert [row["step"] for row in run.steps()] == [1, 3]


@pytest.mark.parametrize("cut", range(1, 18))
def test_torn_last_line_is_dropped(run, cut):
    run.append_step({"step": 1, "a": 1})
    run.append_step({"step": 2, "a": 22})
    path = run.path / "steps.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    assert run.steps() == [{"step": 1, "a": 1}]
    run.append_step({"step": 2, "a": 3})  # the resumed run writes on
    assert run.steps() == [{"step": 1, "a": 1}, {"step": 2, "a": 3}]


@pytest.mark.parametrize("line", ["nonsense", "[2]", '{"stop": 2}', '{"step": "2"}', "\udcff"])
def test_broken_line_is_reported(run, line):
    path = run.path / "steps.jsonl"
    path.write_text(f'{{"step": 1}}\n{line}\n{{"step": 3}}\n', errors="surrogateescape")
    with pytest.raises(ConfigError, match=r"steps.jsonl line 2 is not a record with a step: b"):
        run.steps()


@pytest.mark.parametrize("text", ["", "[]", '{"status": ', "\udcff"])
def test_broken_manifest_is_reported(run, text):
    (run.path / "manifest.json").write_text(text, errors="surrogateescape")
    with pytest.raises(ConfigError, match=r"manifest.json is broken: it holds no JSON object"):
        RunFolder.open(run.path)
    (run.path / "manifest.json").unlink()
    assert RunFolder.open(run.path).manifest == {}


def test_a_key_of_an_earlier_version_is_named_with_the_way_out(run):
    path = run.path / "config.toml"
    written = path.read_text(encoding="utf-8")
    path.write_text(f'{written}[openrlhf]\nagent = "task"\n', encoding="utf-8")
    with pytest.raises(ConfigError, match=r"openrlhf\.agent; .* wrote it, delete the line$"):
        RunFolder.open(run.path)


def test_truncating_drops_later_rows_of_both_files(run):
    run.truncate_after(5, 9)  # nothing there yet
    for step in range(6):
        run.append_step({"step": step})
        run.append_evaluation({"step": step})
    with (run.path / "steps.jsonl").open("a") as file:
        file.write('{"step": 6, "torn')
    run.truncate_after(3, 9)
    assert [row["step"] for row in run.steps()] == [0, 1, 2, 3]
    assert [row["step"] for row in run.evaluations()] == [0, 1, 2, 3]
    run.append_step({"step": 4})
    assert [row["step"] for row in run.steps()] == [0, 1, 2, 3, 4]


def test_the_manifest_tells_end_and_resumption(run):
    run.finish("interrupted")
    assert run.manifest["status"] == "interrupted"
    assert run.manifest["ended"] is not None
    run.resumed(12)
    assert run.manifest["status"] == "running"
    assert run.manifest["ended"] is None
    assert [entry["from_step"] for entry in run.manifest["resumed"]] == [12]
    run.finish()
    assert run.manifest["status"] == "finished"
    assert run.manifest["seed"] == 4
    assert json.loads((run.path / "manifest.json").read_text()) == run.manifest


def test_the_command_is_the_process_own_by_default(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["paretopo", "train", "a file.toml"])
    run = RunFolder.create(tmp_path, loads(""))
    assert run.manifest["command"] == "paretopo train 'a file.toml'"
