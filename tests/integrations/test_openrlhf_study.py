"""A study on Ray, which the environment of OpenRLHF has: the same records as on this machine."""

from __future__ import annotations

import pytest

pytest.importorskip("ray")

from paretopo_core.training.study import grid  # noqa: E402
from paretopo_core.training.study import plan as plans  # noqa: E402


def test_a_study_on_ray_has_the_records_of_one_at_home(tmp_path):
    plan = plans.of_table(
        {
            "study": {"methods": ["recommended", "grpo"], "seeds": 2, "steps": 10},
            "tasks": {"free": {}, "concave": {}},
        }
    )
    ended = []
    failures = grid.run(
        plan, tmp_path / "ray", ray="local", done=lambda cell, failure: ended.append(cell)
    )
    assert not failures
    assert sorted(map(str, ended)) == sorted(map(str, plan.cells()))
    assert not grid.run(plan, tmp_path / "here", workers=2)
    there, here = grid.records(plan, tmp_path / "ray"), grid.records(plan, tmp_path / "here")
    assert list(there) == list(here) == plan.cells()
    for cell in plan.cells():
        assert there[cell]["evaluations"] == here[cell]["evaluations"]
