"""`paretopo prepare` over the published files themselves, where they are on this machine."""

import pytest
from support import made_data as made
from support import published_files

from paretopo.records.schema import DataError, read_rows
from paretopo_lab.prepare.preparing import prepare
from paretopo_lab.prepare.sources import SOURCES
from paretopo_lab.prepare.training_set import Options, read_questions

HERE = published_files.FOLDER
if not HERE.is_dir():
    pytest.skip(published_files.MISSING, allow_module_level=True)

# name, file, rows, first answer
CLAIMED = [
    ("aime24", "aime24/qwen_test.jsonl", 30, "204"),
    ("aime24", "aime24/fireopd_test.jsonl", 30, "204"),
    ("aime25", "aime25/fireopd_test.jsonl", 30, "70"),
    ("amc23", "amc23/qwen_test.jsonl", 40, "27"),
    ("amc23", "amc23/fireopd_test.jsonl", 40, "27"),
    ("math500", "math500/fireopd_test.jsonl", 500, "\\left( 3, \\frac{\\pi}{2} \\right)"),
    ("olympiadbench", "olympiadbench/qwen_test.jsonl", 675, "2"),
    ("olympiadbench", "olympiadbench/fireopd_test.jsonl", 674, "2"),
    ("minerva_math", "minerva_math/qwen_test.jsonl", 272, "1.6"),
    ("minerva_math", "minerva_math/fireopd_test.jsonl", 272, "1.6"),
    ("gsm8k", "gsm8k/qwen_test.jsonl", 1319, "18"),
    ("svamp", "svamp/qwen_test.jsonl", 1000, "145"),
    ("asdiv", "asdiv/qwen_test.jsonl", 2215, "9"),
    ("mawps", "mawps/qwen_test.jsonl", 2065, "43"),
    ("nq", "nq_open/NQ-open.dev.jsonl", 3610, ("14 December 1972 UTC", "December 1972")),
    ("nq", "search_r1/nq_search_test.parquet", 3610, "Wilhelm Conrad Röntgen"),
    ("hotpotqa", "hotpotqa/hotpot_dev_v1_simplified.json", 7405, "yes"),
    ("hotpotqa", "search_o1/hotpotqa.json", 500, "Long live our noble Queen"),
    ("2wikimultihopqa", "search_o1/2wiki.json", 500, "Invisible Target"),
    ("musique", "search_o1/musique.json", 500, "$59,039"),
    ("bamboogle", "search_o1/bamboogle.json", 125, "1999"),
]


def prepared(name, file, out, **options):
    manifest = prepare(SOURCES[name], HERE / file, out, Options(**options))
    rows = [list(read_rows(out / name / output["path"])) for output in manifest["outputs"]]
    return manifest, *rows


@pytest.mark.parametrize(("name", "file", "count", "first"), CLAIMED)
def test_every_claimed_file_is_prepared_whole(tmp_path, name, file, count, first):
    manifest, rows = prepared(name, file, tmp_path)
    assert len(rows) == count
    assert manifest["dropped"] == {}
    assert rows[0].answer == first
    assert not any("final answer within" in row.question for row in rows)
    instructed = manifest["notes"].get("without the instruction that came with the question", 0)
    assert instructed == (count if "fireopd" in file else 0)
    source = SOURCES[name]
    warning = f"{count:,} rows of {source.title}, where {source.rows:,} are published"
    about_rows = [one for one in manifest["warnings"] if "rows of" in one]
    assert about_rows == ([] if count == source.rows else [warning])


def test_both_copies_of_a_benchmark_ask_the_same():
    for name, shared in [("aime24", 30), ("amc23", 40), ("olympiadbench", 659)]:
        qwen = read_questions([HERE / name / "qwen_test.jsonl"])
        fireopd = read_questions([HERE / name / "fireopd_test.jsonl"])
        assert len(qwen.keys() & fireopd.keys()) == shared


@pytest.mark.parametrize("copy", ["qwen", "fireopd"])
def test_training_file_drops_questions_of_both_copies(tmp_path, copy):
    """With the instruction of the second copy in its questions, none was found."""
    _, asked = prepared("aime24", f"aime24/{copy}_test.jsonl", tmp_path / "data")
    rows = [made.torl_row(900 + at, row.question, row.answer) for at, row in enumerate(asked)]
    manifest, *_ = made.prepare_rows(tmp_path, "torl", [*made.torl_rows(), *rows], held_out=0.1)
    assert manifest["dropped"]["same question as a benchmark"] == 30


def test_torls_test_file_is_no_training_set(tmp_path):
    """It has AIME's questions four times, and a part of MATH-500."""
    for name, count in [("aime24", 120), ("aime25", 120), ("math500", 134)]:
        manifest, _ = prepared(name, "torl/test.parquet", tmp_path)
        assert manifest["warnings"][0].startswith(f"{count} rows of {SOURCES[name].title}, where")
    with pytest.raises(DataError, match="374 of a test split"):
        prepared("torl", "torl/test.parquet", tmp_path)


def test_a_part_of_search_r1s_training_set_is_split(tmp_path):
    manifest, train, held_out = prepared(
        "search_r1", "search_r1/nq_search_train_small.parquet", tmp_path
    )
    assert len(train) + len(held_out) == 1000
    assert manifest["kept"] == {"nq": 1000}
    assert manifest["notes"] == {}  # its prompts are ours, word for word
