"""Replicates, intervals and shares of dominance."""

import numpy as np
import pytest

import paretopo_core
from paretopo_lab.statistics.bootstrap import (
    draw_means,
    judge_fronts,
    pull_together,
    share_dominated,
    volume_interval,
)

SENSES = (1.0, -1.0)  # accuracy, cost
MAXIMISE = [True, False]


def test_replicates_of_paired_models_draw_the_same_questions():
    rng = np.random.default_rng(0)
    first = rng.random((30, 2))
    drawn = draw_means([first, first + 1.0], 200, 0, groups=[0, 0])
    np.testing.assert_allclose(drawn[:, 1] - drawn[:, 0], 1.0)


def test_replicates_of_unpaired_models_are_independent():
    rng = np.random.default_rng(0)
    first = rng.random((30, 1))
    drawn = draw_means([first, first], 4000, 0, groups=[0, 1])[..., 0]
    assert abs(np.corrcoef(drawn.T)[0, 1]) < 0.06
    assert sorted(drawn[:, 0]) == sorted(drawn[:, 1])


def test_replicates_have_the_variance_of_the_bootstrap():
    values = np.random.default_rng(1).normal(size=(50, 3))
    drawn = draw_means([values], 20_000, 0, groups=[-1])[:, 0]
    np.testing.assert_allclose(drawn.mean(axis=0), values.mean(axis=0), atol=0.01)
    np.testing.assert_allclose(drawn.var(axis=0), values.var(axis=0) / 50, rtol=0.05)


def test_models_with_other_numbers_of_questions_keep_their_places():
    values = [np.full((5, 2), 1.0), np.full((7, 2), 2.0), np.full((5, 2), 3.0)]
    drawn = draw_means(values, 100, 0, groups=[-1, -1, -1])
    np.testing.assert_array_equal(drawn, np.broadcast_to([[[1.0], [2.0], [3.0]]], (100, 3, 2)))


def test_draws_do_not_depend_on_the_size_of_blocks(monkeypatch):
    values = [np.random.default_rng(2).random((40, 2))]
    whole = draw_means(values, 300, 5, groups=[0])
    monkeypatch.setattr("paretopo_lab.statistics.bootstrap._AT_ONCE", 40 * 7)
    np.testing.assert_allclose(draw_means(values, 300, 5, groups=[0]), whole, rtol=1e-12)


def test_dominance_agrees_with_the_definition():
    means = np.random.default_rng(3).integers(0, 4, size=(50, 7, 3)).astype(float)
    senses = np.array([1.0, -1.0, 1.0])
    turned = means * senses
    above = (turned[:, :, None] >= turned[:, None]).all(axis=-1)
    strictly = (turned[:, :, None] > turned[:, None]).any(axis=-1)
    np.testing.assert_allclose(share_dominated(means, senses), (above & strictly).mean(axis=0))


def test_a_copy_of_a_model_never_dominates_it():
    rng = np.random.default_rng(4)
    model = rng.random((101, 2)) / 3
    others = [rng.random((101, 2)) for _ in range(6)]
    drawn = draw_means([model, *others, model.copy()], 2000, 0, groups=[0] * 8)
    shares = share_dominated(drawn, SENSES)
    assert shares[0, -1] == shares[-1, 0] == 0.0


def test_a_replicate_averages_over_the_answered_questions():
    values = np.random.default_rng(5).random((40, 2))
    gaps = values.copy()
    gaps[::4] = np.nan
    drawn = draw_means([values, gaps], 20_000, 0, groups=[0, 0])
    kept = gaps[~np.isnan(gaps[:, 0])]
    np.testing.assert_allclose(drawn[:, 1].mean(axis=0), kept.mean(axis=0), atol=0.01)
    np.testing.assert_allclose(drawn[:, 1].var(axis=0), kept.var(axis=0) / 30, rtol=0.15)


