"""Every estimator gives the advantages of the test vectors, through each door of this package."""

from __future__ import annotations

import numpy as np
import pytest
from support.sessions import new_session
from support.vectors import check, is_ours, list_cases, make_config, pad, read_switches

from paretopo.controller.by_group import advantages_by_group
from paretopo.controller.estimators import ESTIMATORS
from paretopo.rollout import Rollout
from paretopo.vectors import load
from scripts import make_vectors

# The vectors of other estimators are tested with the studies, which have them.
CASES = [one for one in list_cases() if is_ours(one) and read_switches(one)[0] in ESTIMATORS]
CONTROLLED = load("controller")


def test_the_files_are_those_of_the_program():
    for family, text in make_vectors.make_files().items():
        assert (make_vectors.FOLDER / f"{family}.json").read_text(encoding="utf-8") == text


def test_every_estimator_has_vectors():
    assert {read_switches(case)[0] for case in CASES} == set(ESTIMATORS)


def test_an_unknown_family_is_refused():
    with pytest.raises(ValueError, match=r"family must be one of scalarised, .* got 'scalar'"):
        load("scalar")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("estimator", sorted({case["estimator"] for case in CASES}))
def test_an_estimator_is_its_formula(estimator, dtype):
    for case in CASES:
        if case["estimator"] != estimator or dtype not in case.get("dtypes", [dtype]):
            continue
        rewards, mask, places = pad(case, dtype)
        name, switches = read_switches(case)
        found = ESTIMATORS[name](rewards, case["weights"], mask=mask, **switches)
        assert found.dtype == np.float64
        check(found[places], case, dtype)


@pytest.mark.parametrize("case", CONTROLLED, ids=lambda case: case["name"])
def test_the_controller_takes_its_steps(case, tmp_path):
    if "economy" in case["settings"]:
        take = open_recipe(tmp_path, case["weights"])
    else:
        config, state = make_config(case), None

        def take(rewards, groups):
            nonlocal state
            found, state = advantages_by_group(rewards, groups, config, state)
            return found

    for step in case["steps"]:
        check(take(step["rewards"], step["groups"]), step)


def open_recipe(folder, weights):
    text = "".join(
        f'[[objectives]]\nname = "{name}"\nweight = {weight}\n'
        for name, weight in zip(("correct", "calls"), weights, strict=True)
    )
    session = new_session(folder, text, paretopo__stage1_steps=0)

    def take(rewards, groups):
        rollouts = {}
        for name, (right, calls) in zip(groups, rewards, strict=True):
            one = Rollout(name, {"correct": right, "calls": calls})
            rollouts.setdefault(name, []).append(one)
        scored = session.score([*rollouts.values()])
        return np.concatenate(session.advantages([one.rollouts for one in scored]))

    return take
