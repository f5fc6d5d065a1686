"""Properties of single estimators; the test vectors have their formulas."""

import numpy as np
import pytest
from hypothesis import given
from support.rollout_groups import groups, reward_vectors

from paretopo.config import ConfigError, ParetoPOConfig, loads, with_method
from paretopo.controller.estimators import ESTIMATORS
from paretopo.controller.gate import apply_gate
from paretopo.rewards.economy import gr3_economy

EQUAL = (0.5, 0.5)
WEIGHTS = (0.6, 0.4)
hypervolume = ESTIMATORS["hypervolume"]


def some_batch():
    rng = np.random.default_rng(0)
    batch = rng.integers(0, 3, (4, 6, 2)) + rng.random((4, 6, 2)) / 8
    batch[1, :, 0] = 1.0  # an objective without differences
    return batch


def test_grpo_does_not_blow_up_rounding_noise():
    rewards = np.full((1, 8, 2), 0.1)
    rewards[0, 3, 0] += 1e-13
    np.testing.assert_array_equal(ESTIMATORS["grpo"](rewards, WEIGHTS), np.zeros((1, 8)))
    np.testing.assert_array_equal(ESTIMATORS["grpo"](rewards[:, :1], WEIGHTS), [[0.0]])


def test_worth_without_an_economy():
    group = np.array([[[1.0], [0.0], [0.0]]])
    np.testing.assert_allclose(ESTIMATORS["worth"](group, [0.6]), [[0.6, -0.3, -0.3]], atol=1e-15)


@given(groups(min_points=2))
def test_worth_equals_the_gated_sum_of_savings(rollouts):
    rewards = reward_vectors(rollouts)
    gated = rewards.copy()
    gated[..., 1] *= gated[..., 0]
    np.testing.assert_allclose(
        ESTIMATORS["worth"](rewards, WEIGHTS), ESTIMATORS["rloo"](gated, WEIGHTS), atol=1e-12
    )


def test_gr3_by_hand():
    """Lengths 10, 20, 10 are .75, 1.5, .75 of their mean; less the mean these are prime-rl's."""
    rewards = np.stack([[1.0, 0.5, 0.8], gr3_economy([10, 20, 10])], axis=-1)[None]
    values = np.array([1 / 1.2475, 0.5 / 1.495, 0.8 / 1.2475])
    centred = [0.20915856, -0.25799648, 0.04883792]
    np.testing.assert_allclose(values - values.mean(), centred, atol=1e-8)
    wanted = (values - values.mean()) / (values.std(ddof=1) + 1e-6)
    weights = (1 / 1.33, 0.33 / 1.33)
    np.testing.assert_allclose(ESTIMATORS["gr3"](rewards, weights), [wanted], atol=1e-12)


def test_gr3_needs_success_and_its_weight():
    failures = np.array([[[0.0, -1.5], [0.0, -0.5]]])
    np.testing.assert_array_equal(ESTIMATORS["gr3"](failures, WEIGHTS), [[0.0, 0.0]])
    mixed = np.array([[[1.0, 0.0], [1.0, -2.0], [0.0, -1.0]]])
    np.testing.assert_array_equal(ESTIMATORS["gr3"](mixed, (0.0, 1.0)), [[0.0, 0.0, 0.0]])
    np.testing.assert_array_equal(
        ESTIMATORS["gr3"](mixed, (1.0, 0.0)), ESTIMATORS["grpo"](mixed, (1.0, 0.0))
    )


def test_smooth_maximum_converges_without_overflow():
    group = np.array([[[0.0, 1.0], [1.0, 0.5], [1.0, -2000.0], [0.0, 0.0]]])
    hard = ESTIMATORS["tchebycheff"](group, WEIGHTS)
    near = ESTIMATORS["tchebycheff"](group, WEIGHTS, smoothing=1e-3)
    np.testing.assert_allclose(near, hard, atol=2e-3)


@pytest.mark.parametrize("name", ["tchebycheff", "expected_tchebycheff"])
def test_tchebycheff_needs_rewards_that_end_at_one(name):
    files = {"objectives": [{"name": "correct"}, {"name": "calls", "economy": "raw"}]}
    with pytest.raises(ConfigError, match=r"distance to 1, .* objectives\.calls does not end"):
        with_method(files, "grpo", {"paretopo.stage2_estimator": name})


@pytest.mark.parametrize("huge", [1e-200, 1e150])
def test_mo_grpo_stays_a_number_at_the_ends(huge):
    rewards = np.array([[[0.0, 1.0], [huge, 0.0], [huge / 2, 0.5]]])
    np.testing.assert_allclose(ESTIMATORS["mo_grpo"](rewards, EQUAL), [[0.0, 0.0, 0.0]], atol=1e-12)


def test_sa_mrpo_without_a_rest_to_gain_is_zero():
    perfect = np.ones((2, 4, 2))
    perfect[0, 0, 1] = 1.5  # the mean counts as 1
    np.testing.assert_array_equal(ESTIMATORS["sa_mrpo"](perfect, EQUAL), np.zeros((2, 4)))


def test_d3po_does_not_depend_on_units():
    batch = some_batch()
    values = ESTIMATORS["d3po"](batch, EQUAL)
    other = ESTIMATORS["d3po"](batch * [1.0, 1000.0] + [0.0, 7.0], EQUAL)
    np.testing.assert_allclose(other, values, atol=1e-6)


