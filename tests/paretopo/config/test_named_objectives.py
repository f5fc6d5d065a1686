"""The objectives of a file: defaults, keys and errors."""

import pytest

from paretopo.config import ConfigError, loads

TOKENS = '[[objectives]]\nname = "correct"\n[[objectives]]\nname = "tokens"\n'
ONE = '[[objectives]]\nname = "a"\n'
RAW = TOKENS + 'economy = "raw"\n'


def test_gated_objective_comes_first_and_weights_sum_to_one():
    config = loads(
        '[[objectives]]\nname = "polite"\nweight = 1\nhigh = 1\n'
        '[[objectives]]\nname = "right"\nweight = 3\ngate = true\n'
    )
    assert [one.name for one in config.objectives] == ["right", "polite"]
    assert config.paretopo.weights == (0.75, 0.25)
    assert config.paretopo.floors == ("worst",)
    assert config.paretopo.references == (0.0, 0.0)


def test_floor_and_reference_are_in_the_unit_of_the_objective():
    config = loads(
        '[[objectives]]\nname = "correct"\n'
        '[[objectives]]\nname = "seconds"\neconomy = "raw"\n'
        "high = 60\nfailure = 60\nreference = 30\n"
        '[[objectives]]\nname = "polite"\nfailure = "keeps"\n'
        '[[objectives]]\nname = "words"\nbetter = "fewer"\neconomy = "raw"\n',
        {"paretopo.stage2_estimator": "gd2po"},
    )
    assert config.paretopo.floors == (-60.0, "keeps", "worst")
    assert config.paretopo.references == (0.0, -30.0, 0.0, "initial")
    assert config.paretopo.weights == (0.25,) * 4


def test_one_key_of_one_objective_is_set():
    assert loads("", {"objectives.calls.weight": 0.5}).paretopo.weights == (0.5, 0.5)
    economy = {"objectives.calls.economy": {"name": "paretopo", "alpha": 1.0}}
    config = loads("", {"objectives.calls.weight": 0.25} | economy)
    assert config.paretopo.weights == pytest.approx((2 / 3, 1 / 3))
    assert config.objective("calls").alpha == 1.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("objectives = 3", r"objectives must be tables, \[\[objectives\]\]"),
        ("[objectives.calls]\nweight = 1", r"objectives must be tables, \[\[objectives\]\]"),
        ("[[objectives]]\nweight = 1", "each of .* must have a name"),
        ('[[objectives]]\nname = "a b"', "a name must be of letters"),
        ('[[objectives]]\nname = "a"\n' * 2, "has 'a' twice"),
        ('[[objectives]]\nname = "a"\nweigth = 1', "unknown key objectives.a.weigth; did"),
        ('[[objectives]]\nname = "a"\nbetter = "less"', 'objectives.a.better must be "more" or'),
        ('[[objectives]]\nname = "a"\nweight = -1', "a.weight must be a number of at least"),
        ('[[objectives]]\nname = "a"\nweight = 0', "need a weight above 0"),
        (TOKENS + "weight = 1", r"all objectives a weight, .* none for \['correct'\]"),
        (ONE + "gate = true\n" + ONE.replace('"a"', '"b"') + "gate = true", "only one"),
        (TOKENS + "gate = true", "tokens.gate cannot be true for a cost"),
        (RAW + "failure = 0", "objectives.tokens.failure could give .* and high = None"),
        (RAW + "failure = 10\nhigh = 50", "better than .* got failure = 10.0 .* high = 50"),
        (TOKENS + 'economy = "paretopo"\nfailure = 0.5', "must be at most 0 .* got failure = 0.5"),
        (TOKENS + 'economy = "share of the group"\nfailure = 0.0', 'economy must be "raw", and'),
        (RAW + "reference = 0", "reference must be worse than .* got reference = 0"),
        (TOKENS + "low = 5\nhigh = 5", "objectives.tokens.low must be below high"),
        (TOKENS.replace("tokens", "b") + 'economy = "otc"', 'is for costs: .* got economy = "otc"'),
        (RAW, r'"gd2po"; objectives.tokens is not a share: give it economy = "saving"'),
        (TOKENS.replace("tokens", "b"), "objectives.b needs an upper bound: .* for a cost"),
        (
            TOKENS.replace('ct"', 'ct"\nhigh = 10'),
            "set high = 1, .*; objectives.correct ends",
        ),
        (ONE + "gate = true\nlow = 0\nfailure = 0", "failure must not be given for the gate"),
        ("weight = 1", r"unknown key weight; did you mean objectives.NAME.weight\?"),
        ("[paretopo]\nfailure = 1", r"did you mean objectives.NAME.failure\?"),
        ("objectiv = 1", r"unknown key objectiv; did you mean 'objectives'\?"),
    ],
)
def test_objectives_that_cannot_be_are_refused(text, message):
    with pytest.raises(ConfigError, match=message):
        loads(text)
