from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paretopo.config import ParetoPOConfig
from paretopo.controller.two_stages import ParetoPO
from paretopo.rewards.scoring import Scored
from paretopo.run.trajectories import Segment
from paretopo.run.transcripts import (
    Transcript,
    judged,
    of_messages,
    of_tokens,
    said,
    spread,
)


def pieces_of(*runs, end_of_turn=None):
    """Segments of a response in characters: texts of the policy, and in between of its tools."""
    tokens = [ord(character) for text in runs for character in text]
    written = [at % 2 == 0 for at, text in enumerate(runs) for _ in text]
    decode = lambda codes: "".join(map(chr, codes))  # noqa: E731
    return [
        (segment.kind, segment.text) for segment in of_tokens(tokens, written, decode, end_of_turn)
    ]


@pytest.mark.parametrize(
    ("wrote", "before", "call"),
    [
        ("<search> Nile </search>", "", "<search> Nile </search>"),
        ("I <search> a </search> b <search>c</search>\n", "I <search> a </search> b ", None),
        ("Let me see.\n```python\nprint(1)\n```\n```output", "Let me see.\n", None),
        ("```python\n1\n```\nand\n```python\n2\n```\n```output", "```python\n1\n```\nand\n", None),
        ("Hm. <tool_call>{1}</tool_call>\n<tool_call>{2}</tool_call>", "Hm. ", None),
        ("<call>{}</call>", "", "<call>{}</call>"),
        ("```python\nx\n```\nNo: <search>x</search>", "```python\nx\n```\nNo: ", None),
    ],
)
def test_calls_are_told_from_the_text_before_them(wrote, before, call):
    expected = [("model", before)] if before else []
    expected += [("call", call or wrote[len(before) :]), ("tool", "seen"), ("model", "so 42")]
    assert pieces_of(wrote, "seen", "so 42") == expected


@pytest.mark.parametrize("wrote", ["no call", "<search> never closed", "</search> <search>", "```"])
def test_what_is_no_call_is_text_though_the_environment_answers(wrote):
    assert pieces_of(wrote, "invalid", "") == [("model", wrote), ("tool", "invalid")]


def test_a_call_that_nobody_answered_is_text():
    assert pieces_of("<search>Nile</search>") == [("model", "<search>Nile</search>")]


def test_the_end_of_a_turn_is_left_out():
    ended = pieces_of("<call>{}</call><end>", "<tool>1<end>", "42<end>", end_of_turn="<end>")
    assert ended == [("call", "<call>{}</call>"), ("tool", "<tool>1<end>"), ("model", "42")]
    assert pieces_of("<end>", end_of_turn="<end>") == []


@given(runs=st.lists(st.text(alphabet="a`<>/search python\n", max_size=30), max_size=5))
def test_nothing_is_lost_or_moved(runs):
    segments = pieces_of(*runs)
    assert "".join(text for _, text in segments) == "".join(runs)
    written = "".join(text for kind, text in segments if kind != "tool")
    assert written == "".join(runs[::2])


def test_masks_of_another_length_are_refused():
    with pytest.raises(ValueError, match="2 tokens need as many marks"):
        of_tokens([1, 2], [1], str)


def test_messages_become_pieces():
    call = {"type": "function", "function": {"name": "search", "arguments": {"query": "Nile"}}}
    pieces = of_messages(
        [
            {"role": "assistant", "content": "Let me see.", "tool_calls": [call, call]},
            {"role": "tool", "name": "search", "content": "a river"},
            {"role": "tool", "name": "search", "content": [{"type": "text", "text": "x"}]},
            {"role": "assistant", "content": None},
            {"role": "assistant", "content": "a river"},
        ]
    )
    assert pieces == (
        Segment("model", "Let me see."),
        Segment("call", 'search {"query": "Nile"}'),
        Segment("call", 'search {"query": "Nile"}'),
        Segment("tool", "a river"),
        Segment("tool", '[{"type": "text", "text": "x"}]'),
        Segment("model", "a river"),
    )


def test_prompts_become_text():
    assert said("as it is") == "as it is"
    assert said([{"role": "user", "content": "why?"}]) == "why?"
    several = [{"role": "system", "content": "kind"}, {"role": "user", "content": "why?"}]
    assert said(several) == "system: kind\nuser: why?"


@given(total=st.integers(0, 300), count=st.integers(0, 300))
def test_some_are_spread_over_all(total, count):
    chosen = spread(total, count)
    assert len(chosen) == len(set(chosen)) == min(total, count)
    assert chosen == sorted(chosen)
    assert all(0 <= at < total for at in chosen)


def test_rollouts_are_judged_as_they_are_trained_on():
    controller = ParetoPO(ParetoPOConfig(stage1_steps=0))
    vectors = np.array([[1.0, 1.0], [1.0, 0.5], [0.0, 1.0], [1.0, 0.5]])
    scored = [Scored(0, "q", False, "one", bool(right), 1) for right, _ in vectors]
    wrote = [Transcript("why?", "42", (Segment("model", str(n)),), n == 2) for n in range(4)]
    advantages = controller.advantages(vectors[None])[0]
    group = judged(controller, wrote, scored, vectors, step=7, advantages=advantages.tolist())
    assert (group.id, group.kind, group.step, group.stage) == ("q", "one", 7, 2)
    assert (group.prompt, group.answer, group.held_out) == ("why?", "42", False)
    assert [one.rank for one in group.rollouts] == [0, 1, 2, 1]
    assert [one.gated for one in group.rollouts] == [(1, 1), (1, 0.5), (0, 0), (1, 0.5)]
    assert [one.rewards[1] for one in group.rollouts] == [1, 0.5, 1, 0.5]
    assert [one.advantage for one in group.rollouts] == advantages.tolist()
    assert [one.truncated for one in group.rollouts] == [False, False, True, False]
    held_out = judged(controller, wrote[:1], scored[:1], vectors[:1], step=7)
    assert (held_out.rollouts[0].rank, held_out.rollouts[0].advantage) == (None, None)