@pytest.mark.parametrize("name", ["saw", "saw_grpo"])
def test_saw_drops_learnt_objectives(name):
    """An objective that no longer varies over the batch takes no share of the advantage."""
    batch = some_batch()
    learnt = batch.copy()
    learnt[..., 0] = 1.0
    alone = ESTIMATORS[name](learnt, EQUAL)
    np.testing.assert_allclose(alone, ESTIMATORS[name](batch[..., 1:], [1.0]), atol=1e-3)


def test_dvao_is_never_larger_than_grpo():
    """Proposition 2: |A| <= |(s - mean) / std|, both with n, equal where objectives agree."""
    batch = np.random.default_rng(0).random((50, 6, 3))
    weights = np.array([0.5, 0.3, 0.2])
    for rewards, larger in ((batch, np.less), (batch[..., [0, 0, 0]], np.isclose)):
        sums = rewards @ weights
        grpo = (sums - sums.mean(1, keepdims=True)) / sums.std(1, keepdims=True)
        assert larger(np.abs(ESTIMATORS["dvao"](rewards, weights)), np.abs(grpo)).all()


def test_soft_pareto_has_a_gradient():
    torch = pytest.importorskip("torch")
    rewards = torch.tensor(some_batch()[:1], requires_grad=True)
    values = ESTIMATORS["soft_pareto"](rewards, WEIGHTS, centre="none", sigma=0.3)
    values[0, 2].backward()
    assert torch.isfinite(rewards.grad).all()
    assert (rewards.grad[0, 2] > 0).all()  # better rewards, better advantage


@given(groups(min_points=2))
def test_hv_1_by_the_weights_is_a_gated_weighted_sum(rollouts):
    """Its volume, r_task (economy + w_task / w_tool), is (w · r) / w_tool for a success, else 0."""
    rewards = reward_vectors(rollouts)
    gated = rewards * [[1.0, 0.0]] + rewards[..., :1] * rewards * [[0.0, 1.0]]
    np.testing.assert_allclose(
        hypervolume(rewards, WEIGHTS, k=1),
        ESTIMATORS["rloo"](gated, WEIGHTS) / WEIGHTS[1],
        atol=1e-12,
    )


@pytest.mark.parametrize("unit", [1.0, 3600.0, 1e-4])
def test_the_range_of_the_group_takes_units_away(unit):
    seconds = -np.array([[[0.0, 9.0], [0.0, 1.0], [0.0, 4.0], [0.0, 2.0]]]) * unit
    seconds[0, :, 0] = [1.0, 1.0, 1.0, 0.0]
    scaled = np.array([[[1.0, 0.0], [1.0, 1.0], [1.0, 0.625], [0.0, 0.0]]])
    np.testing.assert_allclose(
        hypervolume(seconds, WEIGHTS, k=2, hypervolume_unit="range"),
        hypervolume(scaled, WEIGHTS, k=2),
        atol=1e-12,
    )


def test_a_single_success_has_the_best_economy_of_its_group():
    rewards = np.array([[[1.0, -7.0], [0.0, -1.0], [0.0, -2.0]]])
    values = hypervolume(rewards, WEIGHTS, k=1, hypervolume_unit="range")
    np.testing.assert_allclose(values, [[2.5, -1.25, -1.25]], atol=1e-12)


def test_hypervolume_gd2po_of_one_economy_is_gd2po():
    batch = np.random.default_rng(7).integers(0, 4, (5, 6, 2)) / 4 + 0.25
    batch[..., 0] = batch[..., 0] > 0.5
    batch[0, :, 0] = 0.0  # no rollout is right
    batch[1, :, 1] = 0.5  # no rollout is leaner
    expected = ESTIMATORS["gd2po"](apply_gate(batch, "success", ["worst"]), WEIGHTS)
    found = ESTIMATORS["hypervolume_gd2po"](batch, WEIGHTS)
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "k = 0",
            r'k must be "archive" or an integer of at least 1 or a list of integers of at least 1',
        ),
        ("k = [4, 0]", r"paretopo.k must be .*, got \[4, 0\]"),
        ("k = [4.0]", r"paretopo.k must be .*, got \[4.0\]"),
        ("k = 9", r"paretopo.k must be at most optimiser.group_size, got paretopo.k = 9 .* = 8"),
        (
            "weighting = 'first alone'",
            r"needs weights above 0 after the first: .* got weights = \(1.0, 0.0\)",
        ),
        (
            "hypervolume_reference = 'archive'\nreference = 'initial'",
            "needs a reference that is known before training",
        ),
    ],
)
def test_switches_that_cannot_be(text, message):
    with pytest.raises(ConfigError, match=message):
        loads(f"[paretopo]\nstage2_estimator = 'hypervolume'\n{text}")


def test_hypervolume_switches_bind_only_hypervolume():
    loads('[paretopo]\nweighting = "first alone"\nstage2_estimator = "grpo"')
    grpo = {"stage2_estimator": "grpo"}
    assert ParetoPOConfig(weights=(1.0, 0.0), **grpo).max_k == 0
    assert ParetoPOConfig(stage2_estimator="hypervolume", k=(2, 8, 1)).max_k == 8
    assert ParetoPOConfig(stage1_estimator="hypervolume", k="archive").max_k == 4
