"""Any number of named objectives through session, controller and records."""

import json
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from support.sessions import new_session

from paretopo.config import METHODS, ConfigError, dumps, loads, with_method
from paretopo.records import folder
from paretopo.records.folder import RunFolder
from paretopo.rollout import BadRollout, Rollout, Segment
from paretopo.session import Session

THREE = {
    "objectives": [
        {"name": "correct", "weight": 0.6},
        {"name": "calls", "weight": 0.2, "economy": "paretopo"},
        {"name": "tokens", "weight": 0.2},
    ]
}


# For objectives outside 0 to 1, and for failures that keep their rewards.
OF_ANY_UNIT = {"paretopo__stage2_estimator": "hypervolume_gd2po"}


def draw_rollouts(rng, prompt_id, count):
    """Random rollouts of a prompt; the draws are those of the recorded numbers."""
    return [
        Rollout(
            prompt_id,
            {"correct": float(rng.random() < 0.6), "calls": int(rng.integers(0, 4))},
            kind=prompt_id[:1],
            tokens=int(rng.integers(1, 99)),
        )
        for _ in range(count)
    ]


def play(session, steps=6):
    rng = np.random.default_rng(5)
    advantages = []

    def held_out():
        return [one for at in range(8) for one in draw_rollouts(rng, f"h{at // 2}", 1)]

    session.observe(0, held_out(), 1.0)
    for step in range(1, steps + 1):
        groups = [draw_rollouts(rng, f"q{rng.integers(0, 6)}", 5) for _ in range(4)]
        scored = session.score(groups)
        advantages += session.advantages([group.rollouts for group in scored])
        session.record_step(step, {})
        session.observe(step, held_out(), 1.0)
    return np.concatenate(advantages)


# ---- one to eight --------------------------------------------------------------------------------


# Methods whose estimator takes costs in one form only.
RESCALED = {"gr3": "gr3"}


@pytest.mark.parametrize("name", METHODS)
def test_methods_accept_three_objectives_or_name_the_reason(tmp_path, name):
    table = THREE | {"optimiser": {"steps": 6, "group_size": 5}}
    if name == "otc_grpo":
        with pytest.raises(ConfigError, match=r"OTC .* two objectives, got 3: correct, calls, tok"):
            with_method(table, name)
        return
    overrides = {}
    if name in RESCALED:
        with pytest.raises(ConfigError, match=rf'economy = "{RESCALED[name]}".*objectives\.tokens'):
            with_method(table, name)
        overrides["objectives.tokens.economy"] = RESCALED[name]
    config = with_method(table, name, overrides)
    if config.optimiser.learn_from == "answers":
        assert config.paretopo.weights == (0.6, 0.2, 0.2)
        return
    session = Session(RunFolder.create(tmp_path, config), prompts=12, steps_per_epoch=3)
    advantages = play(session)
    assert np.isfinite(advantages).all()
    assert (advantages != 0).any()
    rows = [*session.run.steps(), *session.run.evaluations()]
    for row in rows:
        assert list(row["measured"]) == list(row["rewards"]) == ["correct", "calls", "tokens"]
        assert row["measured"]["tokens"] == row["response_tokens"]
        assert row["rewards"]["tokens"] < 1.0


def test_groups_may_be_of_any_size(tmp_path):
    session = new_session(tmp_path, paretopo__stage1_steps=0)
    rng = np.random.default_rng(0)
    groups = [draw_rollouts(rng, name, size) for name, size in (("a", 2), ("b", 5), ("c", 3))]
    given = session.advantages([one.rollouts for one in session.score(groups)])
    assert [len(own) for own in given] == [2, 5, 3]


# ---- missing measures ----------------------------------------------------------------------------

POLITE = '[[objectives]]\nname = "correct"\n[[objectives]]\nname = "polite"\nfailure = "keeps"\n'


