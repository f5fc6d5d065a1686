"""A study on Ray, which the environment of OpenRLHF has: the same records as on this machine."""

import pytest
from support.rehearsals import command

from paretopo_lab.study import plan
from paretopo_lab.study.records import read_records
from research.grid import TABLES

pytest.importorskip("ray")

STUDY = """
[study]
methods = ["recommended", "grpo"]
seeds = 2
steps = 10
[tasks.free]
[tasks.concave]
"""


def test_a_study_on_ray_has_the_records_of_one_at_home(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(STUDY, encoding="utf-8")
    records = []
    for where in (["--ray", "local"], ["--workers", "2"]):
        out = tmp_path / where[0].strip("-")
        command(tmp_path, "research", str(file), "--out", str(out), *where)
        done = read_records(plan.load(file, tables=TABLES), out)
        assert len(done) == 8
        records.append({cell: row["evaluations"] for cell, row in done.items()})
    assert records[0] == records[1]