def simulate_models(accuracies, costs, questions, trials):
    """Yield the true means, and for each trial (questions, models, 2) values of answers."""
    rng = np.random.default_rng(0)
    accuracies, costs = np.asarray(accuracies), np.asarray(costs)
    # The mean of two uniform numbers is below this limit with the wanted probability.
    limits = np.where(accuracies <= 0.5, np.sqrt(accuracies / 2), 1 - np.sqrt((1 - accuracies) / 2))
    for _ in range(trials):
        shape = (questions, len(costs))
        ease = rng.random((questions, 1))  # a hard question is hard for every model
        right = (rng.random(shape) + ease) / 2 < limits
        spent = costs * rng.gamma(4.0, 0.25, size=shape)
        yield np.c_[accuracies, costs], np.stack([right, spent], axis=-1)


@pytest.mark.parametrize(
    ("accuracies", "costs", "questions"),
    [
        ([0.8, 0.5], [3.0, 1.0], 100),
        ([0.8, 0.7, 0.6, 0.5, 0.4], [5.0, 4.0, 3.0, 2.0, 1.0], 20),
        (np.linspace(0.5, 0.9, 10), np.linspace(1.0, 3.0, 10), 50),
        ([0.6] * 10, [2.0] * 10, 50),
        ([0.6] * 20, [2.0] * 20, 100),
    ],
    ids=["two apart", "five apart", "ten close", "ten equal", "twenty equal"],
)
def test_the_interval_of_the_hypervolume_covers_the_truth(accuracies, costs, questions):
    """With 300 trials, 91 % is three standard errors below 95 %."""
    held = []
    for true, values in simulate_models(accuracies, costs, questions, 300):
        means = values.mean(axis=0)
        drawn = draw_means(list(values.transpose(1, 0, 2)), 400, 0, groups=[0] * len(costs))

        def volume(points):
            return paretopo_core.hypervolume(points, [0.0, 1.5 * max(costs)], maximise=MAXIMISE)

        pulled = pull_together(means, drawn, questions)
        alike = float(volume(drawn - means + pulled).mean() - volume(pulled))
        low, high = volume_interval(float(volume(means)), volume(drawn), alike, questions)
        assert 0 <= low <= high
        held.append(low <= volume(true) <= high)
    assert np.mean(held) >= 0.91


@pytest.mark.parametrize("questions", [20, 200])
def test_verdicts_on_the_front_are_wrong_in_at_most_5_percent(questions):
    wrong, decided = [], 0
    accuracies, costs = [0.8, 0.8, 0.6, 0.6, 0.3], [2.0, 2.0, 1.0, 3.0, 2.5]
    for true, values in simulate_models(accuracies, costs, questions, 200):
        drawn = draw_means(list(values.transpose(1, 0, 2)), 400, 0, groups=[0] * 5)
        found = judge_fronts(values.mean(axis=0), drawn, SENSES, ("",) * 5, questions).surely
        best = paretopo_core.is_nondominated(true, maximise=MAXIMISE)
        wrong.append(((found > 0) & ~best).any() or ((found < 0) & best).any())
        decided += (found != 0).mean() / 200
    assert np.mean(wrong) <= 0.05
    assert decided > (0.1 if questions == 20 else 0.5)


def test_verdicts_know_ties_and_certain_differences():
    # b is a copy of a, c costs the same and is always worse, d is always cheaper.
    right = np.random.default_rng(6).random(50)
    values = [np.stack([right - lost, np.full(50, cost)], axis=-1)
              for lost, cost in ((0.0, 3.0), (0.0, 3.0), (0.2, 3.0), (0.1, 2.0))]  # fmt: skip
    drawn = draw_means(values, 500, 0, groups=[0] * 4)
    means = np.array([one.mean(axis=0) for one in values])
    found = judge_fronts(means, drawn, SENSES, ("",) * 4, 50)
    assert found.surely.tolist() == [1, 1, -1, 1]
    assert found.factor.tolist() == [1.0] * 4