def test_unmeasured_objective_has_no_effect(tmp_path):
    session = new_session(tmp_path, POLITE, **OF_ANY_UNIT)
    nobody = [Rollout(name, {"correct": 1.0, "polite": None}) for name in "aabb"]
    [scored] = session.score([nobody])
    assert not scored.informative
    session.observe(0, nobody)
    [row] = session.run.evaluations()
    assert (row["measured"]["polite"], row["outcome"]["polite"]) == (None, 0.0)
    assert (row["gain"], row["hypervolume"]) == (0.0, 0.0)
    assert session.progress()[1].startswith("correct 100.0 % at step 0, ")


@pytest.mark.parametrize(
    ("components", "message"),
    [
        ({"polite": 1.0}, "'q' has no 'correct' among its measures"),
        ({"correct": float("nan"), "polite": 1.0}, "'q' has 'correct' = nan .* a finite number"),
        ({"correct": 1.5, "polite": 1.0}, "'q' has 'correct' = 1.5 .* at least 0 and at most 1"),
        ({"correct": 1.0, "polite": "very"}, "'q' has 'polite' = 'very'"),
        ({"correct": 1.0, "polite": float("inf")}, "'q' has 'polite' = inf"),
        ({"correct": 1.0, "polit": 1.0}, "'q' has 'polit' = 1.0 .* did you mean 'polite'"),
        ({"correct": 1.0, "polite": 1.0, "calls": 0.5}, "'q' has 'calls' = 0.5 .* an integer"),
        ({"correct": 1.0}, "no rollout measures the objective 'polite' .* prompt 'q'"),
    ],
)
def test_bad_measure_names_prompt_objective_and_value(tmp_path, components, message):
    session = new_session(tmp_path, POLITE, **OF_ANY_UNIT)
    session.observe(0, [Rollout("h", {"correct": 1.0, "polite": 0.0})])
    for use in (lambda one: session.score([[one, one]]), lambda one: session.observe(1, [one])):
        with pytest.raises(BadRollout, match=message):
            use(Rollout("q", components))
    assert len(session.run.evaluations()) == 1


def test_a_question_without_a_gate_counts_as_right_and_in_no_share(tmp_path):
    session = new_session(tmp_path, POLITE.replace("keeps", "worst"), **OF_ANY_UNIT)
    measured = {"wrong": (0.0, 0.9), "right": (1.0, 0.2), "free": (None, 0.8)}
    session.observe(
        0, [Rollout(name, {"correct": a, "polite": b}) for name, (a, b) in measured.items()]
    )
    [row] = session.run.evaluations()
    assert (row["solved"], row["applies"]) == (0.5, {"correct": 2, "polite": 3})
    # A wrong answer gets the reference, 0.
    assert row["outcome"] == {"correct": 0.5, "polite": pytest.approx((0.0 + 0.2 + 0.8) / 3)}


def test_built_in_measures_are_derived(tmp_path):
    text = "".join(
        f'[[objectives]]\nname = "{name}"\neconomy = "raw"\n'
        for name in ("correct", "tokens", "dollars")
    )
    session = new_session(tmp_path, text, **OF_ANY_UNIT)
    one = Rollout("q", {"correct": 1.0, "calls": 3}, tokens=250)
    spent = replace(one, reward_components={"correct": 1.0, "calls": 1, "dollars": 10.0})
    [scored] = session.score([[one, spent]])
    assert scored.rewards.tolist() == [[1.0, -250.0, 0.0], [1.0, -250.0, -10.0]]


