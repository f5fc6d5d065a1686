"""Fronts of policies: one that is given a preference against one for each."""

from __future__ import annotations

import pytest
from support.studies import write_warmup

from paretopo.config import ConfigError, RunConfig, load
from paretopo.preference import Preferences
from paretopo.records.folder import RunFolder
from paretopo_lab.study import cells, plan
from paretopo_lab.study.cells import fingerprint, run_cell

FRONT = {
    "study": {
        "methods": ["worth+given", "worth"],
        "seeds": 1,
        "preferences": 3,
        "steps": 60,
        "every": 30,
        "early": 30,
    },
    "switches": {"given": {"paretopo": {"preference": "given"}}},
    "tasks": {
        "mine": {
            "config": "mine.toml",
            "cost": "dollars",
            "most": 4.0,
            "best_front": [[0.5, 0.5], [1.0, 0.0]],
        }
    },
}
MINE = '[[objectives]]\nname = "correct"\n[[objectives]]\nname = "dollars"\n'


def train_at_once(kind, path):
    """Write a training's folder as if its policy followed the given preferences."""
    config = load(path)
    grid = Preferences(config).grid if config.paretopo.preference == "given" else [None]
    run = RunFolder.create(config.run.out, config)
    for step in range(0, config.optimiser.steps + 1, config.evaluation.every):
        for one in grid:
            right = one.weights[0] if one else config.objectives[0].weight
            own = {"preference": one.text} if one else {}
            share = step / config.optimiser.steps
            run.append_evaluation(
                {
                    "step": step,
                    "solved": 0.5 + 0.5 * right * share,
                    "measured": {"correct": 0.0, "dollars": 4.0 * right * share},
                    "measured_of_solved": {"correct": 1.0, "dollars": 4.0 * right * share},
                    "response_tokens": 7.0,
                    **own,
                }
            )
    run.finish()
    write_warmup(config)
    trained.append(config)


trained: list[RunConfig] = []


def test_both_fronts_share_steps_and_scores(tmp_path, monkeypatch):
    (tmp_path / "mine.toml").write_text(MINE)
    monkeypatch.setattr(cells, "_run_command", train_at_once)
    study = plan.from_table(FRONT, base=tmp_path)
    trained.clear()
    given, fixed = (run_cell(study, cell, tmp_path / "runs") for cell in study.cells())
    assert [one.optimiser.steps for one in trained] == [60, 20, 20, 20]
    assert [one.objectives[0].weight for one in trained[1:]] == [1.0, 0.5, 0.0]
    assert len({fingerprint(study, cell) for cell in study.cells()}) == 2
    assert (len(given["start"]), len(fixed["start"])) == (1, 3)
    for name in given["evaluations"]:
        assert given["evaluations"][name] == fixed["evaluations"][name], name
    assert given["evaluations"]["step"] == [0, 30, 60]
    # At the end (1, 0), (0.75, 0.375), (0.5, 0.5), under the line from the first to the last.
    volume = 0.5 * 0.5 + 0.25 * 0.375
    assert given["evaluations"]["hypervolume"][-1] == round(volume / (0.25 + 0.125), 5)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"best_front": []}, "tasks.mine needs best_front, since study.preferences is given"),
        ({"best_front": [[1.0, 2.0]]}, "best_front must be pairs of numbers from 0 to 1"),
        ({"best_front": "all"}, "best_front must be pairs of numbers from 0 to 1, got 'all'"),
        ({"cost": "correct"}, "weighs being right against one cost, tasks.mine.cost = 'corr"),
    ],
)
def test_fronts_that_could_not_be_scored_are_refused(tmp_path, changed, message):
    (tmp_path / "mine.toml").write_text(MINE)
    table = {**FRONT, "tasks": {"mine": {**FRONT["tasks"]["mine"], **changed}}}
    with pytest.raises(ConfigError, match=message):
        plan.from_table(table, base=tmp_path)
