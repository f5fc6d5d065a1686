"""Percents are understood."""

from paretopo.config import loads
from paretopo.records.schema import Example, write_rows
from paretopo.tasks.choice import make_task
from paretopo_lab.evaluate.grading import Grader

PROMPT = "Put it within \\boxed{}. "


def row(name, answer, question="?"):
    return Example(name, "mine", question, PROMPT + question, answer)


def test_a_percent_sign_counts_where_the_question_asks_for_percents(tmp_path):
    asked = [row("a", "25", "What percent of 4 is 1?"), row("b", "25", "What is 100/4?")]
    answers = ["\\boxed{25\\%}", "\\boxed{25}", "\\boxed{0.25}"]
    with Grader(asked, workers=1, isolation="process") as grader:
        grades = [grader.grade_all([one] * 3, answers) for one in asked]
    assert grades == [[True, True, True], [False, True, False]]
    write_rows(tmp_path / "train.jsonl", asked)
    write_rows(tmp_path / "held_out.jsonl", [row("c", "2", "1+1?")])
    files = {f"task.{name}": str(tmp_path / f"{name}.jsonl") for name in ("train", "held_out")}
    task = make_task(
        loads("", {"task.name": "math", "model.path": "m", "warmup.steps": 0, **files})
    )
    assert [one.answer for one in task.training] == [["25", "25\\%"], ["25"]]