def test_costs_become_prices_or_remaining_budget(tmp_path):
    text = '[[objectives]]\nname = "correct"\n[[objectives]]\nname = "tokens"\nprice = 0.5\n'
    text += 'economy = "raw"\n'
    rollouts = [Rollout("q", {"correct": 1.0}, tokens=tokens) for tokens in (10, 300)]
    [paid] = new_session(tmp_path / "paid", text, **OF_ANY_UNIT).score([rollouts])
    assert paid.rewards.tolist() == [[1.0, -5.0], [1.0, -150.0]]
    session = new_session(tmp_path / "left", text + "budget = 100\n", **OF_ANY_UNIT)
    left = session.config.objective("tokens")
    assert (left.better, left.low, left.high) == ("more", None, 100.0)
    [scored] = session.score([rollouts])
    assert scored.rewards.tolist() == [[1.0, 95.0], [1.0, -50.0]]
    assert [left.to_amount(left.to_measure(amount)) for amount in (0.0, 10.0)] == [0.0, 10.0]
    assert loads(dumps(session.config)) == session.config


def test_a_saving_of_a_budget_is_that_of_the_cost(tmp_path):
    text = (
        '[[objectives]]\nname = "correct"\n[[objectives]]\nname = "tokens"\neconomy = "saving"\n'
        "price = 20.0\n"
    )
    rollouts = [Rollout("q", {"correct": 1.0}, tokens=tokens) for tokens in (2, 6, 6, 10)]
    [paid] = new_session(tmp_path / "paid", text).score([rollouts])
    [left] = new_session(tmp_path / "left", text + "budget = 1000\n").score([rollouts])
    np.testing.assert_allclose(paid.rewards, left.rewards, rtol=1e-12)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('name = "calls"\nbudget = 5\nbetter = "fewer"', "calls.budget measures the rest"),
        ('name = "calls"\nbudget = 5\neconomy = "paretopo"', "is for costs: better"),
        ('name = "calls"\nprice = 0', "objectives.calls.price must be a number greater than 0"),
        ('name = "correct"\nprice = 2', "objectives.correct.price and budget are for costs"),
    ],
)
def test_prices_and_budgets_that_make_no_sense_are_refused(text, message):
    with pytest.raises(ConfigError, match=message):
        loads(f"[[objectives]]\n{text}")


def test_evaluation_reports_costs_of_right_answers(tmp_path):
    session = new_session(
        tmp_path, '[[objectives]]\nname = "correct"\n[[objectives]]\nname = "tokens"'
    )
    rollouts = [
        Rollout(name, {"correct": right}, tokens=tokens)
        for name, right, tokens in (("a", 1.0, 10), ("b", 1.0, 20), ("c", 0.0, 90))
    ]
    session.observe(0, rollouts)
    session.observe(1, [replace(one, reward_components={"correct": 0.0}) for one in rollouts])
    first, second = session.run.evaluations()
    assert first["measured"] == {"correct": pytest.approx(2 / 3), "tokens": 40.0}
    assert first["measured_of_solved"] == {"correct": 1.0, "tokens": 15.0}
    assert second["measured_of_solved"] == {"correct": None, "tokens": None}


# ---- gate and reference in raw units -------------------------------------------------------------


@pytest.mark.parametrize("method", ["recommended", "paper", "hypervolume", "gdpo"])
def test_savings_never_lift_a_failure_above_a_success(tmp_path, method):
    """Raw negative rewards with a floor of 0 would make failures the best of all."""
    economy = "saving" if method == "recommended" else "raw"
    table = {
        "objectives": [{"name": "correct"}, {"name": "tokens", "economy": economy}],
        "optimiser": {"steps": 1},
    }
    given = {"paretopo.gate": "success", "paretopo.stage1_steps": 0}
    if method == "hypervolume":  # its weights put the reference at one unit of cost
        table["objectives"][1]["price"] = 1e-3
    config = with_method(table, method, given)
    session = Session(RunFolder.create(tmp_path, config), prompts=8, steps_per_epoch=8)
    group = [
        Rollout("q", {"correct": float(right)}, tokens=tokens)
        for right, tokens in ((1, 50), (1, 90), (0, 1), (0, 200))
    ]
    [scored] = session.score([group])
    [advantages] = session.advantages([scored.rollouts])
    assert advantages[0] >= advantages[1] >= advantages[2:].max()
    assert advantages[0] > advantages[2:].max()


