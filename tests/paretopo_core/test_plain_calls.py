"""Plain arguments take the short way into the compiled core."""

import sysconfig

import numpy as np
import pytest
from support.operations import CALLS

from paretopo_core import _core


def test_the_short_way_is_taken():
    plain = [((1.0, 2.0), (2.0, 1)), np.eye(2), np.eye(2, dtype="f4"), np.eye(2)[::-1]]
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):  # no other thread can change the list
        plain.append([[1, 2.0], [2, 1]])
    for points in plain:
        assert _core.pareto_rank.call(points, True, None).tolist() == [0, 0]
        assert _core.hypervolume.call(points, (True, True), None, (-1, -1.0)) is not None
    fronts = np.array([0, 3], np.int32)
    assert _core.crowding_distance.call(np.eye(2), True, None, fronts) is not None
    assert _core.crowding_distance.call(np.eye(2), True, None, fronts.astype(np.int64)) is None
    assert _core.crowding_distance.call(np.eye(2), True, None, fronts[:1]) is None
    assert _core.pareto_rank.call(np.eye(2, dtype=">f8"), True, None) is None
    assert _core.pareto_rank.call([[True, 1.0]], True, None) is None


def test_tensors_of_any_layout():
    torch = pytest.importorskip("torch")
    numbers = torch.from_numpy(np.random.default_rng(1).random((4, 6, 3)))
    layouts = {
        "later in its memory": numbers[1:],
        "float": numbers.float(),
        "columns": numbers.transpose(1, 2).contiguous().transpose(1, 2),
        "every other": numbers[:, ::2],
        "the same rows": numbers[:1].expand(3, 6, 3),
        "one set, other steps": numbers.as_strided((1, 6, 3), (7, 3, 1)),
        "one point, other steps": numbers.as_strided((4, 1, 3), (3, 5, 1)),
        "half": numbers.half(),
        "integers": (numbers * 9).long(),
        "no points": numbers[:, :0],
        "no sets": numbers[:0],
    }
    for layout, tensor in layouts.items():
        for name in ("pareto_rank", "hypervolume", "hypervolume_contributions"):
            ours = CALLS[name].run(tensor, 0.1, maximise=True, mask=None)
            plain = np.array(tensor.tolist(), dtype="f4" if layout == "float" else "f8")
            expected = CALLS[name].run(plain.reshape(tensor.shape), 0.1, maximise=True, mask=None)
            np.testing.assert_array_equal(ours.numpy(), expected, err_msg=f"{layout}, {name}")
    for short in ("later in its memory", "float", "one set, other steps", "one point, other steps"):
        capsule = torch.to_dlpack(layouts[short])
        assert _core.pareto_rank.call(capsule, True, None) is not None, short
