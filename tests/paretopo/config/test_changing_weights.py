"""Weights that change during a training: the file's keys, the controller, and the records."""

from __future__ import annotations

import json

import numpy as np
import pytest

from paretopo.config import ConfigError, ParetoPOConfig, loads
from paretopo.controller.by_group import advantages_by_group
from paretopo.controller.two_stages import ParetoPO
from paretopo.records.folder import RunFolder
from paretopo.rollout import Rollout
from paretopo.session import Session

FILE = """
[[objectives]]
name = "correct"
weight = 3
[[objectives]]
name = "tokens"
weight = 2
start_weight = [0, 1, 3]
economy = "raw"
[paretopo]
stage2_estimator = "rloo"
"""
VECTORS = np.array([[[1.0, -9.0], [1.0, -5.0], [0.0, -1.0]]])


def test_a_step_is_that_of_fixed_weights():
    changing, state = loads(FILE).paretopo, None
    for weights in [(1.0, 0.0), (0.75, 0.25), (0.6, 0.4), (0.6, 0.4)]:
        fixed = ParetoPO(ParetoPOConfig(weights=weights, stage2_estimator="rloo", gate="success"))
        # The state goes through a checkpoint.
        found, state = advantages_by_group(VECTORS[0], "aaa", changing, state)
        state = json.loads(json.dumps(state))
        np.testing.assert_allclose(found, fixed.step(VECTORS).advantages[0], atol=1e-12)


def test_rows_record_the_weights(tmp_path):
    run = RunFolder.create(tmp_path, loads(FILE))
    session = Session(run, prompts=8, steps_per_epoch=2)
    for step in (1, 2):
        rollouts = [Rollout("q", {"correct": 1.0, "tokens": n}, tokens=n) for n in (5, 9)]
        [group] = session.score([rollouts])
        session.advantages([group.rollouts])
        session.record_step(step, {})
    assert [row["weight"] for row in run.steps()] == [
        {"correct": 1.0, "tokens": 0.0},
        pytest.approx({"correct": 0.75, "tokens": 0.25}),
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "[0, 1, 3]",
            "[0, 3, 3]",
            r"a weight and two steps, such as \[0.0, 20, 60\], got start_weight = \(0.0, 3",
        ),
        ("[0, 1, 3]", "[0, 1.5, 3]", "start_weight must be a weight and two steps"),
        ("[0, 1, 3]", "[0, 3]", "start_weight must be a weight and two steps"),
        ("weight = 2\n", "", "weight must be given with start_weight"),
        ("weight = 3", "weight = 0", "must have a weight above 0 in every step"),
        ("[paretopo]", '[paretopo]\nweighting = "equal"', "start_weight has no effect with"),
        ("[paretopo]", '[paretopo]\npreference = "given"', "exclude each other"),
    ],
)
def test_weights_that_cannot_change_so_are_refused(old, new, message):
    with pytest.raises(ConfigError, match=message):
        loads(FILE.replace(old, new))
