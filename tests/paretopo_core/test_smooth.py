"""The closed form of the paper's Gumbel surrogate."""

import warnings

import numpy as np
import pytest

import paretopo_core as pp
from paretopo_core import definitions


def test_the_closed_form_is_the_probability():
    points = np.array([[1.0, 0.5], [0.4, 0.6], [0.2, 0.9]])
    draws = 40_000
    sampled = definitions.stochastic_dominance(points, 0.5, draws, seed=0)
    exact = pp.stochastic_dominance(points, sigma=0.5)
    assert (np.abs(sampled - exact) < 5 * np.sqrt(exact * (1 - exact) / draws) + 1e-12).all()


@pytest.mark.parametrize("margin", [0.0, 0.3])
def test_a_large_set_has_the_values_of_its_pairs(margin):
    points = np.random.default_rng(1).random((2, 700, 3))  # compared in parts
    whole = pp.stochastic_dominance(points, sigma=0.5, margin=margin)
    tensor = pytest.importorskip("torch").tensor(points, requires_grad=True)
    np.testing.assert_allclose(
        pp.stochastic_dominance(tensor, sigma=0.5, margin=margin).detach(), whole, 1e-12
    )
    rows = np.arange(0, 700, 100)
    few = pp.stochastic_dominance(points[:, rows], sigma=0.5, margin=margin)
    np.testing.assert_array_equal(whole[:, rows[:, None], rows], few)
    np.testing.assert_array_equal(
        pp.stochastic_pareto_rank(points, sigma=0.5, margin=margin), 1 + whole.sum(-2)
    )


def test_tensors_keep_their_dtype():
    torch = pytest.importorskip("torch")
    assert pp.stochastic_pareto_rank(torch.rand(3, 2), sigma=0.3).dtype == torch.float32


def test_extremes_do_not_overflow():
    points = np.array([[1e308, -1e308], [-1e308, 1e308]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pp.stochastic_dominance(points, sigma=1e-3).tolist() == [[0.0, 0.0], [0.0, 0.0]]
        assert pp.stochastic_dominance([[1.0], [0.0]], sigma=1e-320).tolist() == [
            [0.0, 1.0],
            [0.0, 0.0],
        ]


def test_tensors_without_exact_values_are_refused():
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match=r"dense tensor, got layout torch\.sparse_coo"):
        pp.stochastic_pareto_rank(torch.ones(2, 2).to_sparse(), sigma=0.3)
    with pytest.raises(ValueError, match="which float64 cannot hold exactly"):
        pp.stochastic_pareto_rank(torch.full((2, 2), 2**53 + 1), sigma=0.3)
