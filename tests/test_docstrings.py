"""Every example in a docstring runs, in all packages."""

import doctest
import importlib
import pkgutil

import pytest

import paretopo
import paretopo_core
import paretopo_lab
from paretopo.integrations import agents, huggingface

IN_SANDBOX = {
    "paretopo.protocols.torl",
    "paretopo.rewards.mathematics",
    "paretopo.tools.python_interpreter",
}


def modules(package):
    """Names of a package's modules but those of integrations, which need frameworks."""
    yield package.__name__
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if module.ispkg and not module.name.endswith(".integrations"):
            yield from modules(importlib.import_module(module.name))
        elif not module.ispkg and not module.name.endswith(("._core", ".__main__")):
            yield module.name


def examples(package):
    for name in modules(package):
        marks = [pytest.mark.sandbox] if name in IN_SANDBOX else []
        yield pytest.param(name, marks=marks)


PACKAGES = [paretopo_core, paretopo, paretopo_lab, agents, huggingface]


@pytest.mark.parametrize("name", [one for package in PACKAGES for one in examples(package)])
def test_examples_run(name):
    if name.startswith(huggingface.__name__):
        pytest.importorskip("transformers")
    if name.startswith("paretopo_core._machinery.torch"):
        pytest.importorskip("torch")
    if name == "paretopo_lab.evaluate.vllm_engine":
        pytest.importorskip("vllm")
    if name.startswith("paretopo_core.accelerate."):
        pytest.importorskip(name.rpartition(".")[2])
    assert doctest.testmod(importlib.import_module(name)).failed == 0
