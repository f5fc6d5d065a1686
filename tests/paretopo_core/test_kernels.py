"""Every kernel, call by call, against the CPU: sets of every kind, several jobs for each warp."""

import numpy as np
import pytest
from support import ptx_machine
from support.device_arrays import DeviceArray, emulate, view_at
from support.kernel_cases import cases

import paretopo_core as pp
from paretopo_core import _core

pytestmark = pytest.mark.emulated

CASES = list(cases())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", sorted({case.name for case in CASES}))
def test_kernels_answer_as_the_cpu(name, dtype):
    for case in CASES:
        if case.name == name and case.points.dtype == dtype:
            assert case.is_right(case.on_device()), str(case)


@pytest.mark.parametrize("shape", [(200, 8, 2), (200, 8, 4), (200, 5, 3), (200, 16, 3)])
@pytest.mark.parametrize("finite", [True, False])
def test_numbers_whose_differences_round_to_nothing(shape, finite):
    """A thread compares by differences, which infinities and NaN have none of."""
    kinds = [0.0, -0.0, 1e-45, -1e-45, 1e-38, 1.0, 1.0000001, 3e38, -3e38]
    points = np.random.default_rng(3).choice(
        np.array(kinds if finite else [*kinds, np.inf, -np.inf, np.nan], np.float32), shape
    )
    mask = np.random.default_rng(4).random(shape[:2]) < 0.8
    maximise = [m % 2 == 0 for m in range(shape[-1])]
    for of in (None, mask):
        for operation in (
            lambda x, of: pp.pareto_rank(x, maximise=maximise, mask=of),
            lambda x, of: pp.is_nondominated(x, maximise=maximise, duplicates="first", mask=of),
            lambda x, of: pp.is_nondominated(x, maximise=maximise, mask=of),
        ):
            with emulate("thread"):
                found = operation(DeviceArray(points), None if of is None else DeviceArray(of))
            np.testing.assert_array_equal(found.host, operation(points, of))


def advantages(points):
    with emulate("warp"):
        return pp.pareto_advantage(DeviceArray(points), weights=[0.5, 0.25, 0.25]).host


@pytest.mark.ptx
class TestTheMachine:
    """It would be of no use if it found nothing."""

    points = np.random.default_rng(1).integers(0, 4, (9, 40, 3)).astype(np.float32)

    @pytest.fixture(autouse=True)
    def as_a_device(self):
        ptx_machine.settle()
        yield
        ptx_machine.leave_out(None)
        ptx_machine.settle()
        ptx_machine.forget()

    def rank(self, ranks, points=None, shift=0, is_input=True):
        """Rank two sets of 3 points with 2 objectives, in memory that is lent as a test asks."""
        if points is None:
            points = np.arange(12, dtype=np.float32)
        ptx_machine.lend(points, is_input=is_input)
        view = view_at(points.ctypes.data + shift, ranks)
        _core.pareto_rank.call(view, True, None)
        return " ".join(ptx_machine.findings())

    def lent(self, size, **how):
        array = np.empty(size, np.int32)
        ptx_machine.lend(array, **({"is_input": False} | how))
        return array

    def test_a_sound_call_has_no_findings(self):
        ranks = self.lent(6)
        assert not self.rank(ranks)
        assert ptx_machine.unwritten(ranks) == 0
        assert ranks.tolist() == [2, 1, 0, 2, 1, 0]

    def test_access_out_of_bounds(self):
        assert "out of bounds: line" in self.rank(self.lent(5))
        assert "out of bounds: line" in self.rank(self.lent(6), np.ones(11, np.float32))

    def test_an_output_that_is_an_input(self):
        assert "write into an input" in self.rank(self.lent(6, is_input=True))

    def test_a_misaligned_address(self):
        assert "misaligned" in self.rank(self.lent(6), np.ones(13, np.float32), shift=2)

    def test_uninitialised_memory_is_reported(self):
        assert "uninitialised global memory" in self.rank(self.lent(6), is_input=False)

    def test_a_wait_that_is_missing(self):
        expected = pp.pareto_advantage(self.points, weights=[0.5, 0.25, 0.25])
        np.testing.assert_array_equal(advantages(self.points), expected)
        kernels = [name for name, counts in ptx_machine.counts().items() if counts.launches]
        own = [wait for wait in ptx_machine.waits() if wait.kernel in kernels]
        found = []
        for wait in own:
            ptx_machine.forget()
            ptx_machine.leave_out(wait)
            advantages(self.points)
            found += ptx_machine.findings()
        assert len(own) > 3
        assert any("race in shared memory" in finding for finding in found)

    @pytest.mark.parametrize("schedule", range(5))
    def test_every_schedule_gives_the_same_bits(self, schedule):
        expected = pp.pareto_advantage(self.points, weights=[0.5, 0.25, 0.25])
        with emulate("warp"):
            ptx_machine.settle(0, seed=schedule, schedule=schedule)
            found = pp.pareto_advantage(DeviceArray(self.points), weights=[0.5, 0.25, 0.25]).host
        np.testing.assert_array_equal(found, expected)
        assert not ptx_machine.findings()

    def test_work_goes_to_the_stream_of_the_array(self):
        with emulate("warp"):
            pp.pareto_rank(DeviceArray(self.points, stream=0x70))
        assert ptx_machine.streams() == {0x70: 1}
