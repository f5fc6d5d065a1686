"""Training sets have a stable split and no benchmark questions, duplicates or unusable rows."""

import pytest
from support import made_data as made

from paretopo.protocols.torl import torl_prompt
from paretopo.records.schema import DataError
from paretopo_lab.prepare.training_set import normalise_question


def test_torl_is_split_into_the_same_bytes_and_nothing_is_lost(tmp_path):
    folder = tmp_path / "data" / "torl"
    made.prepare_rows(tmp_path, "torl", made.torl_rows(), held_out=0.1)
    first = {path.name: path.read_bytes() for path in folder.iterdir()}
    manifest, train, held_out = made.prepare_rows(tmp_path, "torl", made.torl_rows(), held_out=0.1)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == first
    assert [output["path"] for output in manifest["outputs"]] == ["train.jsonl", "held_out.jsonl"]
    published, kept_out = manifest["warnings"]
    assert published == "300 rows of ToRL's training set, where about 28,000 are published"
    assert kept_out.startswith("no benchmark was kept out")
    assert 15 <= len(held_out) <= 50
    assert {row.id for row in train + held_out} == {f"made_math/{i}" for i in range(300)}
    row = train[0]
    assert row.prompt == torl_prompt(row.question)
    assert row.answer == str(2 * int(row.id.split("/")[1]) + 3)


def test_search_r1_has_ids_of_two_data_sets_and_all_answers(tmp_path):
    manifest, train, held_out = made.prepare_rows(
        tmp_path, "search_r1", made.search_rows(), held_out=0.1
    )
    rows = train + held_out
    assert manifest["kept"] == {"hotpotqa": 100, "nq": 100}
    assert {"nq/train_0", "hotpotqa/train_0"} <= {row.id for row in rows}
    assert all(len(row.answers) == 2 for row in rows)
    assert all(row.prompt.endswith(f"Question: {row.question}?\n") for row in rows)
    assert manifest["notes"] == {}


def test_a_prompt_in_other_words_than_ours_is_noticed(tmp_path):
    rows = made.search_rows(20)
    rows[0]["prompt"][0]["content"] = "Answer the given question. Question: Who?\n"
    manifest, *_ = made.prepare_rows(tmp_path, "search_r1", rows, held_out=0.5)
    assert manifest["notes"] == {"asked in other words than published": 1}


def test_split_depends_only_on_question_and_seed(tmp_path):
    rows = made.torl_rows()
    *_, before = made.prepare_rows(tmp_path, "torl", rows, held_out=0.1)
    grown = [made.torl_row(900 + i, f"New? {i}", "1") for i in range(200)] + rows[::-1][:250]
    grown[300]["prompt"][1]["content"] = " " + grown[300]["prompt"][1]["content"].replace("?", " ?")
    *_, after = made.prepare_rows(tmp_path, "torl", grown, held_out=0.1)
    kept = {normalise_question(row.question) for row in before if int(row.id.split("/")[1]) >= 50}
    old = {normalise_question(row.question) for row in after if row.question.startswith("A cart")}
    assert old == kept
    assert len(kept) > 10
    *_, other = made.prepare_rows(tmp_path, "torl", rows, held_out=0.1, seed=1)
    assert {row.id for row in other} != {row.id for row in before}
    *_, larger = made.prepare_rows(tmp_path, "torl", rows, held_out=0.2)
    assert {row.id for row in before} < {row.id for row in larger}


def test_no_question_of_a_benchmark_is_trained_on_or_held_out(tmp_path):
    rows = made.torl_rows()
    asked = rows[7]["prompt"][1]["content"]
    other = rows[8]["prompt"][1]["content"].replace(" ", "  ").replace("sacks", "$sacks$").upper()
    made.prepare_rows(tmp_path, "math500", [made.math500_row(1, asked, "1")], "raw.jsonl")
    raw = made.write(tmp_path / "raw.csv", [{"Problem": other, "Answer": 3}])
    manifest, train, held_out = made.prepare_rows(
        tmp_path, "torl", rows, held_out=0.1, exclude=(raw,)
    )
    assert {row.id for row in train + held_out} == {
        f"made_math/{number}" for number in range(300) if number not in (7, 8)
    }
    assert manifest["dropped"] == {"same question as a benchmark": 2}
    assert [(file["path"], file["removed"]) for file in manifest["excluded"]] == [
        (str(tmp_path / "data/math500/test.jsonl"), 1),
        (str(raw), 1),
    ]


def test_a_broken_benchmark_stops_the_training_set(tmp_path):
    made.write(tmp_path / "data/nq/test.jsonl", [{"label": 3}])
    with pytest.raises(DataError, match=r"nq/test.jsonl, line 1: no question"):
        made.prepare_rows(tmp_path, "search_r1", made.search_rows())
    assert not (tmp_path / "data/search_r1/train.jsonl").exists()


def test_torls_test_file_is_excluded(tmp_path):
    tests = [
        made.torl_row(1, "Test?", "1", source="aime24", split="test"),
        made.torl_row(2, "Test, unmarked?", "1", source="AIME_25", split=None),
        made.torl_row(3, "Test, as training?", "1", source="math500", split="train"),
    ]
    with pytest.raises(DataError, match="0 kept, dropped: 3 of a test split"):
        made.prepare_rows(tmp_path, "torl", tests)
    assert not list((tmp_path / "data" / "torl").iterdir())


def test_rows_of_test_splits_are_not_trained_on(tmp_path):
    tests = [
        made.search_row(number, f"Test? {number}", ["x"], split=split)
        for number, split in enumerate(["test", "dev", "Validation"])
    ]
    rows = [*made.search_rows(), *tests]
    manifest, *_ = made.prepare_rows(tmp_path, "search_r1", rows)
    assert manifest["dropped"] == {"of a test split": 3}


def test_a_question_comes_once(tmp_path):
    again = [("Again?", "1"), ("again ? ", "1"), (" Again?", "2")]
    rows = [*made.torl_rows(), *(made.torl_row(None, *one) for one in again)]
    manifest, *_ = made.prepare_rows(tmp_path, "torl", rows)
    assert manifest["dropped"] == {"repeated question": 1, "repeated question, other answer": 1}
    assert manifest["kept"] == {"made_math": 301}


def test_hostile_rows_are_counted_and_dropped(tmp_path):
    rows = [
        *({"question": f"Fine? {number}", "answer": "1"} for number in range(50)),
        {"question": None, "answer": "1"},
        {"question": "Who?", "answer": None},
        {"question": "\ud800", "answer": "1"},
        {"prompt": {"role": "user"}, "answer": "1"},
        {"question": "Deep?", "answer": [[["1"]]]},
        {},
    ]
    manifest, train, held_out = made.prepare_rows(tmp_path, "torl", rows, "raw.jsonl", held_out=0.3)
    assert len(train + held_out) == 50
    assert manifest["read"] == 56
    assert manifest["dropped"] == {"broken text": 1, "no answer": 2, "no question": 3}
