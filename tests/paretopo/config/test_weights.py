"""Weights that a file or `--set` gives hold under every method, 0 included."""

import numpy as np
import pytest

from paretopo.config import METHODS, ConfigError, from_table, with_method
from paretopo.controller.two_stages import ParetoPO

ALL_ALIKE = ["gdpo", "gd2po"]
CORRECT, CALLS = {"name": "correct"}, {"name": "calls", "economy": "saving"}
TOKENS = {"name": "tokens", "economy": "saving"}
# Methods of two objectives, and those whose reference needs every weight above 0.
REFUSED = {"otc_grpo": "is for two objectives", "hypervolume": "needs weights above 0"}


def file(*weights):
    names = (CORRECT, CALLS, TOKENS)
    return {
        "objectives": [
            {**one, "weight": weight} for one, weight in zip(names, weights, strict=False)
        ]
    }


@pytest.mark.parametrize("name", ALL_ALIKE)
def test_weights_of_a_file_override_equal_weights(name):
    assert with_method(file(3, 1), name).paretopo.weights == (0.75, 0.25)
    assert with_method(file(1, 0), name).paretopo.weights == (1.0, 0.0)
    assert with_method({}, name).paretopo.weights == (0.5, 0.5)
    paper = with_method({"recipe": "paper"}, name)  # the user did not choose a recipe's weights
    assert paper.paretopo.weights == (0.5, 0.5)


@pytest.mark.parametrize("name", ALL_ALIKE)
def test_given_weight_overrides_equal_weights_of_a_method(name):
    config = with_method({}, name, {"objectives.calls.weight": 0.0})
    assert config.paretopo.weights == (1.0, 0.0)
    held = with_method(file(3, 1), name, {"paretopo.weighting": "equal"})
    assert held.paretopo.weights == (0.5, 0.5)
    assert "have no effect" in held.notes[0].text


def test_equal_weights_skip_watched_objectives():
    table = file(2, 0, 1) | {"paretopo": {"weighting": "equal", "stage2_estimator": "gdpo"}}
    assert from_table(table).paretopo.weights == (0.5, 0.0, 0.5)


@pytest.mark.parametrize(
    ("name", "weights"), [("accuracy_only", (0, 1)), ("otc_grpo", (1, 0)), ("torl_grpo", (0, 1))]
)
def test_methods_keep_watched_objectives_at_zero(name, weights):
    with pytest.raises(
        ConfigError, match=r"puts all weight on an .* 0: .* got objectives.(correct|calls)"
    ):
        with_method(file(*weights), name)


@pytest.mark.parametrize("name", ["mo_grpo", "accuracy_only", "otc_grpo"])
def test_a_method_that_does_not_use_weights_says_so_once(name):
    [note] = with_method(file(3, 1), name).notes
    assert note.warns
    assert "(correct 3, calls 1) have no effect" in note.text
    assert with_method(file(1, 1), name).notes == () == with_method({}, name).notes


def test_different_weights_of_rewards_that_share_one_are_named():
    assert not from_table(file(3, 2)).notes
    assert not from_table(file(3, 1, 1)).notes
    [note] = from_table(file(3, 2, 1)).notes
    assert note.text.startswith("calls and tokens share one weight, ")
    assert not note.warns
    assert not from_table(file(3, 2, 1) | {"paretopo": {"economies": "each"}}).notes


@pytest.mark.parametrize("name", ["recommended", "grpo", "rloo", "gdpo", "kimi", "paper"])
def test_a_method_that_uses_weights_says_nothing(name):
    assert with_method(file(3, 1), name).notes == ()


@pytest.mark.parametrize("name", [one for one in METHODS if not one.startswith("without_")])
def test_zero_weight_has_no_effect_under_any_method(name):
    if name in REFUSED:
        with pytest.raises(ConfigError, match=REFUSED[name]):
            with_method(file(3, 1, 0), name)
        return
    economy = "gr3" if name == "gr3" else "saving"
    config = with_method(file(3, 1, 0), name, {"objectives.tokens.economy": economy})
    assert config.paretopo.weights[2] == 0.0
    rng = np.random.default_rng(5)
    right = rng.integers(0, 2, (6, 8)).astype(float)
    economy, watched = rng.uniform(0, 1, (2, 6, 8))
    steps = []
    for third in (watched, np.zeros_like(watched)):
        controller = ParetoPO(config.paretopo, steps_per_epoch=1, steps=4)
        controller.observe([0.5, 0.5, 0.5])
        steps += [[controller.step(np.stack([right, economy, third], -1)) for _ in range(2)]]
    for one, other in zip(*steps, strict=True):
        np.testing.assert_array_equal(one.advantages, other.advantages)
        np.testing.assert_array_equal(one.informative, other.informative)
    assert name == "sft" or np.abs(steps[0][1].advantages).max() > 0.0


def test_differences_in_watched_objectives_are_filtered():
    config = with_method(file(3, 1, 0), "recommended")
    rewards = np.array([[[1.0, 0.5, 0.1], [1.0, 0.5, 0.9]]])
    assert not ParetoPO(config.paretopo).step(rewards).informative.any()


def test_preferences_may_weigh_watched_objectives():
    table = file(1, 0) | {"paretopo": {"preference": "given"}}
    config = from_table(table)
    rewards = np.array([[[1.0, 0.5], [1.0, 0.9]]])
    step = ParetoPO(config.paretopo).step(rewards, weights=[[0.5, 0.5]])
    assert step.informative.all()
    assert step.advantages[0, 1] > 0.0
