"""Fronts of tabular policies: one that is given a preference against one for each."""

import numpy as np
import pytest

from paretopo.preference import Preference
from paretopo_lab.study import grid, plan
from paretopo_lab.study.cells import fingerprint, run_cell
from paretopo_lab.study.plan import Cell
from paretopo_lab.study.report import write_report
from research.fronts import score_policies, train_tabular_front
from research.grid import TABLES
from research.tables import make_task
from research.tasks import TASKS

GIVEN = {"paretopo.preference": "given"}
# Two ways: right half of the time for nothing, or always for all that there is.
CHOICE = make_task("choice", "", [[0.5, 1.0]], [[0.0], [1.0]])
WISHES = [
    Preference("right", (1.0, 0.0)),
    Preference("both", (0.5, 0.5)),
    Preference("", (0.0, 1.0)),
]


def test_the_best_policies_are_worth_all_there_is():
    best = [np.array([[0.0, 1.0]]), np.array([[1.0, 0.0]]), np.array([[1.0, 0.0]])]
    scored = score_policies(CHOICE, best, WISHES)
    assert scored["preference"] == 1.0
    # From (0.75, 0.25), where both ways are alike: the points (1, 0) and (0.5, 0.5) gain nothing.
    assert scored["hypervolume"] == 0.0
    between = [np.array([[0.4, 0.6]]), *best[1:]]
    assert score_policies(CHOICE, between, WISHES)["hypervolume"] == 0.0


@pytest.mark.parametrize("method", [GIVEN, {}])
def test_both_learn_and_repeat(method):
    task = TASKS["tune_lucky"]
    settings = {"seed": 3, "steps": 240, "every": 120}
    rows = train_tabular_front(task, method, 3, **settings)
    assert [row["step"] for row in rows] == [0, 120, 240]
    assert rows[-1]["hypervolume"] > rows[0]["hypervolume"]
    assert rows[-1]["preference"] > 0.85 > rows[0]["preference"]
    assert rows == train_tabular_front(task, method, 3, **settings)


def test_both_begin_alike():
    task, settings = TASKS["tune_lucky"], {"seed": 3, "steps": 3, "every": 3}
    given, fixed = (train_tabular_front(task, one, 3, **settings)[0] for one in (GIVEN, {}))
    assert given == fixed


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
