"""BoTorch accelerated gives its own answers."""

import copy
import importlib
import pickle
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from support.hosts import assert_same, both, count_calls, front, load, need, value_and_slopes

from paretopo_core import accelerate

# Warnings of a host's own are not about us.
pytestmark = pytest.mark.filterwarnings("default")


def partitions(kind, points, ref):
    import torch
    from botorch.utils.multi_objective.box_decompositions import dominated, non_dominated

    made = {
        "nondominated": non_dominated.FastNondominatedPartitioning,
        "dominated": dominated.DominatedPartitioning,
    }[kind]
    return made(ref_point=torch.as_tensor(ref), Y=torch.as_tensor(points))


@pytest.mark.parametrize("kind", ["nondominated", "dominated"])
@pytest.mark.parametrize("objectives", [2, 3, 4])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_partitionings_of_botorch_cover_the_same_region(kind, objectives, dtype):
    need("botorch")
    import torch

    rng = np.random.default_rng(objectives)
    points = rng.random((14, objectives)).astype(dtype)
    more = rng.random((5, objectives)).astype(dtype)
    ref = np.full(objectives, 0.1, dtype)
    probes = torch.as_tensor(rng.random((3000, 1, objectives)).astype(dtype))

    def cover():
        found = []
        for first in (points, points[:0], np.full((1, objectives), 0.05, dtype)):
            partitioning = partitions(kind, first, ref)
            for step in (None, more):
                if step is not None:
                    partitioning.update(torch.as_tensor(step))
                lower, upper = partitioning.get_hypercell_bounds()
                inside = ((lower <= probes) & (probes < upper)).all(-1).sum(-1)
                assert inside.max() <= 1
                volume = partitioning.compute_hypervolume()
                assert volume.dtype == lower.dtype == partitioning.pareto_Y.dtype
                found += [inside.tolist(), partitioning.pareto_Y.tolist(), round(volume.item(), 5)]
        return found

    assert_same("botorch", cover)


def test_a_partitioning_of_botorch_outlives_undo():
    non_dominated = load("botorch.utils.multi_objective.box_decompositions.non_dominated")
    import torch

    rng = np.random.default_rng(0)
    points, more = rng.random((2, 10, 3))
    before = partitions("nondominated", points, np.zeros(3))
    with accelerate("botorch"):
        made = partitions("nondominated", points, np.zeros(3))
        assert isinstance(made, non_dominated.FastNondominatedPartitioning)
        before.update(torch.as_tensor(more))  # made by BoTorch's own code, and still its own
        copies = [made, copy.deepcopy(made), pickle.loads(pickle.dumps(made))]
    ours = importlib.import_module("paretopo_core.accelerate.botorch")  # a class that users pass
    passed = ours.FastNondominatedPartitioning(made.ref_point, made.Y)
    for one in (*copies, passed):
        one.update(torch.as_tensor(more))
        assert torch.equal(one.pareto_Y, before.pareto_Y)
        torch.testing.assert_close(one.compute_hypervolume(), before.compute_hypervolume())


def test_botorch_errors_are_preserved():
    non_dominated = load("botorch.utils.multi_objective.box_decompositions.non_dominated")
    import torch

    class Own(non_dominated.FastNondominatedPartitioning):
        pass

    with accelerate("botorch"):
        with pytest.raises(NotImplementedError):
            partitions("nondominated", np.ones((2, 4, 3)), np.zeros(3))
        with pytest.raises(ValueError, match="NaN inputs are not supported"):
            partitions("nondominated", np.full((4, 3), np.nan), np.zeros(3))
        own = Own(ref_point=torch.zeros(3), Y=torch.rand(5, 3))
        assert type(own) is Own  # a subclass stays as it is
        assert own._U is not None
        below = partitions("nondominated", np.ones((1, 3)), np.full(3, -np.inf))
        assert type(below) is non_dominated.FastNondominatedPartitioning


def test_the_classes_refuse_untested_versions(monkeypatch):
    need("botorch")
    monkeypatch.setattr("importlib.metadata.version", lambda name: "0.1")
    monkeypatch.delitem(sys.modules, "paretopo_core.accelerate.botorch", raising=False)
    with pytest.raises(RuntimeError, match=r"botorch 0\.1 is installed, and this was tested with"):
        importlib.import_module("paretopo_core.accelerate.botorch")


@pytest.mark.parametrize("objectives", [2, 3, 5])
def test_hypervolumes_of_botorch_are_the_same(objectives):
    hypervolume = load("botorch.utils.multi_objective.hypervolume")
    import torch

    generator = torch.Generator().manual_seed(objectives)
    points = torch.rand(12, objectives, generator=generator, dtype=torch.float64)
    measure = hypervolume.Hypervolume(ref_point=torch.full((objectives,), 0.1, dtype=torch.float64))
    own, ours = both("botorch", lambda: [measure.compute(points), measure.compute(points[:0])])
    np.testing.assert_allclose(ours, own, rtol=1e-12)
    assert type(ours[0]) is type(own[0])


@pytest.fixture(scope="module")
def model():
    need("botorch")
    import torch
    from botorch.models import SingleTaskGP
    from botorch.models.transforms import Standardize

    generator = torch.Generator().manual_seed(0)
    x = torch.rand(16, 3, generator=generator, dtype=torch.float64)
    y = torch.stack([-((x - c) ** 2).sum(-1) for c in (0.2, 0.5, 0.8)], dim=-1)
    return SingleTaskGP(x, y, outcome_transform=Standardize(m=3)), x, y


