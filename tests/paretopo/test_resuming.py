"""n steps equal k steps, a saved state and n - k more: bit for bit, for any configuration.

The state of a session holds those of its controller, scores and preferences.
"""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rollout_groups import groups

from paretopo.config import loads
from paretopo.records.folder import RunFolder
from paretopo.rewards.learnt_costs import CostMinimum, CostTargets, SuccessPrice
from paretopo.rollout import Rollout
from paretopo.session import Session

FURTHER = {
    **dict.fromkeys(("calls", "seconds"), 'economy = "paretopo"\n'),
    **dict.fromkeys(("polite", "words"), 'economy = "saving"\nhigh = 9\n'),
}
NAMES = ("correct", "calls", "tokens", "turns", "seconds", "dollars", *("polite", "words"))
PREFERENCES = 'paretopo.preference = "given"\npreference = { levels = 2, grid = 2 }\n'
CALLS = '[[objectives]]\nname = "correct"\n[[objectives]]\nname = "calls"\n'
CONFIGURATIONS = {
    **{
        f"{count} objectives": "".join(
            f'[[objectives]]\nname = "{name}"\n{FURTHER.get(name, "")}' for name in NAMES[:count]
        )
        for count in (1, 3, 8)
    },
    "the paper's": 'recipe = "paper"\nparetopo.stage1_steps = 2\n',
    "the paper's in rewards": 'recipe = "paper"\nparetopo.multiplier_on = "reward"\n',
    "an epoch": 'paretopo = { stage1_steps = "epoch", stage1_estimator = "grpo" }\n',
    "fewest calls": f'{CALLS}economy = "paretopo"\n',
    "the first reference": (
        f'paretopo = {{ reference = "initial", stage2_estimator = "gd2po" }}\n{CALLS}'
    ),
    "falling k": 'paretopo.stage2_estimator = { name = "hypervolume", k = [4, 2, 1] }\n',
    **{name: f'{CALLS}economy = "{name}"\n' for name in ("saving", "otc", "laser_d")},
    "a limit": CALLS + "limit = 2\n",
    "a limit on a share": CALLS + "limit = { value = 1, share = 0.9 }\n",
    "preferences": PREFERENCES,
}
STEPS = 4


def draw(rng, objectives, prompt, count, preference=""):
    """Random rollouts of a prompt with these objectives."""
    measured = [name for name in objectives if name not in ("correct", "tokens", "dollars")]
    return [
        Rollout(
            prompt,
            {"correct": float(rng.random() < 0.6), "calls": 1.0}
            | {name: float(rng.integers(0, 4)) for name in measured},
            kind=prompt[:1],
            tokens=int(rng.integers(1, 99)),
            preference=preference,
        )
        for _ in range(count)
    ]


def play(session, step):
    """Train a step and evaluate; return all that a trainer sees of it, and the state."""
    rng, names, seen = np.random.default_rng(step), session.objectives, []
    grid = [""] if session.preferences is None else [one.text for one in session.preferences.grid]
    if step:
        drawn = [session.preference_of(at) for at in (2 * step, 2 * step + 1)]
        drawn = [getattr(one, "text", "") for one in drawn]
        groups = [draw(rng, names, *one) for one in zip("qp", (4, 4), drawn, strict=True)]
        scored = session.score(groups)
        seen += [one.tolist() for one in session.advantages([one.rollouts for one in scored])]
        seen += [drawn, session.record_step(step, {})]
    asked = [one for text in grid for at in range(3) for one in draw(rng, names, f"h{at}", 1, text)]
    seen += [session.observe(step, asked), session.progress()]
    return seen, json.loads(json.dumps(session.state()))


@pytest.mark.filterwarnings("ignore:the held-out outcome does not reach")
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_resumed_session_continues_bit_for_bit(tmp_path, name):
    config = loads(CONFIGURATIONS[name], {"optimiser.steps": STEPS})
    run = RunFolder.create(tmp_path, config)
    session = Session(run, prompts=4, steps_per_epoch=4)
    whole = [play(session, step) for step in range(STEPS + 1)]
    records = run.steps(), run.evaluations()
    for stopped in range(STEPS):
        again = Session(run, prompts=4, steps_per_epoch=4)
        again.restore(whole[stopped][-1])
        assert again.state() == whole[stopped][-1]
        assert len(run.steps()) == stopped
        for step in range(stopped + 1, STEPS + 1):
            assert play(again, step) == whole[step]
        assert (run.steps(), run.evaluations()) == records


PARTS = {
    "fewest": CostMinimum,
    "price": lambda: SuccessPrice(groups=3),
    "targets": lambda: CostTargets(groups=3),
}


@pytest.mark.parametrize("name", PARTS)
@given(st.lists(groups(min_points=4, max_points=4), max_size=12), st.integers(0, 12))
def test_a_resumed_part_continues_bit_for_bit(name, history, stopped):
    whole, resumed = PARTS[name](), PARTS[name]()
    for number, group in enumerate(history):
        if number == stopped:
            state = json.dumps(resumed.state_dict())
            resumed = PARTS[name]()
            resumed.load_state_dict(json.loads(state))
        right, costs = zip(*group, strict=True)
        for part in (whole, resumed):
            part.update(*["q"] * (name == "fewest"), costs, right)
    assert resumed.state_dict() == whole.state_dict()
