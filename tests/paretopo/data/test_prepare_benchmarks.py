"""Benchmarks in every published layout become the same kind of row, and stay whole."""

from __future__ import annotations

import hashlib

import pytest
from support import made_data as made

from paretopo.data.schema import DataError
from paretopo.data.sources import SOURCES
from paretopo.protocols.search_r1 import search_r1_prompt
from paretopo.protocols.torl import torl_prompt

ASKED = "How many towns has Orb?"
BENCHMARKS = {
    "math500": (made.math500_row(7, ASKED, "\\frac{1}{2}"), "test/counting/7.json", "\\frac{1}{2}"),
    "aime24": ({"id": 60, "problem": ASKED, "answer": "073", "year": "2024"}, "60", "73"),
    "aime24 as Maxwell-Jia": ({"ID": "2024-I-4", "Problem": ASKED, "Answer": 33}, "2024-I-4", "33"),
    "aime25": ({"problem": ASKED, "answer": "70", "id": "0"}, "0", "70"),
    "aime25 as MathArena": ({"problem_idx": 1, "problem": ASKED, "answer": 70}, "1", "70"),
    "aime25 in ToRL's tests": (
        made.torl_row(3, ASKED, "70", source="aime25", split="test"),
        "3",
        "70",
    ),
    "olympiadbench": (
        made.olympiad_row(1606, ASKED, ["$\\frac{1}{3}$"]),
        "1606",
        "\\frac{1}{3}",
    ),
    "olympiadbench, all wanted": (
        made.olympiad_row(8, ASKED, ["$-1,2$"], several=True),
        "8",
        "-1,2",
    ),
    "amc23": ({"id": 0, "answer": "27.0", "url": "", "question": ASKED}, "0", "27"),
    "nq": (made.flashrag_row(0, ASKED, ["two", "2"]), "test_0", ("two", "2")),
    "nq in Search-R1's tests": (
        made.search_row(0, ASKED, ["two", "2"], split="test"),
        "test_0",
        ("two", "2"),
    ),
    "hotpotqa": (made.flashrag_row(4, ASKED, ["two"], split="dev"), "dev_4", "two"),
    "hotpotqa as published": (
        {
            "_id": "5a8b",
            "answer": "two",
            "question": ASKED,
            "context": {"title": ["Orb"], "sentences": [["Orb is a town."]]},
            "level": "hard",
        },
        "5a8b",
        "two",
    ),
}


@pytest.mark.parametrize("file", ["raw.parquet", "raw.jsonl", "raw.json", "raw.csv"])
@pytest.mark.parametrize("layout", BENCHMARKS)
def test_every_layout_becomes_the_same_kind_of_row(tmp_path, layout, file):
    name = layout.split()[0].rstrip(",")
    published, own_id, answer = BENCHMARKS[layout]
    manifest, [row] = made.prepare_rows(tmp_path, name, [published], file)
    asks = torl_prompt if SOURCES[name].protocol == "torl" else search_r1_prompt
    assert (row.id, row.datasource) == (f"{name}/{own_id}", name)
    assert (row.question, row.prompt, row.answer) == (ASKED, asks(ASKED), answer)
    assert manifest["dropped"] == manifest["notes"] == {}


def test_mathematical_labels_are_one_text_as_their_grader_wants(tmp_path):
    rows = [
        made.olympiad_row(1, "Find $x$.", ["$1$", "$-2$"], several=True),
        made.olympiad_row(2, "Find $y$.", ["$1$", "$-2$"]),
        made.olympiad_row(3, "Find $z$.", ["$3$"], error="1e-1"),
        made.olympiad_row(4, "See <image_1>.", ["$3$"]),
        made.olympiad_row(5, "Find $u$.", []),
        made.olympiad_row(6, "Find $v$.", ["$3$"], context="In <image_2>,"),
    ]
    manifest, kept = made.prepare_rows(tmp_path, "olympiadbench", rows)
    assert {row.id: row.answer for row in kept} == {
        "olympiadbench/1": "1, -2",
        "olympiadbench/3": "3",
    }
    assert manifest["dropped"] == {
        "needs an image": 2,
        "no answer": 1,
        "several answers, and no word whether one or all are wanted": 1,
    }
    assert manifest["notes"] == {"graded exactly, though the source allows an error": 1}
    assert manifest["warnings"] == [
        "6 rows of OlympiadBench, OE_TO_maths_en_COMP, where 674 are published",
        "4 rows of a benchmark could not be used",
    ]


def test_a_benchmark_is_kept_whole_and_ids_stay_unique(tmp_path):
    rows = [
        {"id": 1, "question": "Twice?", "answer": "2"},
        {"id": 1, "question": "Twice?", "answer": "2"},
        {"id": 1, "question": "Twice?", "answer": "2"},
        {"id": None, "question": "Nameless?", "answer": "0"},
    ]
    _, kept = made.prepare_rows(tmp_path, "amc23", rows)
    digest = hashlib.sha1(torl_prompt("Twice?").encode()).hexdigest()[:12]
    nameless = hashlib.sha1(torl_prompt("Nameless?").encode()).hexdigest()[:12]
    names = [f"amc23/{name}" for name in ("1", digest, f"{digest}#2", nameless)]
    assert [row.id for row in kept] == names


def test_of_a_file_of_many_data_sets_one_is_taken(tmp_path):
    sources = ["nq", "hotpotqa", "musique", "nq"]
    rows = [
        made.search_row(number, f"Who? {number}", ["x"], source=source, split="test")
        for number, source in enumerate(sources)
    ]
    manifest, kept = made.prepare_rows(tmp_path, "nq", rows)
    assert [row.id for row in kept] == ["nq/test_0", "nq/test_3"]
    assert manifest["dropped"] == {"of another data set": 2}
    assert manifest["warnings"] == ["2 rows of Natural Questions, test, where 3,610 are published"]


def test_training_rows_are_no_benchmark(tmp_path):
    with pytest.raises(DataError, match=r"no rows for .*test.jsonl: .* 20 of a training split"):
        made.prepare_rows(tmp_path, "nq", made.search_rows(40))
