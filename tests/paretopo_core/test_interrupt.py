"""Ctrl-C ends a long call, soon and without harm."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest
from support.operations import calls
from support.strategies import large_set

import paretopo_core as pp

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals the POSIX way")

_SOON = 0.5  # seconds of processor time, of calls that take many


def boxes() -> pp.Boxes:
    return pp.nondominated_boxes(large_set("sphere", 50, 5), 0.0)


# Most go on for many times as long as the signal takes to come; the machine may be fast.
# A call of None is that of the table with the name.
LONG: dict[str, tuple[tuple[str, int, int], Callable[[np.ndarray], object] | None]] = {
    "pareto_rank": (("uniform", 500_000, 7), None),
    "ranks in three objectives": (("antichain", 3_000_000, 3), pp.pareto_rank),
    "ranks in two objectives": (("uniform", 6_000_000, 2), pp.pareto_rank),
    "is_nondominated": (("sphere", 300_000, 6), None),
    "the filter in two objectives": (("sphere", 6_000_000, 2), pp.is_nondominated),
    "many groups": (
        ("uniform", 4_000_000, 3),
        lambda x: [pp.pareto_rank(x.reshape(-1, 100, 3)) for _ in range(9)],
    ),
    "hypervolume": (("sphere", 400, 12), None),
    "a volume of four objectives": (("sphere", 150_000, 4), lambda x: pp.hypervolume(x, -0.1)),
    "hypervolume_contributions": (("sphere", 20_000, 6), None),
    "hypervolume_gradient": (("sphere", 4_000, 4), None),
    "expected volumes": (("uniform", 90, 6), lambda x: pp.expected_hypervolume(x, -0.1, k=3)),
    "nondominated_boxes": (("sphere", 100_000, 3), None),
    "improvements": (
        ("uniform", 40_000, 5),
        lambda x: pp.hypervolume_improvement(x.reshape(-1, 20, 5), boxes=boxes()),
    ),
    "expected improvements": (
        ("uniform", 200_000, 5),
        lambda x: pp.expected_hypervolume_improvement(x, 0.1, boxes=boxes()),
    ),
    "indicators": (
        ("sphere", 100_000, 5),
        lambda x: pp.inverted_generational_distance(x[:50_000], x[50_000:]),
    ),
    "estimates": (
        ("sphere", 2_000, 8),
        lambda x: pp.hypervolume_approx(x, -0.1, samples=1 << 22, rng=0),
    ),
    "attainment": (
        ("sphere", 200_000, 3),
        lambda x: pp.attainment_surfaces(x, np.arange(len(x)) % 40),
    ),
    "greedy subsets": (("sphere", 3_000, 5), lambda x: pp.hypervolume_subset(x, -0.1, k=1_000)),
    "subsets by removal": (
        ("sphere", 3_000, 4),
        lambda x: pp.hypervolume_subset(x, -0.1, k=100, method="greedy_removal"),
    ),
    "the best subset": (
        ("sphere", 60_000, 2),
        lambda x: pp.hypervolume_subset(x, -0.1, k=1_000, method="exact"),
    ),
    "select, crowding_removal": (("uniform", 30_000, 80), None),
    "niches": (
        ("sphere", 20_000, 5),
        lambda x: pp.select(
            x, k=5_000, method="reference_directions", directions=pp.reference_directions(5, 9)
        ),
    ),
    "estimates of contributions": (
        ("sphere", 500, 8),
        lambda x: pp.hypervolume_contributions_approx(x, -0.1, rng=0),
    ),
    "uncrowded_contributions": (("sphere", 3_000, 3), None),
    "dominance under noise": (
        ("uniform", 9_000, 4),
        lambda x: pp.stochastic_dominance(x, sigma=0.1),
    ),
    "stochastic_pareto_rank": (("uniform", 9_000, 4), None),
    "all weights of two objectives": (("sphere", 5_000_000, 2), lambda x: pp.r2_indicator(x, 2)),
    "boxes with weights": (
        ("uniform", 2_000_000, 3),
        lambda x: pp.weighted_hypervolume(
            x, -0.1, boxes=(np.zeros((500, 3)), np.ones((500, 3))), weights=np.ones(500)
        ),
    ),
    "crowding": (
        ("uniform", 100_000, 80),
        lambda x: pp.crowding_distance(x, ranks=np.zeros(len(x), np.int32)),
    ),
}


@pytest.fixture
def _interrupts() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def spent_after_ctrl_c(call: Callable[[], object], after: float = 0.2) -> float:
    """How long a call went on once the signal had come, both in seconds of processor time.

    It is made again and again until the signal comes, so that no machine is too fast for the test.
    """
    sent: list[float] = []
    start, latest = time.process_time(), time.monotonic() + 30 * after

    def press() -> None:
        while time.process_time() - start < after and time.monotonic() < latest:
            time.sleep(0.005)
        sent.append(time.process_time())
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    presser = threading.Thread(target=press)
    try:
        presser.start()
        while not sent or time.process_time() - sent[0] < 60:
            call()
        pytest.fail("the call never saw the signal")
    except KeyboardInterrupt:
        return time.process_time() - sent[0]
    finally:
        presser.join()


@pytest.mark.usefixtures("_interrupts")
@pytest.mark.parametrize("count", [pytest.param(1, marks=pytest.mark.long), 2])
@pytest.mark.parametrize("name", LONG)
def test_a_long_call_ends_soon(name, count, threads):
    threads(count)
    shape, call = LONG[name]
    call = call or calls([name])[name]
    points, small = large_set(*shape), large_set("sphere", 50, 4)

    def answers():
        return (
            pp.hypervolume(small, -0.1),
            pp.hypervolume_contributions(small, -0.1),
            pp.pareto_rank(small),
        )

    expected = answers()
    assert spent_after_ctrl_c(lambda: call(points)) < _SOON * count
    for before, after in zip(expected, answers(), strict=True):
        np.testing.assert_array_equal(before, after)


@pytest.mark.usefixtures("_interrupts")
@pytest.mark.parametrize(("count", "objectives"), [(3_000_000, 2), (60_000, 6)])
def test_interrupted_archive_keeps_earlier_points(count, objectives):
    points = large_set("sphere", count, objectives)
    archive = pp.ParetoArchive([-0.1] * objectives, keep_history=True)
    parts = np.split(points, range(60_000, count, 60_000))  # Python's checks of one take no time
    assert spent_after_ctrl_c(lambda: [archive.extend(part) for part in parts]) < _SOON
    count = archive.additions
    assert 0 < count < len(points)
    np.testing.assert_array_equal(archive.history, points[:count])
    np.testing.assert_array_equal(archive.points, points[archive.indices])
    assert archive.hypervolume == pytest.approx(archive.recomputed_hypervolume(), rel=1e-9)
    archive.add(points[count])
    assert archive.additions == count + 1


def test_signal_handler_may_compute_but_not_use_a_busy_archive():
    points = large_set("sphere", 60_000, 4)
    archive = pp.ParetoArchive([-0.1] * 4)
    seen: list[object] = []

    def handler(*_: object) -> None:
        seen.append(pp.hypervolume(points[:100], -0.1))
        try:
            seen.append(len(archive))
        except RuntimeError as error:
            seen.append(str(error))
        raise StopIteration

    before = signal.signal(signal.SIGUSR1, handler)
    timer = threading.Timer(
        0.3, lambda: signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)
    )
    try:
        timer.start()
        with pytest.raises(StopIteration):
            archive.extend(points)
    finally:
        timer.join()
        signal.signal(signal.SIGUSR1, before)
    assert seen[0] == pp.hypervolume(points[:100], -0.1)
    assert isinstance(seen[1], int) or "in the middle of another call" in str(seen[1])


@pytest.mark.usefixtures("_interrupts")
def test_other_threads_go_on():
    points = large_set("sphere", 3_000, 5)
    results: list[float] = []
    worker = threading.Thread(target=lambda: results.append(pp.hypervolume(points, -0.1)))
    worker.start()
    spent_after_ctrl_c(lambda: [time.sleep(0.01) for _ in range(1_000)], after=0.02)
    worker.join()
    assert results == [pp.hypervolume(points, -0.1)]
