"""Fronts of tabular policies: one that is given a preference against one for each."""

import pytest

from paretopo_lab.study import grid, plan
from paretopo_lab.study.cells import fingerprint, run_cell
from paretopo_lab.study.plan import Cell
from paretopo_lab.study.report import write_report
from research.front_scores import score_front
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


BEST = [[0.544, 0.408], [0.72, 0.39], [0.848, 0.336], [0.936, 0.252], [0.984, 0.138], [1.0, 0.0]]
WEIGHTS = [[one, 1.0 - one] for one in (1.0, 0.75, 0.5, 0.25, 0.0)]


def flip(share):
    """Return the point of a coin that asks the dear tool this often, whatever the question."""
    dear, cheap = BEST[-1], BEST[0]
    return [share * d + (1.0 - share) * c for d, c in zip(dear, cheap, strict=True)]


def test_coins_that_ignore_the_preference_have_no_utility():
    coins = [flip(share) for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    start = [0.544, 0.0]
    for given in ([coins[2]] * 5, [coins[at] for at in (1, 3, 0, 4, 2)], coins):
        assert score_front(given, BEST, start, WEIGHTS)["utility"] < 0.0
    # Coins that follow the preference, but ignore the question.
    following = score_front(coins[::-1], BEST, start, WEIGHTS)
    assert following["hypervolume"] == pytest.approx(0.456, abs=1e-3)
    assert following["utility"] == pytest.approx(0.036, abs=1e-3)
    best = [BEST[at] for at in (5, 4, 3, 1, 0)]
    scores = score_front(best, BEST, start, WEIGHTS)
    assert scores["utility"] == pytest.approx(1.0)
    assert (scores["order"], scores["distinct"]) == (1.0, 1.0)
