"""An agent that learns tabular tasks by their rewards."""

import numpy as np
import pytest

from paretopo.config import METHODS
from research.agent import train_tabular
from research.tasks import TASKS


def test_training_is_reproducible_from_its_seed():
    one, same, other = (
        train_tabular(TASKS["tune_any_unit"], METHODS["recommended"], seed=seed, steps=20)
        for seed in (5, 5, 6)
    )
    assert one == same != other


@pytest.mark.parametrize("method", METHODS)
def test_every_method_trains_on_every_kind_of_task(method):
    names = ["lucky", "any_unit", "offset", "concave", "aliased", "graded", "hundredfold"]
    if method == "otc_grpo":
        with pytest.raises(ValueError, match="goes by the fewest calls, and tune_offset is paid"):
            train_tabular(TASKS["tune_offset"], METHODS[method], seed=1, steps=4)
        names = ["lucky"]
    for name in names:
        rows = train_tabular(TASKS[f"tune_{name}"], METHODS[method], seed=1, steps=4)
        assert all(np.isfinite(list(row.values())).all() for row in rows)


def test_the_recommended_recipe_trains_with_its_own_weights():
    spelt = METHODS["rloo"] | {"paretopo.gate": "success", "paretopo.economies": "least"}
    spelt |= {"objectives.calls.economy": "saving", "objectives.correct.weight": 0.5}
    spelt |= {"objectives.calls.weight": 0.5}
    task = TASKS["tune_four_objectives"]
    given, own = (
        train_tabular(task, one, seed=3, steps=30) for one in (spelt, {"recipe": "recommended"})
    )
    assert given == own


def test_named_kinds_have_a_price_each():
    ends = [
        train_tabular(TASKS[f"tune_own_price{named}"], {}, seed=0, steps=400)[-1]["hypervolume"]
        for named in ("", "_named")
    ]
    assert ends[1] > ends[0] + 0.05


@pytest.mark.parametrize("name", ["tune_cheap_start", "tune_guessing_start", "tune_dear_start"])
def test_recommended_recipe_learns_from_cheap_guessing_and_dear_starts(name):
    """With the initial cost as reference, an agent with cheap starts unlearned being right."""
    rows = train_tabular(TASKS[name], METHODS["recommended"], seed=0, steps=300)
    assert rows[-1]["accuracy"] > 0.64
    assert rows[-1]["hypervolume"] > 0.7
