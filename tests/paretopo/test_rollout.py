import pytest
from hypothesis import given
from hypothesis import strategies as st

from paretopo.rollout import Segment, split_messages, split_tokens


def pieces_of(*runs, end_of_turn=None):
    """Segments of a response in characters: texts of the policy, and in between of its tools."""
    tokens = [ord(character) for text in runs for character in text]
    written = [at % 2 == 0 for at, text in enumerate(runs) for _ in text]
    decode = lambda codes: "".join(map(chr, codes))  # noqa: E731
    return [
        (segment.kind, segment.text)
        for segment in split_tokens(tokens, written, decode, end_of_turn)
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
def test_calls_are_separated_from_text(wrote, before, call):
    expected = [("model", before)] if before else []
    expected += [("call", call or wrote[len(before) :]), ("tool", "seen"), ("model", "so 42")]
    assert pieces_of(wrote, "seen", "so 42") == expected


@pytest.mark.parametrize("wrote", ["no call", "<search> never closed", "</search> <search>", "```"])
def test_invalid_call_is_text_even_if_answered(wrote):
    assert pieces_of(wrote, "invalid", "") == [("model", wrote), ("tool", "invalid")]


def test_unanswered_call_is_text():
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
        split_tokens([1, 2], [1], str)


def test_messages_become_pieces():
    call = {"type": "function", "function": {"name": "search", "arguments": {"query": "Nile"}}}
    pieces = split_messages(
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
