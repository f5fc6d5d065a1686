"""Fronts of tabular policies: one that is given a preference against one for each."""

import pytest

from paretopo_lab.study import grid, plan
from paretopo_lab.study.cells import fingerprint, run_cell
from paretopo_lab.study.plan import Cell
from paretopo_lab.study.report import write_report
from research.fronts import train_tabular_front
from research.grid import TABLES
from research.tasks import TASKS

GIVEN = {"paretopo.preference": "given"}


@pytest.mark.parametrize("method", [GIVEN, {}])
def test_both_learn_and_repeat(method):
    task = TASKS["tune_lucky"]
    settings = {"seed": 3, "steps": 240, "every": 120}
    rows = train_tabular_front(task, method, 3, **settings)
    assert [row["step"] for row in rows] == [0, 120, 240]
    assert rows[-1]["hypervolume"] > rows[0]["hypervolume"]
    assert rows[-1]["preference"] > 0.85 > rows[0]["preference"]
    assert rows == train_tabular_front(task, method, 3, **settings)


def test_a_study_of_fronts(tmp_path):
    table = {
        "study": {
            "methods": ["worth+given", "worth"],
            "seeds": 2,
            "preferences": 3,
            "steps": 60,
            "every": 30,
            "early": 30,
        },
        "switches": {"given": {"paretopo": {"preference": "given"}}},
        "tasks": {"tune_lucky": {}, "tune_free": {}},
    }
    study = plan.from_table(table, tables=TABLES)
    cell = Cell("tune_lucky", "worth+given", 1000)
    record = run_cell(study, cell, tmp_path)
    assert record["evaluations"]["step"] == [0, 30, 60]
    table["study"].pop("preferences")
    assert fingerprint(study, cell) != fingerprint(plan.from_table(table, tables=TABLES), cell)
    grid.run(study, tmp_path, workers=1, on_end=lambda *_: None)
    text = write_report(study, tmp_path).read_text(encoding="utf-8")
    assert "`worth+given` after 30 steps against the others at the end" in text
    assert "of one policy that is given a preference, or of 3 policies" in text
