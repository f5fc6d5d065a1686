"""Test questions: put to each trained policy once, after it, and reported next to the held-out."""

import hashlib
from pathlib import Path

import pytest

from paretopo.config import ConfigError, load
from paretopo.integrations.huggingface.policy import shared_warmup
from paretopo.records.folder import RunFolder, fresh_folder
from paretopo_lab.study import cells
from paretopo_lab.study import plan as plans
from paretopo_lab.study.analysis import Results
from paretopo_lab.study.cells import fingerprint, run_cell
from paretopo_lab.study.records import append_record, read_records
from paretopo_lab.study.report import describe

TABLE = {
    "study": {"methods": ["recommended", "accuracy_only"], "seeds": 2, "measure": "preference"},
    "tasks": {"sums": {"config": "sums.toml", "test": "test.jsonl", "most": 4.0}},
}


def evaluation(accuracy, calls):
    return {
        "step": 100,
        "solved": accuracy,
        "measured": {"correct": accuracy, "calls": calls},
        "measured_of_solved": {"correct": 1.0, "calls": calls},
        "response_tokens": 12.5,
    }


def by_question(right, calls):
    pairs = zip(right, calls, strict=True)
    return {f"q{at}": {"correct": one, "calls": two} for at, (one, two) in enumerate(pairs)}


def write_warmup(config):
    """Write the policy that a training of this configuration would begin with."""
    file = shared_warmup(config)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(str(config.seed).encode())


class Commands:
    """Stands in for paretopo train and evaluate: folders as they leave them."""

    def __init__(self):
        self.asked = []
        self.killed = False

    def __call__(self, command, first, *words):
        self.asked.append(command)
        if command == "train":
            config = load(first)
            run = RunFolder.create(config.run.out, config)
            run.append_evaluation(evaluation(0.75, 1.0))
            run.write_questions(100, by_question([1, 1, 1, 0], [1, 1, 1, 1]))
            run.finish()
            write_warmup(config)
            return
        assert words[0] == "--trust"
        given = dict(zip(words[1::2], words[2::2], strict=True))
        assert given["--limit"] == "3"
        assert given["--tool"] == "task"  # with its own tools and rewards, as in training
        asked = load(f"{first}/config.toml", {"model.path": f"{first}/model"})
        run = RunFolder(fresh_folder(Path(given["--out"]).parent, Path(given["--out"]).name), asked)
        run.begin()
        if self.killed:
            raise RuntimeError("killed")
        run.append_evaluation(evaluation(0.5, 2.0))
        calls = 3.0 if "accuracy_only" in first else 2.0
        run.write_questions(0, by_question([1] * 6 + [0] * 6, [calls] * 12))
        run.finish()


@pytest.fixture
def commands(monkeypatch):
    stand_in = Commands()
    monkeypatch.setattr(cells, "_run_command", stand_in)
    return stand_in


@pytest.fixture
def study(tmp_path):
    (tmp_path / "sums.toml").write_text("")
    (tmp_path / "test.jsonl").write_text('{"prompt": "1+1"}\n' * 3)
    return plans.from_table(TABLE, base=tmp_path)


def test_the_trained_policy_is_asked_once_for_the_same_questions(study, commands, tmp_path):
    cell = study.cells()[0]
    commands.killed = True
    with pytest.raises(RuntimeError, match="killed"):
        run_cell(study, cell, tmp_path / "runs")
    commands.killed = False
    for _ in range(2):
        row = run_cell(study, cell, tmp_path / "runs")
        assert commands.asked == ["train", "evaluate", "evaluate"]  # again, as it was interrupted
    assert row["evaluations"]["accuracy"] == [0.75]
    assert row["start"] == hashlib.sha256(str(cell.seed).encode()).hexdigest()
    test = row["test"]
    assert (test["accuracy"], test["cost"], test["response"]) == ([0.5], [2.0], [12.5])
    assert row["by_question"]["evaluations"]["accuracy"] == [1, 1, 1, 0]
    assert row["by_question"]["test"]["cost"] == [2] * 12
    before = fingerprint(study, cell)
    (tmp_path / "test.jsonl").write_text('{"prompt": "1+2"}\n' * 3)
    assert fingerprint(study, cell) != before
    run_cell(study, cell, tmp_path / "runs")
    assert commands.asked[3:] == ["evaluate"]


def test_both_sets_are_reported(study, commands, tmp_path):
    for cell in study.cells():
        append_record(tmp_path, run_cell(study, cell, tmp_path / "runs"))
    results = Results(study, read_records(study, tmp_path))
    report = describe(results).write()
    assert "| method | held out: accuracy % | held out: cost | held out: tokens | test:" in report
    row = "| `recommended` | 75.0 ± 0.0 | 1.00 ± 0.00 | 12.5 ± 0.0 | 50.0 ± 0.0 | 2.00 ± 0.00 |"
    assert row in report
    assert "| test | `accuracy_only` | 12 | +0.0 | +0.00 to +0.00 | 1.0000 | -1.00 | " in report
    # 0.5 right, which save half of four calls: 0.5 * (0.6 + 0.4 * 0.5)
    assert results.test("sums", "recommended", "preference") == pytest.approx([0.4, 0.4])


@pytest.mark.parametrize(
    "table",
    [
        {"tasks": {"free": {"test": "test.jsonl"}}},
        {"study": {"preferences": 3}, "tasks": {"sums": {"config": "sums.toml", "test": "x"}}},
    ],
)
def test_only_trainings_have_test_questions(table, study, tmp_path):
    with pytest.raises(ConfigError, match="test is for trainings of a configuration"):
        plans.from_table(table, base=tmp_path)


def test_records_without_questions_have_no_tests_by_question(study, commands, tmp_path):
    for cell in study.cells():
        row = run_cell(study, cell, tmp_path / "runs")
        if cell.method == "recommended" or cell.seed == study.cells()[0].seed:
            del row["by_question"]  # as versions before wrote it
        append_record(tmp_path, row)
    report = describe(Results(study, read_records(study, tmp_path))).write()
    assert "question by question" not in report
