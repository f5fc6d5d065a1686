"""Benchmarks in every published layout become the same kind of row, and stay whole."""

import hashlib

import pytest
from support import made_data as made

from paretopo.protocols.search_r1 import search_r1_prompt
from paretopo.protocols.torl import torl_prompt
from paretopo.records.schema import DataError
from paretopo_lab.prepare.sources import SOURCES

ASKED = "How many towns has Orb?"
OTHER = {"source": "2wikimultihopqa", "split": "test"}
RATIONALE = "Orb has <<3*4=12>>12.\n#### 1,200"
BOXES = "So \\boxed{1} or \\boxed{4.5e33} \\mathrm{~m}"
HOTPOT = {"context": {"title": ["Orb"], "sentences": [["Orb is a town."]]}, "level": "hard"}
# For each layout a row, the id and the answer.
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
    "olympiadbench": (made.olympiad_row(6, ASKED, ["$\\frac{1}{3}$"]), "6", "\\frac{1}{3}"),
    "olympiadbench, all": (made.olympiad_row(8, ASKED, ["$-1,2$"], several=True), "8", "-1,2"),
    "amc23": ({"id": 0, "answer": "27.0", "url": "", "question": ASKED}, "0", "27"),
    "gsm8k": ({"question": ASKED, "answer": RATIONALE, "idx": 3}, None, "1,200"),
    "svamp": ({"ID": "chal-1", "Body": None, "Question": ASKED, "Answer": 145}, "chal-1", "145"),
    "asdiv": ({"body": None, "question": ASKED, "answer": "9"}, None, "9"),
    "mawps": ({"input": ASKED, "target": 11.5, "type": "addsub"}, None, "11.5"),
    "minerva_math": ({"problem": ASKED, "solution": BOXES, "idx": 0}, None, "4.5e33"),
    "nq": (made.flashrag_row(0, ASKED, ["two", "2"]), "test_0", ("two", "2")),
    "nq in tests": (made.search_row(0, ASKED, ["two", "2"], split="test"), "test_0", ("two", "2")),
    "hotpotqa": (made.flashrag_row(4, ASKED, ["two"], split="dev"), "dev_4", "two"),
    "2wikimultihopqa in tests": (made.search_row(0, ASKED, ["two"], **OTHER), "test_0", "two"),
    "2wikimultihopqa": ({"id": "dev_9", "Question": ASKED, "answer": ["two"]}, "dev_9", "two"),
    "musique": (
        {"id": "2hop__1_2", "question": ASKED, "answer": "two", "answer_aliases": ["2"]},
        "2hop__1_2",
        ("two", "2"),
    ),
    "bamboogle": ({"id": "test_71", "Question": ASKED, "answer": ["two"]}, "test_71", "two"),
    "hotpotqa, as it is": ({"_id": "5", "answer": "two", "question": ASKED, **HOTPOT}, "5", "two"),
}


@pytest.mark.parametrize("file", ["raw.parquet", "raw.jsonl", "raw.json", "raw.csv"])
@pytest.mark.parametrize("layout", BENCHMARKS)
def test_every_layout_becomes_the_same_kind_of_row(tmp_path, layout, file):
    name = layout.split()[0].rstrip(",")
    published, own_id, answer = BENCHMARKS[layout]
    manifest, [row] = made.prepare_rows(tmp_path, name, [published], file)
    if own_id is None:
        own_id = row.id.partition("/")[2]
    asks = torl_prompt if SOURCES[name].protocol == "torl" else search_r1_prompt
    assert (row.id, row.datasource) == (f"{name}/{own_id}", name)
    assert (row.question, row.prompt, row.answer) == (ASKED, asks(ASKED), answer)
    assert manifest["dropped"] == manifest["notes"] == {}


def test_mathematical_labels_are_single_texts(tmp_path):
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
        "several answers, but the row does not say if one is enough": 1,
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


def test_body_precedes_question_and_units_are_dropped(tmp_path):
    rows = [
        {"body": "Orb has seven towns.", "question": "How many?", "answer": "7 (towns)"},
        {"body": "Vell has 3", "question": "How many?", "answer": "3 (big towns)"},
        {"body": "Debt.", "question": "How much?", "answer": "-(1/3)"},
    ]
    _, kept = made.prepare_rows(tmp_path, "asdiv", rows)
    assert [(row.question, row.answer) for row in kept] == [
        ("Orb has seven towns. How many?", "7"),
        ("Vell has 3. How many?", "3"),
        ("Debt. How much?", "-(1/3)"),
    ]


def test_instruction_is_stripped_and_reported(tmp_path):
    asked = f"{ASKED}\nPlease reason step by step, and put your final answer within \\boxed{{}}."
    rows = [{"problem": asked, "answer": "3"}, {"problem": "Why?", "answer": "4"}]
    manifest, kept = made.prepare_rows(tmp_path, "math500", rows)
    assert [row.question for row in kept] == [ASKED, "Why?"]
    assert manifest["notes"] == {"without the instruction that came with the question": 1}
    _, train, held_out = made.prepare_rows(
        tmp_path, "torl", [*made.torl_rows(), made.torl_row(900, ASKED, "3")], held_out=0.1
    )
    assert ASKED not in {row.question for row in train + held_out}
