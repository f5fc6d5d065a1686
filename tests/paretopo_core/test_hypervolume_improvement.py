"""hypervolume_improvement: the volume that candidates cover in boxes."""

import numpy as np
import pytest
from support.strategies import large_set

import paretopo_core as pp


@pytest.mark.parametrize("q", [1, 2, 3, 8, 20])
@pytest.mark.parametrize("objectives", [1, 2, 3, 4, 5])
def test_improvement_equals_the_gain_of_hypervolume(objectives, q):
    rng = np.random.default_rng(q)
    front = large_set("sphere", 12, objectives)
    candidates = rng.random((7, q, objectives)) * 0.9
    maximise = [m % 2 == 0 for m in range(objectives)]
    signs = np.where(maximise, 1, -1)
    ref = -0.05 * signs
    boxes = pp.nondominated_boxes(front * signs, ref, maximise=maximise)
    gains = pp.hypervolume_improvement(candidates * signs, boxes=boxes, maximise=maximise)
    for gain, each in zip(gains, candidates, strict=True):
        together = np.concatenate([front, each])
        expected = pp.hypervolume(together, -0.05) - pp.hypervolume(front, -0.05)
        assert gain == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_scales_beyond_products():
    boxes = pp.nondominated_boxes([[1e200, 1e-200, 1.0]], 0.0)
    gain = pp.hypervolume_improvement([[2e200, 2e-200, 1.0]], boxes=boxes)
    assert gain == pytest.approx(3.0, rel=1e-12)
    huge = pp.nondominated_boxes(np.full((1, 3), 1e150), 0.0)
    assert pp.hypervolume_improvement(np.full((2, 3), 2e150), boxes=huge) == np.inf
    tiny = pp.nondominated_boxes(np.full((1, 4), 1e-90), 0.0)
    assert pp.hypervolume_improvement(np.full((2, 4), 2e-90), boxes=tiny) == 0.0


def test_nothing_to_improve_with():
    boxes = pp.nondominated_boxes([[1.0, 2.0]], 0)
    assert pp.hypervolume_improvement(np.zeros((0, 2)), boxes=boxes) == 0.0
    assert pp.hypervolume_improvement(np.zeros((3, 0, 2)), boxes=boxes).tolist() == [0, 0, 0]
    assert pp.hypervolume_improvement([[9.0, -np.inf]], boxes=boxes) == 0.0
    assert pp.hypervolume_improvement([[9.0, 9.0]], boxes=boxes, mask=[False]) == 0.0
    empty = pp.dominated_boxes(np.zeros((0, 2)), 0)
    assert pp.hypervolume_improvement([[1.0, 1.0]], boxes=empty) == 0.0
    none = pp.nondominated_boxes(np.zeros((0, 3, 2)), 0)
    assert pp.hypervolume_improvement(np.zeros((0, 1, 2)), boxes=none).shape == (0,)
