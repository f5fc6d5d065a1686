"""D3PO's regulariser."""

import numpy as np
import pytest

from research.diversity import measure_diversity
from research.fronts import D3PO, train_tabular_front
from research.tasks import TASKS


def test_the_regulariser_by_hand():
    """The policies are (1/2, 1/2) and (3/4, 1/4), so KL = log(4/3) / 2 = 0.143841, against 0.1.

    With 2 (KL - 0.1) = 0.087682, the first logits move by 0.087682 (log(2/3) - KL) / 2 and the
    second ones by 0.087682 (3/4 - 1/2).
    """
    logits = np.array([[[0.0, np.log(3.0)], [0.0, 0.0]]])
    loss, gradient = measure_diversity(logits, [[[1.0, 0.0]]], [[[0.0, 1.0]]], scale=0.05)
    assert loss == pytest.approx(0.001922, abs=1e-6)
    np.testing.assert_allclose(
        gradient, [[[-0.024082, 0.021921], [0.024082, -0.021921]]], atol=1e-6
    )


def test_the_gradient_is_that_of_the_loss():
    rng = np.random.default_rng(0)
    logits = rng.standard_normal((3, 4, 2))
    weights, others = rng.dirichlet([1.0, 1.0], (2, 3, 5))
    _, gradient = measure_diversity(logits, weights, others, 0.7)
    step = 1e-6
    for at in [(0, 0, 0), (1, 3, 1), (2, 2, 0)]:
        ahead, behind = logits.copy(), logits.copy()
        ahead[at] += step
        behind[at] -= step
        slope = (
            measure_diversity(ahead, weights, others, 0.7)[0]
            - measure_diversity(behind, weights, others, 0.7)[0]
        ) / (2.0 * step)
        assert gradient[at] == pytest.approx(slope, rel=1e-5)


def test_equal_preferences_cost_nothing():
    logits = np.random.default_rng(1).standard_normal((2, 3, 2))
    same = np.full((2, 4, 2), 0.5)
    loss, gradient = measure_diversity(logits, same, same, 1.0)
    assert loss == pytest.approx(0.0, abs=1e-24)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-12)


def test_d3po_learns_a_front_and_its_regulariser_has_an_effect():
    method = {
        "paretopo.preference": "given",
        "paretopo.stage1_steps": 0,
        "paretopo.stage2_estimator": D3PO,
        "paretopo.gate": "success",
    }
    settings = {"seed": 3, "steps": 240, "every": 240}
    first, last = train_tabular_front(TASKS["tune_lucky"], method, 3, **settings)
    assert last["preference"] > 0.85 > first["preference"]
    without = train_tabular_front(TASKS["tune_lucky"], method, 3, diversity=(0.0, 1.0), **settings)
    assert without[-1]["preference"] != last["preference"]
