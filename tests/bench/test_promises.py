"""Promises are held against the rows of one run."""

from dataclasses import replace

from support.benchmarks import a_row

from bench import peers, rows
from bench.cases import OPERATIONS, VALID
from bench.promises import check_promises, count_losses, render


def promise_of(name, measured, isa="avx512"):
    (line,) = (line for line in check_promises(measured, isa) if line.name == name)
    return line.cells[1:]


def test_promises_are_held_against_the_rows():
    case = {"workload": "uniform", "points": 100_000, "objectives": 2}
    ours, theirs = a_row(**case), a_row(**case, peer="moocore", cpu_median_ms=7.0)
    first = "sort 100,000 uniform, 2 objectives, against moocore"
    kept = ("3.5 x (uniform 100000 x 2, moocore)", "at least 3 x", "1.17", "yes")
    assert promise_of(first, [ours, theirs]) == kept
    late = promise_of(first, [replace(ours, status="too slow"), theirs])
    assert late[-2:] == ("0.00", "NO")
    chain = a_row(workload="chain", points=20_000, objectives=3, cpu_median_ms=30.0)
    table = render(check_promises([chain], "avx2"))
    assert "| 30 ms (pareto_rank chain 20000 x 3)" in table
    assert table.count("not measured") == len(table.splitlines()) - 3


def test_targets_and_units_follow_the_instruction_set_and_the_groups():
    name = "fused rank-advantage, 1,000,000 groups of 8 x 2 float32, per group"
    measured = [a_row(operation="advantage", task="pareto_advantage", points=8, groups=10**6)]
    number = "2 ns (pareto_advantage uniform 8 x 2)"  # 2 ms for a million
    assert promise_of(name, measured) == (number, "at most 10 ns", "5.00", "yes")
    assert promise_of(name, measured, "avx2") == (number, "at most 15 ns", "7.50", "yes")


def test_threads_are_compared_by_the_wall_clock():
    one = a_row(operation="threads", groups=9, cpu_median_ms=1.0, wall_median_ms=3.0)
    two = replace(one, threads=2, cpu_median_ms=1.0, wall_median_ms=2.0)
    assert promise_of("batches on 2 threads against 1", [one, two])[0].startswith("1.5 x (")


def test_a_cliff_counts_upwards_and_downwards():
    name = "ranks of groups, both sides of a bound, against the trend"
    case = {"operation": "bounds", "groups": 200, "objectives": 2}
    pairs = (65 / 64) ** 2
    for factor, is_met in ((1.0, "yes"), (1.6, "NO"), (1 / 1.6, "NO")):
        sides = [
            a_row(**case, points=64, cpu_median_ms=3.0),
            a_row(**case, points=65, cpu_median_ms=3.0 * pairs * factor),
        ]
        measured, target, _, met = promise_of(name, sides)
        assert measured == f"{max(factor, 1 / factor):.3g} x the time (64 to 65 x 2)"
        assert (target, met) == ("at most 1.5 x the time", is_met)


def test_promises_hold_our_own_times_against_each_other():
    padded = a_row(operation="batches", workload="padded", points=64, groups=100, objectives=3)
    alone = replace(padded, workload="uniform", points=VALID, cpu_median_ms=1.0)
    name = f"ranks of 10,000 groups with {VALID} of 64 points, against these points only"
    place = "pareto_rank padded 64 x 3"
    assert promise_of(name, [padded, alone])[0] == f"2 x the time ({place})"
    front = a_row(operation="crowding", task="crowding_distance", workload="concave")
    others = [
        replace(front, peer="paretopo ranks", cpu_median_ms=0.5),
        replace(front, peer="numpy", cpu_median_ms=3.0),
    ]
    name = "crowding of one front, known to be one, against pygmo and NumPy"
    assert promise_of(name, [front, *others])[0].startswith("6 x (concave 30 x 2, numpy)")
    tiny = [
        a_row(operation="overhead", points=8, peer=name, cpu_median_ms=us * 1e-3)
        for name, us in (("paretopo", 1), ("paretopo list", 2), ("paretopo tensor", 3))
    ]
    for form, us in (("array", 1), ("list", 2), ("tensor", 3)):
        name = f"one call on one tiny {form}, the slowest of five tasks"
        assert promise_of(name, tiny)[0] == f"{us} us (pareto_rank uniform 8 x 2)"


def test_other_calls_of_ours_are_no_peers_unless_named():
    front = a_row(
        operation="filter", task="is_nondominated", workload="concave", points=1_000
    )  # 2 ms
    others = [
        replace(front, peer="paretopo ranks", cpu_median_ms=1.0),
        replace(front, peer="numpy", cpu_median_ms=6.0),
    ]
    name = "filter 1,000 and more concave, 2 objectives"
    measured = [front, *others]
    assert promise_of(name, measured)[0] == "3 x (concave 1000 x 2, numpy)"
    assert promise_of(f"{name}, against our ranks", measured)[0].startswith("0.5 x")


def test_every_promise_can_be_measured_by_the_full_cases():
    """A promise without a case would always read "not measured"."""
    measured = [
        rows.Measurement(**case.as_dict(), peer=peer, version="1", status="ok", cpu_median_ms=1.0,
                         wall_median_ms=1.0)
        for make_cases in OPERATIONS.values()
        for case in make_cases()
        for peer in peers.ON_CPU
    ]  # fmt: skip
    promised = check_promises(measured, "avx512")
    assert [promise.name for promise in promised if promise.measured is None] == []


def test_cases_in_which_a_peer_is_ahead_are_counted():
    front = {"operation": "filter", "task": "is_nondominated", "workload": "concave"}
    measured = [
        a_row(**front, points=1000, cpu_median_ms=2.0),
        a_row(**front, points=1000, peer="numpy", cpu_median_ms=1.0),
        a_row(**front, points=1000, peer="paretopo ranks", cpu_median_ms=0.1),
        a_row(**front, points=2000, cpu_median_ms=2.0),
        a_row(**front, points=2000, peer="numpy", cpu_median_ms=3.0),
        a_row(**front, points=3000, cpu_median_ms=1.0),
    ]
    objectives = measured[0].objectives
    assert count_losses(measured) == (
        "A peer is faster in 1 of the 2 cases that a peer offers: "
        f"0.5 x is_nondominated concave 1000 x {objectives}, numpy.\n"
    )
    assert (
        count_losses(measured[3:]) == "A peer is faster in 0 of the 1 cases that a peer offers.\n"
    )
