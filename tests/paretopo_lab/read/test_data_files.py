"""Files of every layout give the same rows; hostile ones are refused, by file and place."""

import contextlib
import csv
import json
import re
import sys

import pytest
from support import made_data as made

from paretopo.records.schema import DataError
from paretopo_lab.prepare.fields import COLUMNS
from paretopo_lab.read.data_files import read_raw, sha256_of

ROWS = [
    {"id": number, "question": f"Who, said “{town}”,\nruled {town}?", "answer": f"Ada {number}"}
    for number, town in enumerate(made.TOWNS)
]


def rows_of(path):
    return [dict(row) for _, row in read_raw(path, COLUMNS)]


def refusal(path):
    with pytest.raises(DataError) as refused:
        rows_of(path)
    assert str(path) in str(refused.value)
    assert len(str(refused.value)) < 500
    return str(refused.value)


@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl", "a.json", "a.csv", "a.PARQUET"])
def test_rows_are_the_same_from_every_kind_of_file(tmp_path, name):
    path = made.write(tmp_path / name.lower(), ROWS).rename(tmp_path / name)
    read = rows_of(path)
    assert [{**row, "id": int(row["id"])} for row in read] == ROWS


def test_a_json_file_may_wrap_its_list(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"version": 1, "data": ROWS}), encoding="utf-8")
    assert rows_of(path) == ROWS
    path.write_text(json.dumps({"a": [], "b": []}), encoding="utf-8")
    assert "must be a list of objects" in refusal(path)


def test_of_a_parquet_file_only_known_columns_are_read(tmp_path):
    path = made.write(tmp_path / "a.parquet", made.search_rows(3))
    assert all("metadata" not in row and "golden_answers" in row for row in rows_of(path))


def test_errors_name_file_and_line(tmp_path):
    table = made.write(tmp_path / "a.csv", ROWS)
    assert [place for place, _ in read_raw(table, COLUMNS)][:2] == ["line 3", "line 5"]
    path = tmp_path / "a.jsonl"
    path.write_text('\n{"a": 1}\n[2]\n', encoding="utf-8")
    assert f"{path}, line 3: expected an object, got list" in refusal(path)


HOSTILE = {
    "torn.jsonl": b'{"question": "Who',
    "binary.jsonl": bytes(range(256)),
    "deep.jsonl": b"[" * 100_000,
    "deep.json": b"[" * 100_000,
    "text.json": b"Who?",
    "number.json": b"3",
    "binary.json": b"\xff",
    "text.parquet": b"Who?",
    "empty.parquet": b"",
    "magic.parquet": b"PAR1" + b"\xff" * 100 + b"PAR1",
    "ragged.csv": b"a,b\n1\n",
    "wide.csv": b"a,b\n1,2,3\n",
    "open.csv": b'a,b\n"1,2\n',
    "binary.csv": b"a,b\n\xff\xfe,2\n",
    "empty.csv": b"",
    "header.csv": b"a,b\n",
    "empty.jsonl": b"\n\n",
    "list.json": b"[]",
    "pointer.parquet": b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n",
    "table.xlsx": b"PK",
    "no_extension": b"{}",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused(tmp_path, name):
    (tmp_path / name).write_bytes(HOSTILE[name])
    text = refusal(tmp_path / name)
    if name.startswith("pointer"):
        assert "git lfs pull" in text
    if name in ("binary.csv", "binary.json"):
        assert re.search("export the file as (CSV|JSON) in UTF-8", text)


def test_truncated_parquet_file_is_refused(tmp_path, monkeypatch):
    whole = made.write(tmp_path / "a.parquet", made.torl_rows(50)).read_bytes()
    for end in range(1, len(whole), 97):
        (tmp_path / "torn.parquet").write_bytes(whole[:end])
        refusal(tmp_path / "torn.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "run: pip install pyarrow" in refusal(tmp_path / "a.parquet")


def test_a_damaged_parquet_file_is_refused_or_read(tmp_path):
    whole = bytearray(made.write(tmp_path / "a.parquet", made.torl_rows(20)).read_bytes())
    path = tmp_path / "damaged.parquet"
    for place in range(4, len(whole), 61):
        damaged = whole.copy()
        damaged[place] ^= 0xFF
        path.write_bytes(damaged)
        with contextlib.suppress(DataError):  # and nothing else
            rows_of(path)


def test_a_missing_file_a_folder_and_the_limit_of_read_csv(tmp_path):
    assert "No such file" in refusal(tmp_path / "none.csv")
    (tmp_path / "folder.jsonl").mkdir()
    assert "Is a directory" in refusal(tmp_path / "folder.jsonl")
    csv.field_size_limit(limit := 131_072)  # Python's own
    long = made.write(tmp_path / "long.csv", [{"question": "Who? " * 100_000}])
    assert len(rows_of(long)[0]["question"]) == 500_000
    assert csv.field_size_limit() == limit


def test_checksums(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    assert sha256_of(tmp_path / "a").startswith("ba7816bf8f01cfea")
    with pytest.raises(DataError, match="cannot read"):
        sha256_of(tmp_path / "none")
