"""Reward functions are named, split and joined by values, without a trainer."""

import pytest

pytest.importorskip("trl")

from paretopo.config import ConfigError
from paretopo.integrations.trl.named_rewards import NamedRewards


def graded(prompts, **_):
    return [{"right": 1.0, "polite": 0.5} for _ in prompts]


graded.reward_components = {"right": 1.0, "polite": -0.5}


def brief(prompts, **_):
    return [0.25 for _ in prompts]


def call(named, **given):
    given = {"prompts": ["p"], "completions": ["c"], **given}
    return {one.name: one.function(**given) for one in named.rewards}


def test_a_function_with_several_values_becomes_a_function_for_each():
    named = NamedRewards([graded, brief], ["graded", "brief"], given=[2.0, 1.0], gate="right")
    assert named.weights == {"right": 2.0, "polite": -1.0, "brief": 1.0}
    assert call(named) == {"right": [1.0], "polite": [0.5], "brief": [0.25]}
    tables = named.make_tables()
    assert tables[1] == {"name": "polite", "weight": 1.0, "better": "fewer", "economy": "raw"}
    assert [one["gate"] for one in named.mark_gate(tables, None)] == [True, False, False]


def test_tables_choose_the_values():
    named = NamedRewards(
        [graded, brief],
        ["graded", "brief"],
        objectives=[{"name": "polite"}, {"name": "short", "function": "brief"}],
    )
    assert [one.name for one in named.rewards] == ["polite", "short"]


def test_gates_of_suites_become_one_function():
    functions = [lambda prompts, **_: [0.0 for _ in prompts], brief]
    named = NamedRewards(
        functions, ["sums", "words"], gated=("a", "b"), gate={"a": "sums", "b": "words"}
    )
    assert call(named, environment=["a"]) == {"sums_or_words": [0.0]}
    assert call(named, environment=["b"]) == {"sums_or_words": [0.25]}
    assert named.mark_gate(named.make_tables(), 0.5) == [
        {"name": "sums_or_words", "gate": True, "threshold": 0.5}
    ]


@pytest.mark.parametrize(
    ("names", "given", "message"),
    [
        (["one"], {}, r"names must be one for each of the 2 reward functions, got \['one'\]"),
        (["one", "one"], {}, "need different names"),
        (["one", "two"], {"gate": {"a": "one"}, "gated": ("a", "b")}, r"lacks \['b'\]"),
        (["one", "two"], {"gate": {"a": "three"}}, r"gate\['a'\] = 'three' is not a reward"),
        (["one", "two"], {"objectives": [{"name": "x", "function": "z"}]}, "'z' is not a reward"),
    ],
)
def test_wrong_names_are_refused(names, given, message):
    with pytest.raises(ConfigError, match=message):
        NamedRewards([brief, brief], names, **given)
