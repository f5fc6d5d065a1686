"""Prompts, rollouts and the brain of the OpenRLHF adapter; neither OpenRLHF nor Ray is needed."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from support.brains import brain_of, group, scored

from paretopo.config import ConfigError, loads
from paretopo.controller.two_stages import ParetoPO
from paretopo.integrations.openrlhf.brain import Brain
from paretopo.integrations.openrlhf.chat_tools import calls_in, result_frame
from paretopo.integrations.openrlhf.prepare import _rows
from paretopo.integrations.openrlhf.rollouts import (
    BadRollout,
    Rollout,
    checked_logs,
    prompt_id,
    transcript_of,
)
from paretopo.run.records import RunFolder
from paretopo.run.trajectories import Segment
from paretopo.run.transcripts import Transcript

# ---- prompts of a file ---------------------------------------------------------------------------


def rows_of(tmp_path, text, suffix=".jsonl", settings=""):
    source = tmp_path / f"prompts{suffix}"
    source.write_text(text, encoding="utf-8")
    tokenizer = SimpleNamespace(
        apply_chat_template=lambda messages, **_: f"<{messages[-1]['content']}>"
    )
    config = loads(f"[openrlhf]\n{settings}")
    return _rows(config, tokenizer, "prompts", str(source), None, [])


def test_prompts_of_a_file_pass_through_the_template_or_do_not(tmp_path):
    text = '{"prompt": "a", "label": {"id": 1}}\n{"prompt": [{"content": "b"}], "label": "2"}\n'
    assert rows_of(tmp_path, text) == [
        {"prompt": "<a>", "label": '{"id": 1}', "datasource": "default"},
        {"prompt": "<b>", "label": "2", "datasource": "default"},
    ]
    plain = rows_of(tmp_path, '{"prompt": "a", "label": "1"}', settings="chat_template = false")
    assert plain[0]["prompt"] == "a"


@pytest.mark.parametrize(
    ("text", "suffix", "settings", "complaint"),
    [
        ('{"prompt": "a"}', ".jsonl", "", r"row 1 .* keys prompt and label, got \['prompt'\]"),
        ("[1]", ".jsonl", "", "got list"),
        ('{"prompt": "a", "label": 1}\n{', ".jsonl", "", "line 2 of"),
        ("", ".jsonl", "", "holds no prompts"),
        ("x", ".csv", "", r"must be a \.jsonl or \.parquet file"),
        ('{"prompt": [], "label": 1}', ".jsonl", "chat_template = false", "must be a text"),
    ],
)
def test_wrong_rows_are_refused_with_their_place(tmp_path, text, suffix, settings, complaint):
    with pytest.raises(ConfigError, match=complaint):
        rows_of(tmp_path, text, suffix, settings)


# ---- rollouts ------------------------------------------------------------------------------------


def test_prompts_are_called_by_their_label_or_a_digest():
    assert prompt_id("text", '{"id": 7}') == "7"
    assert prompt_id("text", "42") == prompt_id("text", "43") != prompt_id("other", "42")


@pytest.mark.parametrize(
    ("logs", "complaint"),
    [
        ({"calls": 1}, "'q' has no 'correct'"),
        ({"correct": 1.0}, "'q' has no 'calls'"),
        ({"correct": float("nan"), "calls": 1}, "'correct' = nan"),
        ({"correct": 2.0, "calls": 1}, "'correct' = 2.0"),
        ({"correct": None, "calls": 1}, "'correct' = None"),
        ({"correct": 1.0, "calls": -1}, "'calls' = -1"),
        ({"correct": 1.0, "calls": 0.5}, "'calls' = 0.5"),
        ({"correct": 1.0, "calls": float("inf")}, "'calls' = inf"),
    ],
)
def test_bad_logs_name_prompt_and_key(logs, complaint):
    with pytest.raises(BadRollout, match=complaint):
        checked_logs("text", '{"id": "q"}', logs)


def test_calls_are_found_and_broken_ones_are_not():
    text = (
        '<call>{"name": "f", "arguments": {"x": 1}}</call> <tool_call>\n{"name": "g", '
        '"arguments": {}}\n</tool_call><call>{"name": 3, "arguments": {}}</call><call>{</call>'
    )
    assert calls_in(text) == [("f", {"x": 1}), ("g", {})]


def test_results_are_framed_as_the_template_does():
    def render(messages, **_):
        said = "".join(f"<{m['role']}>{m['content']}<end>\n" for m in messages)
        return said + "<assistant>"

    tokenizer = SimpleNamespace(apply_chat_template=render, eos_token="<end>")
    assert result_frame(tokenizer) == ("\n<tool>", "<end>\n<assistant>")
    tokenizer.apply_chat_template = lambda messages, **_: "no results here"
    with pytest.raises(ValueError, match="does not render tool results"):
        result_frame(tokenizer)


# ---- the brain -----------------------------------------------------------------------------------


def test_the_brain_gives_the_controllers_advantages(tmp_path):
    brain, run = brain_of(tmp_path)
    alone = ParetoPO(run.config.paretopo)
    for step in (1, 2):
        rollouts = scored(brain, group([1, 2, 1, 0], [1, 1, 0, 0]))
        vectors = [[[one.correct, one.economy] for one in rollouts]]
        assert brain.advantages([rollouts]) == alone.advantages(vectors).tolist()
        brain.record_step(step, {"policy_loss": 0.5, "actor_lr": 1e-6})
    first, second = run.steps()
    assert (first["stage"], second["stage"]) == (1, 2)
    assert first["accuracy"] == 0.5
    assert first["rank_histogram"] == [1, 1, 2]
    assert first["kept"] == 1.0


def test_the_brain_keeps_what_comes_with_its_text(tmp_path):
    brain, run = brain_of(tmp_path)
    wrote = Transcript("why?", "42", (Segment("model", "42"),), truncated=False)
    first = [replace(one, transcript=wrote) for one in scored(brain, group([1, 2], [1, 0]))]
    given = brain.advantages([first, scored(brain, group([0, 1], [1, 1]))])
    assert list(run.trajectories()) == []  # a step that is not recorded leaves nothing
    brain.record_step(1, {})
    held_out = [*group([2, 0], [1, 0]), Rollout("other", "two", 1.0, 3)]
    brain.observe(1, [replace(one, transcript=wrote) for one in held_out[:2]] + held_out[2:], 1.0)
    trained, asked = run.trajectories()
    assert (trained.id, trained.kind, trained.prompt, trained.answer) == ("q", "one", "why?", "42")
    assert (trained.step, trained.stage, trained.held_out) == (1, 1, False)
    assert [one.advantage for one in trained.rollouts] == given[0]
    assert [one.rank for one in trained.rollouts] == [0, 1]
    assert [one.rewards for one in trained.rollouts] == [(1, 1), (0, first[1].economy)]
    assert [one.gated for one in trained.rollouts] == [(1, 1), (0, 0)]
    assert [one.calls for one in trained.rollouts] == [1, 2]
    assert (asked.id, asked.held_out, asked.step) == ("q", True, 1)
    assert [(one.solved, one.calls, one.rank) for one in asked.rollouts] == [
        (True, 2, None),
        (False, 0, None),
    ]
    brain.restore(None)
    assert list(run.trajectories()) == []


def test_samples_become_transcripts():
    torch = pytest.importorskip("torch")
    # <prompt>, a call, its answer, the rest; the second row is shorter and padded on its right.
    texts = ["why?", "<call>{}</call>", "<tool>1</tool>", "so 42<end>"]
    pieces = dict(enumerate(["<pad>", *texts]))
    tokenizer = SimpleNamespace(
        decode=lambda tokens: "".join(pieces[token] for token in tokens), eos_token="<end>"
    )
    experience = SimpleNamespace(
        prompts=["why?", "why?"],
        labels=['{"id": "q", "answer": [4, 2]}', "42"],
        sequences=torch.tensor([[1, 2, 3, 4], [1, 4, 0, 0]]),
        attention_mask=torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]]),
        action_mask=torch.tensor([[1, 0, 1], [1, 0, 0]]),
        truncated=torch.tensor([False, True]),
    )
    whole, short = (transcript_of(experience, row, tokenizer) for row in (0, 1))
    segments = (
        Segment("call", "<call>{}</call>"),
        Segment("tool", "<tool>1</tool>"),
        Segment("model", "so 42"),
    )
    assert whole == Transcript("why?", "4 | 2", segments, truncated=False)
    assert short == Transcript("why?", "42", segments[2:], truncated=True)


def test_groups_that_differ_in_calls_alone_are_kept_and_equal_ones_are_not(tmp_path):
    brain, _ = brain_of(tmp_path)
    assert brain.score(group([1, 2], [1, 1]))[1]
    assert not brain.score(group([2, 2], [1, 1]))[1]
    assert not brain.score(group([1, 2], [0, 0]))[1]  # gated: both failed


def test_overlong_responses_cost_advantage_and_never_rank(tmp_path):
    text = "[optimiser]\nmax_completion_tokens = 100\n[openrlhf]\noverlong_buffer = 20\n"
    brain, _ = brain_of(tmp_path, text + "overlong_penalty = 2.0")
    plain, _ = brain_of(tmp_path / "plain")
    short, long = group([1, 2], [1, 1]), group([1, 2], [1, 1], tokens=90)
    assert brain.advantages([scored(brain, short)]) == plain.advantages([scored(plain, short)])
    punished = np.array(brain.advantages([scored(brain, long)]))
    np.testing.assert_allclose(punished, np.array(plain.advantages([scored(plain, long)])) - 1.0)


def test_the_brain_goes_on_from_its_state(tmp_path):
    brain, run = brain_of(tmp_path)
    held_out = group([2, 0], [1, 0])
    brain.observe(0, held_out, 1.0)
    brain.advantages([scored(brain, group([1, 2], [1, 1]))])
    brain.record_step(1, {})
    brain.observe(1, held_out, 1.0)
    state = brain.state()
    brain.advantages([scored(brain, group([0, 2], [1, 1]))])
    brain.record_step(2, {})
    again = Brain(str(run.path), 64)
    again.restore(state)
    assert again.state() == state
    assert [row["step"] for row in run.steps()] == [1]
    assert [row["step"] for row in run.evaluations()] == [0, 1]
    assert run.manifest["resumed"][0]["from_step"] == 1
    again.restore(None)
    assert run.evaluations() == []


def test_stage_1_is_one_pass_over_the_prompts_dropped_groups_included(tmp_path):
    config = loads("[optimiser]\nprompts_per_step = 1\n[paretopo]\nstage1_steps = 'epoch'")
    run = RunFolder.create(tmp_path, config)
    brain = Brain(str(run.path), 4)
    for step in (1, 2, 3):
        brain.score(group([2, 2], [0, 0]))  # dropped
        brain.advantages([scored(brain, group([1, 2], [1, 1]))])
        brain.record_step(step, {})
    assert [row["stage"] for row in run.steps()] == [1, 1, 2]
    again = Brain(str(run.path), 4)
    again.restore(brain.state())
    assert again.state() == brain.state()


def test_steps_that_do_not_match_stop_the_run(tmp_path):
    brain, _ = brain_of(tmp_path)
    with pytest.raises(RuntimeError, match="OpenRLHF is at step 3, ParetoPO at 0"):
        brain.record_step(3, {})
