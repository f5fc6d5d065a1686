"""Rows on disk survive a round trip; torn or hostile rows are refused with their line."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paretopo.records.schema import DataError, Example, read_rows, write_rows

GOOD = {
    "id": "made/1",
    "datasource": "made",
    "question": "How tall is the tower of Orb?",
    "prompt": "Q: How tall is the tower of Orb?\nA:",
    "label": {"answer": "12 ells"},
}
ROW = Example.from_fields(GOOD)

texts = st.text(min_size=1, max_size=40).filter(
    lambda text: text.strip() and not any("\ud800" <= c <= "\udfff" for c in text)
)
rows = st.builds(
    Example,
    id=texts,
    datasource=texts,
    question=texts,
    prompt=texts,
    answer=texts | st.lists(texts, min_size=1, max_size=3).map(tuple),
)


def refusal(path):
    with pytest.raises(DataError) as refused:
        list(read_rows(path))
    return str(refused.value)


@given(written=st.lists(rows, min_size=1, max_size=8, unique_by=lambda row: row.id))
def test_written_rows_are_read_back(tmp_path_factory, written):
    path = tmp_path_factory.mktemp("rows") / "made.jsonl"
    assert write_rows(path, written) == len(written)
    assert list(read_rows(path)) == written
    content = path.read_bytes()
    assert len(content.decode().splitlines()) == len(written)  # no line break inside a row
    write_rows(path, written)
    assert path.read_bytes() == content
    assert [child.name for child in path.parent.iterdir()] == ["made.jsonl"]


def test_the_layout_of_a_line(tmp_path):
    path = tmp_path / "made.jsonl"
    write_rows(path, [ROW])
    assert json.loads(path.read_text(encoding="utf-8")) == GOOD
    several = Example("made/2", "made", "Who?", "Who?", ("Ada", "Ada L."))
    write_rows(path, [ROW, several])
    assert json.loads(path.read_text().splitlines()[1])["label"] == {"answer": ["Ada", "Ada L."]}
    assert (ROW.answers, several.answers) == (("12 ells",), ("Ada", "Ada L."))


def test_blank_lines_byte_order_mark_and_extra_keys_are_accepted(tmp_path):
    path = tmp_path / "made.jsonl"
    line = json.dumps({**GOOD, "kind": "tower", "label": {"answer": "12 ells", "id": "x"}})
    path.write_bytes(b"\xef\xbb\xbf" + line.encode() + b"\r\n\n  \n")
    assert list(read_rows(path)) == [ROW]


def without(key):
    return {name: value for name, value in GOOD.items() if name != key}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ([GOOD], "expected a JSON object"),
        (7, "expected a JSON object, got 7"),
        (without("id"), "id must be a text that is not empty, got None"),
        ({**GOOD, "id": 7}, "id must be a text that is not empty, got 7"),
        ({**GOOD, "prompt": ""}, "prompt must be a text"),
        ({**GOOD, "prompt": [{"role": "user", "content": "x"}]}, "prompt must be a text"),
        ({**GOOD, "question": " \n"}, "question must be a text"),
        ({**GOOD, "question": "\ud800"}, "half of a surrogate pair"),
        (without("datasource"), "datasource must be a text"),
        (without("label"), "label must be an object"),
        ({"prompt": "6*7?", "answer": "42"}, "and label, got 'prompt, answer'; rows without label"),
        ({**GOOD, "label": "42"}, 'label must be an object like {"answer": "42"}, got'),
        ({**GOOD, "label": {}}, "label.answer must be a text or a list of texts"),
        ({**GOOD, "label": {"answer": []}}, "label.answer must be a text or a list of texts"),
        ({**GOOD, "label": {"answer": ["a", 3]}}, "label.answer must be a text or a list of texts"),
        ({**GOOD, "label": {"answer": float("nan")}}, "label.answer must be a text"),
    ],
)
def test_invalid_row_is_refused_by_file_and_line(tmp_path, fields, message):
    path = tmp_path / "made.jsonl"
    path.write_text(json.dumps(GOOD) + "\n\n" + json.dumps(fields) + "\n", encoding="utf-8")
    text = refusal(path)
    assert text.startswith(f"{path}, line 3: ")
    assert message in text
    assert len(text) < 400


HOSTILE = {
    "torn": json.dumps(GOOD).encode()[:50],
    "no UTF-8": b'{"id": "\xff\xfe"}',
    "binary": bytes(range(256)),
    "zeros": b"\0" * 5000,
    "deep": b"[" * 200_000,
    "deep object": b'{"a":' * 200_000,
    "a number of a million digits": b'{"id": ' + b"9" * 1_000_000 + b"}",
    "no line breaks": b"x" * (17 * 2**20),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_lines_are_refused_and_harm_nothing(tmp_path, name):
    path = tmp_path / "made.jsonl"
    path.write_bytes(json.dumps(GOOD).encode() + b"\n" + HOSTILE[name])
    text = refusal(path)
    assert text.startswith(f"{path}, line 2: ")
    assert len(text) < 500
    assert ("longer than" in text) == (name == "no line breaks")
    text.encode()


def test_an_id_comes_once(tmp_path):
    path = tmp_path / "made.jsonl"
    path.write_text((json.dumps(GOOD) + "\n") * 2, encoding="utf-8")
    assert refusal(path) == f"{path}, line 2: the id 'made/1' is that of line 1"
    path.unlink()
    with pytest.raises(DataError, match="comes twice"):
        write_rows(path, [ROW, ROW])
    assert not path.exists()


def test_a_missing_an_empty_and_an_unreadable_file(tmp_path):
    assert refusal(tmp_path / "none.jsonl").endswith("none.jsonl: No such file or directory")
    assert refusal(tmp_path).endswith("Is a directory")
    (tmp_path / "empty.jsonl").write_bytes(b"\n")
    assert refusal(tmp_path / "empty.jsonl").endswith("empty.jsonl holds no rows")


def test_a_file_is_whole_or_as_it_was(tmp_path):
    path = tmp_path / "made.jsonl"
    write_rows(path, [ROW])

    def breaks():
        yield Example("made/2", "made", "Who?", "Who?", "Ada")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_rows(path, breaks())
    assert list(read_rows(path)) == [ROW]
    assert [child.name for child in tmp_path.iterdir()] == ["made.jsonl"]
    with pytest.raises(DataError, match="question must be"):
        write_rows(path, [Example("made/2", "made", "", "Who?", "Ada")])
