"""The session that every framework drives: scores, advantages, evaluations, records, state."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sessions import group, new_session, score

from paretopo.controller.two_stages import ParetoPO
from paretopo.records.trajectories import choose_recorded
from paretopo.rollout import Rollout, Segment
from paretopo.session import Session

BY_FEWEST = {"objectives__calls__economy": "paretopo"}


def test_a_session_gives_the_controllers_advantages(tmp_path):
    session = new_session(tmp_path)
    alone = ParetoPO(session.config.paretopo)
    for step in (1, 2):
        rollouts = score(session, group([1, 2, 1, 0], [1, 1, 0, 0]))
        vectors = [[one.rewards for one in rollouts]]
        np.testing.assert_array_equal(
            session.advantages([rollouts]), alone.step(vectors).advantages
        )
        session.record_step(step, {"loss": 0.5, "learning_rate": 1e-6})
    first, second = session.run.steps()
    assert (first["stage"], second["stage"]) == (1, 2)
    assert (first["solved"], first["measured"]["correct"]) == (0.5, 0.5)
    assert first["rank_histogram"] == [1, 1, 2]
    assert (first["generated_groups"], first["kept"], first["loss"]) == (1, 1.0, 0.5)


def test_a_step_has_the_means_of_each_kind(tmp_path):
    session = new_session(tmp_path)
    groups = [
        [Rollout(kind, {"correct": right, "calls": 1}, kind=kind) for right in (1.0, last)]
        for kind, last in (("math", 0.0), ("web", 1.0))
    ]
    session.advantages([group.rollouts for group in session.score(groups)])
    session.record_step(1, {"loss": 0.0})
    [row] = session.run.steps()
    assert {kind: one["solved"] for kind, one in row["by_kind"].items()} == {"math": 0.5, "web": 1}


def test_rollouts_that_come_with_their_text_are_kept(tmp_path):
    session = new_session(tmp_path, **BY_FEWEST)
    text = {"prompt": "why?", "answer": "42", "segments": (Segment("model", "42"),)}
    first = [replace(one, **text) for one in score(session, group([1, 2], [1, 0]))]
    given_ = session.advantages([first, score(session, group([0, 1], [1, 1]))])
    assert list(session.run.trajectories()) == []  # a step that is not recorded leaves nothing
    session.record_step(1, {})
    held_out = [*group([2, 0], [1, 0]), Rollout("other", {"correct": 1.0, "calls": 3}, kind="two")]
    session.observe(1, [replace(one, **text) for one in held_out[:2]] + held_out[2:], 1.0)
    trained, asked = session.run.trajectories()
    assert (trained.id, trained.kind, trained.prompt, trained.answer) == ("q", "one", "why?", "42")
    assert (trained.step, trained.stage, trained.held_out) == (1, 1, False)
    assert [one.advantage for one in trained.rollouts] == given_[0].tolist()
    assert [one.rank for one in trained.rollouts] == [0, 1]
    assert [one.rewards for one in trained.rollouts] == [(1, 1), (0, first[1].rewards[1])]
    assert [one.gated for one in trained.rollouts] == [(1, 1), (0, 0)]
    assert [one.reward_components["calls"] for one in trained.rollouts] == [1, 2]
    assert (asked.id, asked.held_out, asked.step) == ("q", True, 1)
    assert [(one.solved, one.reward_components["calls"], one.rank) for one in asked.rollouts] == [
        (True, 2, None),
        (False, 0, None),
    ]
    assert [one.gated[1] > 0 for one in asked.rollouts] == [True, False]
    session.restore(None)
    assert list(session.run.trajectories()) == []


def test_groups_of_one_batch_share_the_fewest_calls_of_their_prompt(tmp_path):
    session = new_session(tmp_path, **BY_FEWEST)
    dear, cheap = session.score([group([3, 3], [1, 1]), group([1, 1], [1, 1])])
    assert (dear.rewards[:, 1] < 1).all()
    assert (cheap.rewards[:, 1] == 1).all()


def test_penalties_cost_advantage_and_never_rank(tmp_path):
    session = new_session(
        tmp_path, kind=partial(Session, penalise=lambda tokens: (tokens > 80) * 1.0)
    )
    plain = new_session(tmp_path / "plain")
    short, long = group([1, 2], [1, 1]), group([1, 2], [1, 1], tokens=90)
    np.testing.assert_array_equal(
        session.advantages([score(session, short)]), plain.advantages([score(plain, short)])
    )
    np.testing.assert_allclose(
        session.advantages([score(session, long)])[0],
        plain.advantages([score(plain, long)])[0] - 1.0,
    )


def test_an_evaluation_after_the_checkpoint_is_forgotten(tmp_path):
    session = new_session(tmp_path, **BY_FEWEST)
    for step in (0, 1):
        session.observe(step, group([2 - step, 1], [1, 1]))
    state = json.loads(json.dumps(session.state()))
    session.observe(1, group([0, 1], [1, 1]))  # once more, after the checkpoint
    again = Session(session.run, prompts=64, steps_per_epoch=8)
    again.restore(state | {"recorded": 1})
    assert [row["step"] for row in session.run.evaluations()] == [0, 1]
    assert again.state()["scores"] == state["scores"]


def test_stage_1_counts_filtered_groups(tmp_path):
    text = "[optimiser]\nprompts_per_step = 1\n"
    session = new_session(tmp_path, text, prompts=4, paretopo__stage1_steps="epoch")
    for step in (1, 2, 3):
        session.score([group([2, 2], [0, 0])])  # filtered
        session.advantages([score(session, group([1, 2], [1, 1]))])
        session.record_step(step, {})
    assert [row["stage"] for row in session.run.steps()] == [1, 1, 2]


def test_steps_that_do_not_match_stop_the_run(tmp_path):
    session = new_session(tmp_path)
    with pytest.raises(RuntimeError, match="the trainer is at step 3, ParetoPO at 0"):
        session.record_step(3, {})


def test_fine_tuning_has_steps_without_rollouts(tmp_path):
    session = new_session(tmp_path, "[optimiser]\nlearn_from = 'answers'\nsteps = 1")
    assert session.record_step(1, {"loss": 0.5}) == {}
    assert session.run.steps() == [{"step": 1, "loss": 0.5}]
    session.finish()
    assert session.run.manifest["status"] == "finished"


def test_a_run_with_missing_steps_does_not_finish(tmp_path):
    session = new_session(tmp_path, "[optimiser]\nsteps = 5")
    with pytest.raises(RuntimeError, match="the training ended after 0 of 5 steps"):
        session.finish()


def test_one_of_several_processes_writes_and_all_agree(tmp_path):
    writer = new_session(tmp_path, **BY_FEWEST)
    reader = Session(writer.run, prompts=64, steps_per_epoch=8, writes=False)
    for session in (writer, reader):
        session.observe(0, group([2, 0], [1, 0]), 1.0)
        session.advantages([score(session, group([1, 2], [1, 1]))])
        session.record_step(1, {})
    assert reader.state() == writer.state()
    assert (len(writer.run.steps()), len(writer.run.evaluations())) == (1, 1)


@given(total=st.integers(0, 60), count=st.integers(0, 60))
def test_recorded_prompts_are_spread_over_all(total, count):
    names = [f"{number:03}" for number in range(total)]
    chosen = choose_recorded(reversed(names * 2), count)
    assert len(chosen) == min(total, count)
    assert chosen <= set(names)
    gaps = np.diff([names.index(name) for name in sorted(chosen)])
    assert gaps.size == 0 or gaps.max() - gaps.min() <= 1


# ---- means, errors and differences of rewards ----------------------------------------------------

POLITE = "[[objectives]]\nname = 'correct'\n[[objectives]]\nname = 'polite'\nlow = 0\nhigh = 1\n"


def rate(session, *values):
    return score(session, [Rollout("q", {"correct": 1.0, "polite": one}) for one in values])


def test_means_leave_out_rollouts_to_which_an_objective_does_not_apply(tmp_path):
    session = new_session(tmp_path, POLITE, paretopo__stage2_estimator="gdpo")
    session.advantages([rate(session, None, None), rate(session, 0.0, None)])
    session.record_step(1, {})
    session.advantages([rate(session, None, None)])
    session.record_step(2, {})
    first, second = session.run.steps()
    assert (first["measured"]["polite"], first["rewards"]["polite"]) == (0.0, 0.0)
    assert (second["measured"]["polite"], second["rewards"]["polite"]) == (None, None)
    assert second["rewards"]["correct"] == 1.0


def test_means_come_with_their_number_and_standard_error(tmp_path):
    session = new_session(tmp_path, POLITE)
    values = [0.0, 1.0, 1.0, None]
    session.observe(
        0, [Rollout(str(at), {"correct": 1, "polite": v}) for at, v in enumerate(values)]
    )
    [row] = session.run.evaluations()
    assert row["rollouts"] == 4
    assert row["applies"] == {"correct": 4, "polite": 3}
    kept = session.run.questions()["last"]
    assert kept["measured"]["3"] == {"correct": 1.0, "polite": None}
    assert row["error"] == {"correct": 0.0, "polite": pytest.approx(1 / 3)}
    assert row["solved_error"] == 0.0


@pytest.mark.parametrize(
    ("answers", "questions", "error"),
    [
        # Equal answers of a question add nothing: the error is that of (1, 0, 0).
        ([("a", 1), ("a", 1), ("b", 0), ("b", 0), ("c", 0), ("c", 0)], (1, 0, 0), 1 / 3),
        # Balanced answers of a question leave no error between questions.
        ([("a", 1), ("a", 0), ("b", 0), ("b", 1)], (0.5, 0.5), 0.0),
        ([("a", 1), ("a", 0), ("a", 0)], (1 / 3,), 1 / 3),  # the error over a question's answers
        ([("a", 1)], (1,), None),
    ],
)
def test_answers_to_one_question_count_as_one_question(tmp_path, answers, questions, error):
    session = new_session(tmp_path, POLITE)
    session.observe(0, [Rollout(name, {"correct": x, "polite": x}) for name, x in answers])
    [row] = session.run.evaluations()
    error = None if error is None else pytest.approx(error)
    assert row["error"] == {"correct": error, "polite": error}
    assert (row["solved_error"], row["rollouts"]) == (error, len(answers))
    kept = session.run.questions()["last"]["measured"]
    assert [one["polite"] for one in kept.values()] == pytest.approx(questions)
    assert list(kept) == list("abc"[: len(questions)])


def test_an_objective_that_never_differs_is_named_at_the_first_step(tmp_path, caplog):
    session = new_session(tmp_path, POLITE, paretopo__stage2_estimator="gdpo")
    groups = [rate(session, 0.0, 1.0), rate(session, 1.0, 1.0)]
    for step in (1, 2):
        session.advantages(groups)
        session.record_step(step, {})
    assert session.run.steps()[0]["differs"] == {"correct": 0.0, "polite": 0.5}
    [record] = [one for one in caplog.records if "in the first step" in one.message]
    assert "the rewards for 'correct' are equal within every group (2)" in record.message
    assert "correct 0 %, polite 50 %" in record.message


def test_savings_without_a_right_answer_are_explained_in_the_first_step(tmp_path, caplog):
    session = new_session(tmp_path)
    session.advantages([score(session, group([1, 3], [0, 0]))])
    [first] = [one.message for one in caplog.records if "in the first step" in one.message]
    assert first.endswith("; before the first right answer, 'calls' saves nothing")


@pytest.mark.parametrize("calls", [0, 2])
def test_a_cheap_wrong_held_out_answer_saves_nothing(tmp_path, calls):
    session = new_session(tmp_path)
    asked = [Rollout(f"q{at}", {"correct": 1.0, "calls": at}, solved=True) for at in (1, 4)]
    session.observe(0, asked)
    text = {"prompt": "?", "segments": (Segment("model", "7"),)}
    wrong = Rollout("q4", {"correct": 0.0, "calls": calls}, solved=False, **text)
    session.observe(1, [asked[0], wrong])
    assert session.run.evaluations()[1]["outcome"] == {"correct": 0.5, "calls": 0.375}
    [shown] = session.run.trajectories()
    assert shown.rollouts[0].gated == (0.0, 0.0)


def test_learnt_prices_are_recorded_and_named_when_they_move_tenfold(tmp_path, caplog):
    session = new_session(tmp_path, paretopo__stage1_steps=0)
    for step, calls in enumerate(([1, 2], [2, 40], [3, 80], [900, 900]), 1):
        session.advantages([score(session, group(calls, [1, 1]))])
        session.record_step(step, {})
        state, session = session.state(), Session(session.run, prompts=64, steps_per_epoch=8)
        session.restore(json.loads(json.dumps(state)))
    prices = [row["prices"]["calls"]["one"] for row in session.run.steps()]
    expected = [np.quantile([2, 40, 80, 900][:count], 0.25) for count in range(1, 5)]
    assert prices == pytest.approx(expected)
    said = [one.message for one in caplog.records if "price of a right answer" in one.message]
    assert len(said) == 1
    assert "by step 3, the price of a right answer in 'calls' moved from 2 to 21" in said[0]
    assert "of the kind 'one'" in said[0]


def test_an_objective_that_applies_to_no_held_out_question_is_named(tmp_path, caplog):
    session = new_session(tmp_path, POLITE)
    for step in (0, 1):
        session.observe(step, [Rollout("q", {"correct": 1.0, "polite": None})])
    said = [one.message for one in caplog.records if "applies to none of the 1" in one.message]
    assert len(said) == 1
    assert said[0].startswith("'polite'")


def choose(session, *tools):
    """Return a scored group of answers that called these tools first."""
    given = session.preferences.grid[0].text
    return score(
        session,
        [Rollout("q", {"correct": 1, "calls": 1}, preference=given, first_tool=t) for t in tools],
    )


def test_other_held_out_questions_are_named(tmp_path, caplog):
    session = new_session(tmp_path)
    for step, names in enumerate(("ab", "ba", "bc")):
        assert "new since" not in caplog.text
        session.observe(step, [Rollout(name, {"correct": 1.0, "calls": 1}) for name in names])
    assert "1 of 2 held-out questions are new since the last evaluation, and 1 are" in caplog.text


def test_groups_with_several_tools_are_counted_and_their_end_is_named(tmp_path, caplog):
    given = {"paretopo__preference": "given", "paretopo__stage1_steps": 0}
    session = new_session(tmp_path, optimiser__steps=40, **given)
    for step in range(1, 31):
        mixed = choose(session, "shop", "catalogue" if step < 12 else "shop")
        session.advantages([mixed, choose(session, "shop", "shop")])
        session.record_step(step, {})
    shares = [row["mixed"] for row in session.run.steps()]
    assert shares == [0.5] * 11 + [0.0] * 19
    said = [one.message for one in caplog.records if "more than one tool" in one.message]
    assert len(said) == 1
    assert said[0].startswith("in the 10 steps up to step 21, fewer than 10 %")


def test_groups_without_named_tools_are_not_counted(tmp_path):
    session = new_session(tmp_path)
    session.advantages([score(session, group([1, 2], [1, 1]))])
    session.record_step(1, {})
    assert "mixed" not in session.run.steps()[0]