def test_unreachable_reference_warns(tmp_path):
    text = '[[objectives]]\nname = "correct"\n[[objectives]]\nname = "tokens"\n'
    text += 'economy = "raw"\nreference = 20\n'
    session = new_session(tmp_path, text, **OF_ANY_UNIT)
    with pytest.warns(UserWarning, match=r"'tokens' \(-50 against -20: set reference = 50\)"):
        session.observe(0, [Rollout("h", {"correct": 1.0}, tokens=50)])
    session.observe(1, [Rollout("h", {"correct": 1.0}, tokens=15)])
    assert session.run.evaluations()[1]["gain"] == pytest.approx(5.0)


@pytest.mark.filterwarnings("error")
def test_first_evaluation_sets_its_price_without_a_warning(tmp_path):
    text = '[[objectives]]\nname = "correct"\n[[objectives]]\nname = "tokens"\n'
    session = new_session(tmp_path, text)
    spent = [10] * 9 + [200]
    session.observe(
        0, [Rollout(f"h{at}", {"correct": 1.0}, tokens=one) for at, one in enumerate(spent)]
    )
    [row] = session.run.evaluations()
    assert row["outcome"]["tokens"] == pytest.approx(1.0 - np.mean(spent) / 200)


def test_right_is_kept_where_somebody_asked_for_it(tmp_path):
    """An answer that is there to be imitated says nothing of a rollout."""
    text = '[[objectives]]\nname = "polite"\nhigh = 1\n'
    [scored] = new_session(tmp_path, text).score(
        [[Rollout("q", {"polite": 1.0, "correct": 0.0, "calls": 2.0})]]
    )
    assert scored.rollouts[0].reward_components == {"polite": 1.0, "calls": 2.0}


# ---- a long run ----------------------------------------------------------------------------------


@pytest.mark.long
def test_memory_and_records_of_a_long_run_are_bounded(tmp_path, monkeypatch):
    """Over 1,000 steps only rows of fixed size accumulate."""
    monkeypatch.setattr(folder, "MOST_TEXT", 2_500_000)
    steps, every, questions = 1000, 5, 8
    table = THREE | {"optimiser": {"steps": steps}}
    config = with_method(table, "recommended")
    session = Session(RunFolder.create(tmp_path, config), prompts=64, steps_per_epoch=8)
    rng = np.random.default_rng(0)
    wrote = {"prompt": "why?", "segments": (Segment("model", "x" * 2000),)}
    taken = {}
    tracemalloc.start()
    try:
        for step in range(1, steps + 1):
            group = [replace(one, **wrote) for one in draw_rollouts(rng, f"q{step % 64}", 4)]
            [scored] = session.score([group])
            session.advantages([scored.rollouts])
            session.record_step(step, {"loss": 0.5})
            if step % every == 0:
                session.observe(
                    step, [draw_rollouts(rng, f"h{at}", 1)[0] for at in range(questions)]
                )
            if step in (400, steps):
                taken[step] = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert len(json.dumps(session.state())) < 60 * (steps / every) + 10_000  # an outcome each
    growth = (taken[steps] - taken[400]) / ((steps - 400) / every)
    assert growth < 1500, f"{growth:.0f} bytes an evaluation"
    # By rows of this size, 10,000 steps of 1,024 rollouts: their number is in no row.
    per_row = {
        name: (session.run.path / name).stat().st_size / (steps // apart)
        for name, apart in (("steps.jsonl", 1), ("evaluations.jsonl", every))
    }
    assert 10_000 * sum(per_row.values()) < 50e6, per_row
    assert (session.run.path / "trajectories.jsonl").stat().st_size <= 2.5e6
    kept = [group.step for group in session.run.trajectories()]
    [apart] = set(np.diff(kept))  # evenly, from the first to the last
    assert (kept[0], kept[-1]) == (apart, steps)