@pytest.mark.parametrize("name", ["analytic", "EHVI", "NEHVI", "LogEHVI", "LogNEHVI"])
def test_acquisition_of_botorch_has_the_same_values(model, name):
    """The logarithms smooth each box on its own: their values depend a little on the division."""
    import torch
    from botorch.acquisition.multi_objective import analytic, logei, monte_carlo
    from botorch.sampling import SobolQMCNormalSampler

    gp, x, y = model
    ref = y.min(dim=0).values
    at = torch.rand(6, 2, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    kinds = {
        "EHVI": monte_carlo.qExpectedHypervolumeImprovement,
        "NEHVI": monte_carlo.qNoisyExpectedHypervolumeImprovement,
        "LogEHVI": logei.qLogExpectedHypervolumeImprovement,
        "LogNEHVI": logei.qLogNoisyExpectedHypervolumeImprovement,
    }

    def expect():
        partitioning = partitions("nondominated", y, ref)
        acquisition = analytic.ExpectedHypervolumeImprovement(gp, ref.tolist(), partitioning)
        return value_and_slopes(acquisition, at[:, :1])

    def value():
        given = {"sampler": SobolQMCNormalSampler(torch.Size([16]), seed=5)}
        if "NEHVI" in name:
            given["X_baseline"] = x
        else:
            given["partitioning"] = partitions("nondominated", y, ref)
        return value_and_slopes(kinds[name](model=gp, ref_point=ref, **given), at)

    own, ours = both("botorch", expect if name == "analytic" else value)
    for mine, theirs in zip(ours, own, strict=True):
        tolerance = 1e-2 if "Log" in name else 1e-9
        np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("objectives", [2, 3, 5])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_analytic_expected_improvement_of_botorch_is_the_same(objectives, dtype):
    need("botorch")
    import torch
    from botorch.acquisition.multi_objective.analytic import ExpectedHypervolumeImprovement

    rng = np.random.default_rng(objectives)
    outcomes = (front(8, objectives, 1) - 1.1).astype(dtype)
    means = torch.as_tensor(rng.uniform(-1.5, 0.5, (2, 6, 1, objectives)).astype(dtype))
    means[1, 5] = -4.0  # where BoTorch's own can be negative
    scales = torch.as_tensor(rng.uniform(0.05, 1, (objectives,)).astype(dtype))
    ref = np.full(objectives, -1.2, dtype)

    model = SimpleNamespace(
        num_outputs=objectives,
        batch_shape=torch.Size([]),
        posterior=lambda x, **_: SimpleNamespace(mean=x, variance=(scales**2).expand_as(x)),
    )

    def value():
        acquisition = ExpectedHypervolumeImprovement(
            model, ref.tolist(), partitions("nondominated", outcomes, ref)
        )
        values, slopes = value_and_slopes(acquisition, means)
        assert acquisition(means[0]).shape == (6,)
        assert values.dtype == slopes.dtype == dtype
        with pytest.raises(ValueError, match=r"Expected value|means must be"):
            acquisition(means * torch.nan)
        return values, slopes

    tolerance = 1e-9 if dtype == "float64" else 1e-3
    own, ours = both("botorch", value)
    assert (ours[0] >= 0).all()
    for mine, theirs in zip(ours, own, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance)


def noisy(model, **given):
    """Make a qNEHVI of 16 samples."""
    import torch
    from botorch.acquisition.multi_objective.monte_carlo import (
        qNoisyExpectedHypervolumeImprovement,
    )
    from botorch.sampling import SobolQMCNormalSampler

    gp, x, y = model
    given = {"X_baseline": x, "ref_point": y.min(dim=0).values} | given
    sampler = SobolQMCNormalSampler(torch.Size([16]), seed=5)
    return qNoisyExpectedHypervolumeImprovement(model=gp, sampler=sampler, **given)


def test_boxes_of_all_samples_of_botorch_are_one_call(model, monkeypatch):
    calls = count_calls(monkeypatch, "nondominated_boxes")
    with accelerate("botorch"):
        noisy(model)
    assert len(calls) == 1


@pytest.mark.parametrize("constraint", [None, lambda samples: samples[..., 0] + 0.3])
def test_samples_of_botorch_have_the_same_fronts(model, constraint):
    """Constraints leave some outcomes of each sample out; pending points come later."""
    need("botorch")
    import torch

    given = {"constraints": constraint and [constraint], "incremental_nehvi": False}
    pending = torch.rand(3, 3, generator=torch.Generator().manual_seed(2), dtype=torch.float64)

    def state():
        acquisition = noisy(model, **given)
        found = []
        for step in (None, pending):
            if step is not None:
                acquisition.set_X_pending(step)
            fronts = acquisition.partitioning.pareto_Y
            assert len(fronts) == 16
            found += [[one.tolist() for one in fronts]]
            for volumes in (acquisition._initial_hvs, acquisition._hypervolumes):
                assert volumes.shape == (16,)
                found += [volumes.numpy().round(9)]
            lower, upper = acquisition.cell_lower_bounds, acquisition.cell_upper_bounds
            inside = (upper.clamp_max(0.1) - lower).clamp_min(0).prod(-1).sum(-1)
            found += [inside.numpy().round(9)]
        return [*found, acquisition._prev_nehvi.numpy().round(9)]

    assert_same("botorch", state)


@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_odd_samples_are_botorchs_own_matter(model, value):
    need("botorch")
    from botorch.acquisition.multi_objective.objective import GenericMCMultiOutputObjective

    def spoil(samples, X=None):
        samples = samples.clone()
        samples[3, 0, 1] = value
        return samples

    def state():
        try:
            acquisition = noisy(model, objective=GenericMCMultiOutputObjective(spoil))
        except ValueError as error:
            return str(error)
        return [front.tolist() for front in acquisition.partitioning.pareto_Y]

    assert_same("botorch", state)
