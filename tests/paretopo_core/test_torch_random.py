"""Random tensors of every making, through every transformation: the array's answer, or an error.

The tests draw an operation, a shape, a sequence of changes to a tensor and a way of calling. The
answer must equal that on an array of the same numbers.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import paretopo_core as pp

torch = pytest.importorskip("torch")

from support.operations import calls
from support.tensors import Dispatching, freed

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's own, of prototypes and deprecations

OPERATIONS = calls(
    (
        *("pareto_rank", "is_nondominated", "crowding_distance", "hypervolume"),
        *("hypervolume_gradient", "hypervolume_contributions", "pareto_advantage"),
    )
) | {  # of sets of one point, too
    "expected_hypervolume": lambda x: pp.expected_hypervolume(x, -0.1, k=1),
    "hypervolume_advantage": lambda x: pp.hypervolume_advantage(x, -0.1, k=1),
}


class Mine(torch.Tensor):
    """A class that only has another name."""


def infer(x):
    with torch.inference_mode():
        return x.clone()


# Same numbers, other memory.
SAME = {
    "transposed": lambda x: x.transpose(-1, -2).contiguous().transpose(-1, -2),
    "strided": lambda x: torch.stack([x, x + 1.0], dim=-1)[..., 0],
    "sliced": lambda x: torch.cat([x, x], dim=-2)[..., : x.shape[-2], :],
    "flipped": lambda x: x.flip(-2).flip(-2),
    "negated": lambda x: torch._neg_view(-x),
    "wanting": lambda x: x.detach().clone().requires_grad_(),
    "inferred": infer,
    "mine": lambda x: x.detach().as_subclass(Mine),
    "parameter": lambda x: torch.nn.Parameter(x.detach().as_subclass(torch.Tensor).clone()),
    "wrapped": lambda x: Dispatching(x.detach().as_subclass(torch.Tensor).clone()),
}
# Other numbers, or none: no more than an error that says so, or a result without numbers.
STRANGE = {
    "freed": freed,
    "meta": lambda x: x.to("meta"),
    "sparse": lambda x: x.to_sparse(),
    "masked": lambda x: torch.masked.masked_tensor(x, torch.ones_like(x, dtype=torch.bool)),
    "complex": lambda x: x.to(torch.complex64),
    "quantised": lambda x: torch.quantize_per_tensor(x.float(), 0.1, 0, torch.quint8),
    "nested": lambda x: torch.nested.nested_tensor([x, x]),
}


def call_traced(operation, x):
    """A graph recorded on other numbers."""
    from torch.fx.experimental.proxy_tensor import make_fx

    return make_fx(operation)(torch.rand_like(x))(x)


def call_scripted(operation, x):
    return torch.jit.trace(operation, (torch.rand_like(x),), check_trace=False)(x)


CALLS = {
    "plain": lambda operation, x: operation(x),
    "vmap": lambda operation, x: torch.vmap(operation)(x),
    "two vmaps": lambda operation, x: torch.vmap(torch.vmap(operation))(x[None])[0],
    "functional": lambda operation, x: torch.func.functionalize(operation)(x),
    "traced": call_traced,
    "scripted": call_scripted,
    "jvp": lambda operation, x: torch.func.jvp(operation, (x,), (torch.ones_like(x),))[0],
}


@st.composite
def numbers(draw):
    """(groups, points, objectives): few values, so that there are ties."""
    shape = draw(st.tuples(st.integers(1, 3), st.integers(1, 9), st.integers(1, 4)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    values = rng.integers(0, draw(st.sampled_from([2, 5, 1000])), shape) / 8.0
    return torch.from_numpy(values.astype(draw(st.sampled_from(["float32", "float64"]))))


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    x=numbers(),
    name=st.sampled_from(sorted(OPERATIONS)),
    changes=st.lists(st.sampled_from(sorted(SAME)), max_size=3),
    way=st.sampled_from(sorted(CALLS)),
)
def test_the_answer_is_that_on_an_array(x, name, changes, way):
    operation = OPERATIONS[name]
    expected = operation(x.numpy().copy())
    given_tensor = x
    for change in changes:
        if isinstance(given_tensor, Dispatching):
            break  # it has no other operators
        given_tensor = SAME[change](given_tensor)
    own = isinstance(given_tensor, Mine | Dispatching)
    assume(not (own and way == "traced"))  # torch loses sight of such classes, in its own operators
    try:
        result = CALLS[way](operation, given_tensor)
    except RuntimeError as error:
        # We refuse operations without a derivative; torch refuses unsupported transformations.
        refusal: Exception = error
    except (TypeError, ValueError) as error:
        refusal = error
    else:
        answer = result.detach().as_subclass(torch.Tensor).numpy()
        np.testing.assert_array_equal(answer, np.asarray(expected, answer.dtype))
        return
    assert way != "plain", refusal
    if not isinstance(refusal, RuntimeError) or isinstance(refusal, NotImplementedError):
        assert name in str(refusal) or "derivative" in str(refusal), refusal


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    x=numbers(),
    name=st.sampled_from(sorted(OPERATIONS)),
    strange=st.sampled_from(sorted(STRANGE)),
    change=st.sampled_from([None, "transposed", "mine", "wanting"]),
)
def test_unusual_tensors_are_refused_by_name(x, name, strange, change):
    operation = OPERATIONS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = STRANGE[strange](x if change is None else SAME[change](x))
        except (RuntimeError, TypeError):
            return  # torch does not make such a tensor
        try:
            result = operation(made)
        except (TypeError, ValueError, NotImplementedError) as error:
            result, refusal = None, str(error)
    if result is None:
        named = "rewards" if name.endswith("advantage") else "points"
        assert named in refusal or "Tensor" in refusal, refusal
        return
    assert result.is_meta
    assert result.shape == operation(x).shape
