"""Right answers are graded against other forms of themselves, and unreadable ones are named."""

import pytest

from paretopo import cli
from paretopo.config import loads
from paretopo.records.schema import Example, write_rows
from paretopo.tasks.choice import make_task
from paretopo_lab.evaluate.grading import Grader

PROMPT = "Put it within \\boxed{}. "
SENTENCE = "The boat needs five times longer."


def row(name, answer, question="?"):
    return Example(name, "mine", question, PROMPT + question, answer)


def test_data_check_tells_the_rate_of_false_negatives(tmp_path, capsys):
    path = tmp_path / "mine.jsonl"
    tagged = Example("w", "nq", "Where?", "Answer in <answer> </answer>. Where?", ("Oslo",))
    write_rows(path, [row("a", "\\frac{1}{2}"), row("b", "2516_8"), row("c", "6m"), tagged])
    assert cli.main(["data", "check", str(path), "--isolation", "process"]) == 0
    said = capsys.readouterr().out
    table = [line.split("|") for line in said.splitlines() if line.startswith("| ")]
    counts = {cells[1].strip(): cells[2:5] for cells in table}
    wrong = {"with \\dfrac": (1, 0, 0), "with an article": (1, 0, 0), "plus zero": (2, 1, 0)}
    assert {form: tuple(map(int, counts[form])) for form in wrong} == wrong
    assert "false negatives: 1 of 12 (8.33 %)\n  c: '6m+0', where the answer is '6m'" in said
    assert "cannot read" not in said


def test_data_check_names_answers_that_the_grader_cannot_read(tmp_path, capsys):
    path = tmp_path / "mine.jsonl"
    write_rows(path, [row("a", "5"), row("b", SENTENCE)])
    assert cli.main(["data", "check", str(path), "--isolation", "process"]) == 0
    said = capsys.readouterr().out
    assert f"row 2 (b): the grader cannot read the answer {SENTENCE!r}" in said
    assert "row 1" not in said
    assert cli.main(["data", "check", str(tmp_path / "missing")]) == 2
    assert "cannot read" in capsys.readouterr().err


def test_prepare_names_answers_that_the_grader_cannot_read(tmp_path, capsys):
    raw = tmp_path / "raw.jsonl"
    raw.write_text(
        f'{{"problem": "7?", "answer": "7"}}\n{{"problem": "b?", "answer": "{SENTENCE}"}}'
    )
    words = ["prepare", "math500", "--unchecked", "--from", str(raw), "--out", str(tmp_path)]
    assert cli.main(words) == 0
    error = capsys.readouterr().err
    assert f"{tmp_path}/math500/test.jsonl, row 2 (math500/" in error
    assert f"the grader cannot read the answer {SENTENCE!r}: only the same text is right" in error
    assert "row 1" not in error


@pytest.mark.parametrize(
    ("question", "right"), [("What percent of 4 is 1?", True), ("What is 100/4?", False)]
)
def test_a_percent_sign_counts_where_the_question_asks_for_percents(tmp_path, question, right):
    asked = row("a", "25", question)
    with Grader([asked], isolation="process") as grader:
        grades = grader.grade_all([asked] * 3, ["\\boxed{25\\%}", "\\boxed{25}", "\\boxed{0.25}"])
    assert grades == [right, True, right]
    write_rows(tmp_path / "train.jsonl", [asked])
    write_rows(tmp_path / "held_out.jsonl", [row("b", "2", "1+1?")])
    files = {f"task.{name}": str(tmp_path / f"{name}.jsonl") for name in ("train", "held_out")}
    task = make_task(
        loads("", {"task.name": "math", "model.path": "m", "warmup.steps": 0, **files})
    )
    assert task.training[0].answer == (["25", "25\\%"] if right else ["25"])
