"""One table, name to estimator: how reward vectors of a group become advantages.

Every estimator is called alike::

    f(rewards, weights, *, mask=None, **switches) -> advantages

``rewards`` has shape (groups, points, objectives), larger is better, in NumPy or in torch on any
device; ``weights`` has one number per objective; ``mask`` (groups, points) is False where a ragged
group is padded. The result is float64 (groups, points), 0 where masked. ``f.switches`` names the
switches that an estimator has; others are left aside. Formulas, sources, claims and known faults:
``docs/mathematics.md``.

>>> import numpy as np
>>> rewards = np.array([[[1.0, 1.0], [1.0, 0.5], [0.0, 0.0], [0.0, 0.0]]])
>>> ESTIMATORS["dr_grpo"](rewards, [0.6, 0.4]).round(2)
array([[ 0.55,  0.35, -0.45, -0.45]])
>>> ESTIMATORS["pareto"](rewards, [0.6, 0.4], beta=0.5, centre="none")
array([[3., 2., 1., 1.]])
"""

from __future__ import annotations

from paretopo.controller.estimators.control import constant
from paretopo.controller.estimators.decoupled import gd2po, gdpo, mo_grpo, saw, saw_grpo
from paretopo.controller.estimators.estimator import Estimator, refuse_broken
from paretopo.controller.estimators.ranked import lexicographic, pareto, soft_pareto
from paretopo.controller.estimators.scalarised import dr_grpo, grpo, rloo
from paretopo.controller.estimators.volume import hypervolume, hypervolume_gd2po

__all__ = ["ESTIMATORS", "Estimator", "refuse_broken"]

ESTIMATORS: dict[str, Estimator] = {
    method.__name__: Estimator(method)
    for method in (
        pareto,
        soft_pareto,
        lexicographic,
        hypervolume,
        hypervolume_gd2po,
        grpo,
        dr_grpo,
        rloo,
        mo_grpo,
        gdpo,
        gd2po,
        saw,
        saw_grpo,
        constant,
    )
}
