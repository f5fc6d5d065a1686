"""Replicates, intervals and shares of dominance."""

import numpy as np
import pytest

import paretopo_core
from paretopo.compare.analysis import analyse
from paretopo.compare.bootstrap import basic_interval, draw_means, share_dominated
from paretopo.compare.columns import parse_objective
from paretopo.compare.scores import Scores

SENSES = (1.0, -1.0)  # accuracy, cost
MAXIMISE = [True, False]


def test_replicates_of_paired_models_draw_the_same_questions():
    rng = np.random.default_rng(0)
    first = rng.random((30, 2))
    drawn = draw_means([first, first + 1.0], 200, 0, paired=True)
    np.testing.assert_allclose(drawn[:, 1] - drawn[:, 0], 1.0)


def test_replicates_of_unpaired_models_are_independent():
    rng = np.random.default_rng(0)
    first = rng.random((30, 1))
    drawn = draw_means([first, first], 4000, 0, paired=False)[..., 0]
    assert abs(np.corrcoef(drawn.T)[0, 1]) < 0.06
    assert sorted(drawn[:, 0]) == sorted(drawn[:, 1])


def test_replicates_have_the_variance_of_the_bootstrap():
    values = np.random.default_rng(1).normal(size=(50, 3))
    drawn = draw_means([values], 20_000, 0, paired=True)[:, 0]
    np.testing.assert_allclose(drawn.mean(axis=0), values.mean(axis=0), atol=0.01)
    np.testing.assert_allclose(drawn.var(axis=0), values.var(axis=0) / 50, rtol=0.05)


def test_models_with_other_numbers_of_questions_keep_their_places():
    values = [np.full((5, 2), 1.0), np.full((7, 2), 2.0), np.full((5, 2), 3.0)]
    drawn = draw_means(values, 100, 0, paired=False)
    np.testing.assert_array_equal(drawn, np.broadcast_to([[[1.0], [2.0], [3.0]]], (100, 3, 2)))


def test_draws_do_not_depend_on_the_size_of_blocks(monkeypatch):
    values = [np.random.default_rng(2).random((40, 2))]
    whole = draw_means(values, 300, 5, paired=True)
    monkeypatch.setattr("paretopo.compare.bootstrap._AT_ONCE", 40 * 7)
    np.testing.assert_allclose(draw_means(values, 300, 5, paired=True), whole, rtol=1e-12)


def test_dominance_on_replicates_counted_by_hand():
    means = np.array(
        [
            [[0.5, 10.0], [0.6, 9.0]],  # the second dominates
            [[0.5, 10.0], [0.5, 9.0]],  # a tie in one objective: the second dominates
            [[0.5, 10.0], [0.5, 10.0]],  # equal: neither
            [[0.5, 10.0], [0.6, 11.0]],  # neither
            [[0.7, 8.0], [0.6, 11.0]],  # the first dominates
        ]
    )
    np.testing.assert_allclose(share_dominated(means, SENSES), [[0.0, 0.2], [0.4, 0.0]])


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
    drawn = draw_means([model, *others, model.copy()], 2000, 0, paired=True)
    shares = share_dominated(drawn, SENSES)
    assert shares[0, -1] == shares[-1, 0] == 0.0


def simulate_coverage(accuracies, costs, questions, trials=200):
    """Return the share of trials whose interval holds the hypervolume of the true means."""
    rng = np.random.default_rng(0)
    accuracies, costs = np.asarray(accuracies), np.asarray(costs)
    corner = [0.0, 1.5 * max(costs)]
    true = paretopo_core.hypervolume(np.c_[accuracies, costs], corner, maximise=MAXIMISE)
    # The mean of two uniform numbers is below this limit with the wanted probability.
    limits = np.where(accuracies <= 0.5, np.sqrt(accuracies / 2), 1 - np.sqrt((1 - accuracies) / 2))
    covered = 0
    for trial in range(trials):
        shape = (questions, len(costs))
        ease = rng.random((questions, 1))  # a hard question is hard for every model
        right = (rng.random(shape) + ease) / 2 < limits
        spent = costs * rng.gamma(4.0, 0.25, size=shape)
        values = np.stack([right, spent], axis=-1)
        drawn = draw_means(list(values.transpose(1, 0, 2)), 500, trial, paired=True)
        measured = paretopo_core.hypervolume(values.mean(axis=0), corner, maximise=MAXIMISE)
        volumes = paretopo_core.hypervolume(drawn, corner, maximise=MAXIMISE)
        low, high = basic_interval(float(measured), volumes)
        covered += low <= true <= high
    return covered / trials


@pytest.mark.parametrize(
    ("accuracies", "costs", "questions", "least"),
    [
        ([0.8, 0.5], [3.0, 1.0], 100, 0.92),
        ([0.8, 0.7, 0.6, 0.5, 0.4], [5.0, 4.0, 3.0, 2.0, 1.0], 100, 0.92),
        (np.linspace(0.5, 0.9, 10), np.linspace(1.0, 3.0, 10), 50, 0.88),
    ],
    ids=["two apart", "five apart", "ten close, 50 questions"],
)
def test_the_interval_of_the_hypervolume_covers_the_truth(accuracies, costs, questions, least):
    assert least <= simulate_coverage(accuracies, costs, questions) <= 0.99


def test_the_interval_is_too_narrow_if_all_models_are_equal():
    assert simulate_coverage([0.6] * 20, [2.0] * 20, 100, trials=100) < 0.8


@pytest.mark.parametrize(("spread", "noted"), [(0.0, True), (1.0, False)])
def test_a_report_says_that_models_are_too_close(spread, noted):
    rng = np.random.default_rng(5)
    values = [
        np.stack([rng.random(100) + spread * at, rng.random(100) + spread * at], axis=-1)
        for at in range(20)
    ]
    objectives = (parse_objective("accuracy:max"), parse_objective("cost:min"))
    names = tuple(f"m{at}" for at in range(20))
    scores = Scores(objectives, names, tuple(values), (100,) * 20, True, ("",) * 20, ())
    notes = " ".join(analyse(scores, replicates=500).notes)
    assert ("differ by less than their errors" in notes) == noted
