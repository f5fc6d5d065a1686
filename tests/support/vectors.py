"""Cases of the test vectors, as arrays, and the comparison with their advantages."""

from __future__ import annotations

import numpy as np

from paretopo.config import ParetoPOConfig
from paretopo.config.switches import Limit
from paretopo.vectors import FAMILIES, load

TOLERANCE = {"float64": 1e-9, "float32": 1e-4}
# Advantages that no estimator of ours has; the audit recognises them.
OF_OTHERS = ("reinforce_pp", "reinforce_pp_baseline")
DEFAULTS = {"epsilon": 1e-6, "divisor": "n-1"}


def list_cases():
    """Return the cases of single estimators."""
    return [case for family in FAMILIES if family != "controller" for case in load(family)]


def is_ours(case) -> bool:
    fixed = {name: case["settings"].get(name, default) for name, default in DEFAULTS.items()}
    return fixed == DEFAULTS and case["estimator"] not in OF_OTHERS


def read_switches(case) -> tuple[str, dict]:
    """Return the name and the switches of our estimator."""
    switches = {name: one for name, one in case["settings"].items() if name not in DEFAULTS}
    name = "hypervolume" if case["estimator"] == "pass_at_k" else case["estimator"]
    return name, switches


def pad(case, dtype="float64"):
    """Return (groups, points, objectives) rewards, the mask, and the place of each row."""
    names = [*dict.fromkeys(case["groups"])]
    points = max(map(case["groups"].count, names))
    rewards = np.full((len(names), points, len(case["weights"])), np.nan, dtype)
    mask = np.zeros(rewards.shape[:2], np.bool_)
    filled, places = dict.fromkeys(names, 0), []
    for name, row in zip(case["groups"], case["rewards"], strict=True):
        place = names.index(name), filled[name]
        filled[name] += 1
        places.append(place)
        if row is not None:
            rewards[place], mask[place] = row, True
    return rewards, mask, tuple(np.array(places).T)


def make_config(case) -> ParetoPOConfig:
    """Return the controller's configuration of a case; without floors it has no gate."""
    settings = {name: one for name, one in case["settings"].items() if name not in DEFAULTS}
    floors, limits = settings.pop("floors", None), settings.pop("limits", ())
    given = {"stage1_steps": 0, "group_filter": "off", "economies": "each"} | settings
    given["stage2_estimator"] = given.pop("estimator", case.get("estimator"))
    if given["stage2_estimator"] == "hypervolume":
        given.setdefault("centre", "exact")
    return ParetoPOConfig(
        weights=tuple(case["weights"]),
        gate="none" if floors is None else "success",
        floors=None if floors is None else tuple(floors),
        limits=tuple(Limit(**one) for one in limits),
        **given,
    )


def check(found, case, dtype="float64", tolerance=None):
    """Compare advantages, in units of the largest one; all 0 must be 0."""
    wanted = np.array(case["advantages"])
    largest = np.abs(wanted).max() or 1.0
    share = np.asarray(found, np.float64) / largest
    np.testing.assert_allclose(
        share,
        wanted / largest,
        rtol=0.0,
        atol=tolerance or TOLERANCE[dtype],
        err_msg=case.get("name", ""),
    )
