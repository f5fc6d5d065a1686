"""Preferences given with questions: their set, their sampling, and their effects."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from paretopo.config import ConfigError, dumps, loads
from paretopo.preference import preferences_of
from paretopo.records.folder import RunFolder
from paretopo.records.sweeps import agreement, average_sweep, split_sweeps
from paretopo.rollout import BadRollout, Rollout
from paretopo.session import Session

GIVEN = '[paretopo]\npreference = "given"\n'


def given(text: str = ""):
    return preferences_of(loads(GIVEN + text))


def test_sampled_weights_contain_the_grid():
    preferences = given("[preference]\nlevels = 10\ngrid = 2")
    assert len(preferences.all) == 11
    assert [one.weights for one in preferences.grid] == [(1.0, 0.0), (0.5, 0.5), (0.0, 1.0)]
    assert preferences["correct 0.3, calls 0.7"].weights == (0.3, 0.7)
    line = preferences["correct 0.3, calls 0.7"].line
    assert line == "Preference: correct 0.3, calls 0.7"
    with pytest.raises(ConfigError, match="did you mean"):
        preferences["correct 0.33, calls 0.67"]


def test_three_objectives_have_a_triangle_of_weights():
    names = "".join(f'[[objectives]]\nname = "{one}"\n' for one in ("correct", "calls", "tokens"))
    preferences = given(f"{names}[preference]\nlevels = 4\ngrid = 4")
    assert len(preferences.grid) == len(preferences.all) == 15
    assert all(abs(sum(one.weights) - 1.0) < 1e-12 for one in preferences.all)


def test_draws_repeat_and_cover_all():
    preferences, again = given(), given()
    drawn = [preferences.draw(group).text for group in range(2000)]
    assert drawn == [again.draw(group).text for group in range(2000)]
    counts = Counter(drawn)
    assert len(counts) == 11
    assert min(counts.values()) > 100  # alike: 182 of each
    other = preferences_of(loads("seed = 1\n" + GIVEN))
    assert drawn != [other.draw(group).text for group in range(2000)]


def test_a_small_concentration_favours_the_ends():
    ends = ("correct 1, calls 0", "correct 0, calls 1")
    shares = {}
    for concentration in (0.3, 1.0, 4.0):
        preferences = given(f"[preference]\nconcentration = {concentration}")
        drawn = [preferences.draw(group).text for group in range(1000)]
        shares[concentration] = sum(one in ends for one in drawn)
    assert shares[0.3] > 1.5 * shares[1.0] > 3 * shares[4.0]


@pytest.mark.parametrize(
    ("text", "estimator", "economies"),
    [
        ("", "rloo", "least"),
        (GIVEN, "worth", "least"),
        (GIVEN + 'stage2_estimator = "rloo"\n', "rloo", "each"),
        ('[paretopo]\nstage2_estimator = "rloo"\n', "rloo", "each"),
    ],
)
def test_the_recipe_keeps_worth_for_given_preferences(text, estimator, economies):
    config = loads(text)
    assert (config.paretopo.stage2_estimator, config.paretopo.economies) == (estimator, economies)
    assert loads(dumps(config)) == config


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[preference]\nlevels = 10\ngrid = 3", "must divide .*, got grid = 3 and levels = 10"),
        ("stage1_steps = 5", "paretopo.stage1_steps = 0: .* got .* = 5"),
        ('stage2_estimator = "mo_grpo"', "an estimator with weights"),
        ('stage2_estimator = "hypervolume"\ncentre = "exact"', "which may be 0"),
        ('weighting = "first alone"', "none with all the weight"),
        (
            '[optimiser]\nlearn_from = "answers"',
            'needs optimiser.learn_from = "rewards", .* got .*"answers"',
        ),
    ],
)
def test_settings_that_ignore_preferences_are_refused(text, message):
    with pytest.raises(ConfigError, match=message):
        loads(GIVEN + text)


def new_session(folder, text) -> Session:
    return Session(RunFolder.create(folder, loads(text)), prompts=64, steps_per_epoch=4)


def group(preference: str, calls=(0, 1, 3), right=(0, 1, 1), held_out=False):
    return [
        Rollout(
            f"q{number}" if held_out else "q",
            {"correct": float(one), "calls": float(spent)},
            preference=preference,
            held_out=held_out,
        )
        for number, (spent, one) in enumerate(zip(calls, right, strict=True))
    ]


def test_each_group_goes_by_its_own_weights(tmp_path):
    session = new_session(tmp_path, GIVEN)
    texts = ["correct 1, calls 0", "correct 0.2, calls 0.8"]
    scored = session.score([group(text) for text in texts])
    first, second = session.advantages([one.rollouts for one in scored])
    assert first[1] == first[2]  # right is right
    assert second[1] > second[2]  # one call beats three
    session.record_step(1, {"loss": 0.0})
    assert session.run.steps()[0]["preferences"] == texts
    with pytest.raises(BadRollout, match="must share one preference"):
        session.advantages([[*scored[0].rollouts[:1], *scored[1].rollouts[1:]]])


def sweep(session, better: float = 0.0):
    """All questions for every preference of the grid: fewer calls where they weigh more."""
    return [
        rollout
        for at, one in enumerate(session.preferences.grid)
        for rollout in group(
            one.text,
            calls=(0, 4 - 2 * at, 4 - 2 * at),
            right=(0, 1, int(at < 2 + better)),
            held_out=True,
        )
    ]


def test_a_sweep_is_a_row_and_a_point_for_each_preference(tmp_path):
    session = new_session(tmp_path, GIVEN + "[preference]\nlevels = 2\ngrid = 2")
    tracked = session.observe(0, sweep(session), seconds=3.0)
    rows = session.run.evaluations()
    assert [row["weights"] for row in rows] == [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]
    assert [row["seconds"] for row in rows] == [1.0] * 3
    # With fewer calls, the third answers fewer questions: its wrong answers save nothing.
    assert rows[-1]["archive_size"] == 1
    np.testing.assert_allclose(session.controller.archive.points, [[2 / 3, 1 / 3]])
    assert rows[-1]["hypervolume"] in tracked.values()
    assert average_sweep(rows)["measured"]["calls"] == pytest.approx(4 / 3)
    assert session.evaluated() == 0
    assert [len(one) for one in split_sweeps(rows)] == [3]


def test_fixed_weights_have_no_preferences(tmp_path):
    assert new_session(tmp_path, "").preference_of(3) is None


def test_agreement_counts_pairs():
    assert agreement([1, 2, 3], [1, 2, 3]) == 1.0
    assert agreement([1, 2, 3], [3, 2, 1]) == 0.0
    assert np.isnan(agreement([1, 1], [1, 2]))
