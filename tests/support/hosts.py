"""Hosts of `accelerate`: their modules, and their answers with and without it."""

import importlib
import sys
from importlib import metadata

import numpy as np
import pytest

import paretopo_core
from paretopo_core import accelerate

MODULE = sys.modules["paretopo_core.accelerate"]


def need(host):
    try:
        version = metadata.version(host)
    except metadata.PackageNotFoundError:
        version = None
    if version not in MODULE.VERSIONS[host]:
        tested = " or ".join(MODULE.VERSIONS[host])
        found = f"{version} is installed" if version else "which is not installed"
        pytest.skip(f"needs {host} {tested}, {found}: scripts/test_hosts.sh")
    if host == "botorch":
        pytest.importorskip("gpytorch")


def load(name):
    """Import a module of a host, if the host is installed."""
    need(name.partition(".")[0])
    return importlib.import_module(name)


def both(host, compute):
    """The host's own answer, and the one with it accelerated."""
    own = compute()
    with accelerate(host):
        ours = compute()
    np.testing.assert_equal(compute(), own)  # nothing is left of it
    return own, ours


def count_calls(monkeypatch, name):
    """A list that grows by one with each call of a function of the package."""
    function, calls = getattr(paretopo_core, name), []

    def counted(*given, **keywords):
        calls.append(name)
        return function(*given, **keywords)

    monkeypatch.setattr(paretopo_core, name, counted)
    return calls


def assert_same(host, compute):
    own, ours = both(host, compute)
    np.testing.assert_equal(ours, own)


def losses(count, objectives, seed, digits=1):
    return np.random.default_rng(seed).random((count, objectives)).round(digits)


def front(count, objectives, seed):
    """Make trials on a sphere, where none dominates another."""
    directions = np.abs(np.random.default_rng(seed).normal(size=(count, objectives)))
    return 1 - directions / np.linalg.norm(directions, axis=1, keepdims=True)


def odd_points(count, objectives, dtype):
    """A tensor with ties, equal points, both zeros, infinities and NaN."""
    import torch

    generator = torch.Generator().manual_seed(objectives)
    points = torch.rand(count, objectives, generator=generator).mul(6).round()
    points[::3] += torch.rand(len(points[::3]), objectives, generator=generator)
    points[1], points[2], points[3, 0], points[4, -1] = torch.inf, -torch.inf, torch.inf, -torch.inf
    points[5], points[6], points[7, 0], points[8] = 0.0, -0.0, torch.nan, torch.nan
    points[10:20] = points[20:30]
    return points.to(getattr(torch, dtype))


def value_and_slopes(function, points):
    import torch

    points = points.clone().requires_grad_()
    values = function(points)
    return values.detach().numpy(), torch.autograd.grad(values.sum(), points)[0].numpy()
