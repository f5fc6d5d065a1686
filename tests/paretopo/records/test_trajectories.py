import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paretopo.config import ConfigError, loads
from paretopo.records.folder import RunFolder
from paretopo.records.trajectories import Group, append_group, read_groups, shorten
from paretopo.rollout import Rollout, Segment

segments = st.builds(Segment, st.sampled_from(["model", "call", "tool"]), st.text())
numbers = st.tuples(st.floats(0, 1), st.floats(0, 1))
shared = {
    "prompt_id": st.text(),
    "prompt": st.text(),
    "answer": st.text(),
    "held_out": st.booleans(),
    "kind": st.text(),
}
own = {
    "reward_components": st.dictionaries(st.text(), st.none() | st.floats(0, 9), max_size=3),
    "solved": st.booleans(),
    "tokens": st.integers(0, 9),
    "truncated": st.booleans(),
    "segments": st.lists(segments, max_size=4).map(tuple),
    "rewards": numbers,
    "gated": numbers,
    "rank": st.none() | st.integers(0, 7),
    "advantage": st.none() | st.floats(-3, 3),
}
groups = st.builds(
    lambda one, several, step, stage: Group(
        tuple(Rollout(**one, **fields) for fields in several), step=step, stage=stage
    ),
    st.fixed_dictionaries(shared),
    st.lists(st.fixed_dictionaries(own), min_size=1, max_size=3),
    st.integers(0, 1000),
    st.integers(0, 2),
)


def of_text(*texts):
    wrote = tuple(Segment("model", text) for text in texts)
    return Group(
        (Rollout("q", {"correct": 1.0, "calls": 0.0}, prompt="why?", answer="42", segments=wrote),)
    )


ONE = of_text().to_row()["rollouts"][0]


@given(written=st.lists(groups, max_size=4))
def test_groups_come_back_as_they_were_written(tmp_path_factory, written):
    path = tmp_path_factory.mktemp("groups") / "trajectories.jsonl"
    assert list(read_groups(path)) == []
    for group in written:
        append_group(path, group)
    assert list(read_groups(path)) == written
    assert path.exists() == bool(written)
    # One line a group, whatever is in it: line ends and separators of all alphabets too.
    assert not written or path.read_text(encoding="ascii").count("\n") == len(written)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prompt": None}, "prompt must be a string, got None"),
        ({"answer": 42}, "answer must be a string, got 42"),
        ({"objectives": [3]}, "an objective must be a string, got 3"),
        ({"rollouts": None}, "not iterable"),
        ({"rollouts": [3]}, "not subscriptable"),
        ({"rollouts": [ONE | {"segments": [{"kind": "smile"}]}]}, "a segment must have a kind of"),
        ({"rollouts": []}, "rollouts must hold at least one"),
        ({"rollouts": [{"segments": [], "tokens": 1}]}, "it lacks reward_components"),
        ({"rollouts": [ONE | {"reward_components": {"a": "b"}}]}, "could not convert .* 'b'"),
        ({"rollouts": [ONE | {"rewards": ["much"]}]}, "could not convert .* 'much'"),
        ({"rollouts": [ONE | {"solved": 1}]}, "solved must be true, false or null, got 1"),
        ({"rollouts": [ONE | {"rank": "first"}]}, "rank must be a number or null, got 'first'"),
        ({"rollouts": [ONE | {"advantage": []}]}, r"advantage must be a number .*, got \[\]"),
        ({"rollouts": [ONE | {"segments": [{"kind": "tool", "text": 3}]}]}, "text must be a st"),
    ],
)
def test_broken_row_names_file_line_and_entry(tmp_path, change, message):
    path = tmp_path / "trajectories.jsonl"
    append_group(path, of_text("fine"))
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(of_text("broken").to_row() | change) + "\n")
    with pytest.raises(ConfigError, match=rf"jsonl line 2 is not a group of rollouts: .*{message}"):
        list(read_groups(path))


def test_long_rollouts_lose_the_middles_of_their_longest_pieces():
    text = " ".join(str(number) for number in range(20_000))
    short = shorten(of_text(text, "answer 42"), most=1000)
    long, untouched = (segment.text for segment in short.rollouts[0].segments)
    assert untouched == "answer 42"
    # 1000 less the 9 characters of the answer, half from either end.
    left_out = f"[… {len(text) - 2 * 495:,} characters left out …]"
    assert long == f"{text[:495]}\n{left_out}\n{text[-495:]}"


@given(texts=st.lists(st.text(max_size=300), max_size=6), most=st.integers(0, 500))
def test_shortened_rollouts_fit(texts, most):
    group = of_text(*texts)
    short = shorten(group, most)
    if sum(map(len, texts)) <= most:
        assert [one.segments for one in short.rollouts] == [one.segments for one in group.rollouts]
    lengths = [len(segment.text) for segment in short.rollouts[0].segments]
    assert sum(lengths) <= most + 40 * len(texts)  # each cut says so


def test_repeated_steps_replace_their_trajectories(tmp_path):
    run = RunFolder.create(tmp_path, loads(""))
    for step in range(4):
        run.append_trajectories(dataclasses.replace(of_text("x" * 50_000), step=step))
    kept = list(RunFolder.open(run.path).trajectories())
    assert [group.step for group in kept] == [0, 1, 2, 3]
    assert 20_000 < len(kept[0].rollouts[0].segments[0].text) < 20_100
    run.truncate_after(1, 9)
    assert [group.step for group in run.trajectories()] == [0, 1]
    run.truncate_after(-1, 0)
    assert list(run.trajectories()) == []
