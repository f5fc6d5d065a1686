"""Peers give right answers and run only the cases that they support."""

import pytest
from support.benchmarks import PLAN

from bench import judge, peers, plots, worker
from bench.cases import Case
from bench.runner import Runner


@pytest.mark.parametrize(
    ("name", "task", "objectives"),
    [
        *(
            ("numpy", task, 2)
            for task in (
                "is_nondominated",
                "hypervolume",
                "hv_contributions",
                "hypervolume_gradient",
                "crowding_distance",
            )
        ),
        ("numpy", "crowding_distance", 3),
        *(("paretopo", "hypervolume_gradient_of_few", objectives) for objectives in (2, 3)),
        *(("paretopo ranks", task, 3) for task in ("is_nondominated", "crowding_distance")),
        *(
            (f"paretopo {form}", task, 2)
            for form in ("list", "tensor")
            for task in ("pareto_rank", "hv_contributions", "pareto_advantage")
        ),
    ],
)
def test_baseline_code_is_right_on_a_front(name, task, objectives):
    case = Case("any", task, "concave", 40, objectives)
    answer = peers.prepare(peers.make(name), case).run()
    assert judge.find_error(case, answer, judge.solve(case)) is None


def test_front_only_peers_skip_other_sets():
    for task in ("hypervolume", "hv_contributions", "hypervolume_gradient"):
        case = Case("any", task, "uniform", 40, 2)
        assert peers.prepare(peers.make("numpy"), case) is None
    case = Case("any", "crowding_distance", "uniform", 40, 2)
    assert peers.prepare(peers.make("paretopo ranks"), case) is None


def test_a_peer_is_left_out_where_it_is_not_installed(monkeypatch):
    monkeypatch.setitem(peers.PEERS, "moocore", (("no-such-package",), "in_numpy:Moocore"))
    runner = Runner(PLAN)
    assert runner.missing == ["moocore"]
    assert list(runner.versions) == ["paretopo"]
    assert worker.JUDGE not in peers.PEERS
    assert {name: plots._style(name)["color"] for name in peers.PEERS}
