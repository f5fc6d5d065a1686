"""Cells are understood that no layout of test_prepare_benchmarks.py has."""

import pytest
from support import made_data as made

from paretopo_lab.prepare import fields
from paretopo_lab.prepare.answers import alternative_answers, mathematical_answer
from paretopo_lab.prepare.fields import UnusableRow

BOX, EMPTY = "\\boxed{}", {"image_1": None, "image": "", "context": None}
CONTEXT = made.olympiad_row(7, "Find $R$.", ["$3$"], context="Let $R$ be round.")


@pytest.mark.parametrize(
    ("raw", "question"),
    [
        ({"problem": "How many?", "prompt": "else"}, "How many?"),
        ({"prompt": '[{"role": "user", "content": "How many?"}]'}, "How many?"),
        ({"prompt": "How many?"}, "How many?"),
        ({"question": "", "Question": "How many?"}, "How many?"),
        ({"question": " How many?\n", **EMPTY}, "How many?"),
        (CONTEXT, "Let $R$ be round.\nFind $R$."),
    ],
)
def test_the_question_is_found(raw, question):
    assert fields.question_of(raw) == question


@pytest.mark.parametrize(
    ("asked", "question"),
    [
        (f"How many?\nPlease reason step by step, and put your final answer within {BOX}.", None),
        (f"How many? Let's think step by step and output the final answer within {BOX}.", None),
        (f"How many? Think step by step. Put your final answer in {BOX}", None),
        ("How many? Return your final response within \\boxed{ }.", None),
        (f"Please reason step by step, and put your final answer within {BOX}.\n\nHow many?", None),
        (f"Solve the following problem step by step. Put the answer in {BOX}.\n\nHow many?", None),
        (f"Express $x$ by $y$.\nPlease put your final answer within {BOX}.", "Express $x$ by $y$."),
        *(
            (asked, asked)
            for asked in (
                "How many?",
                f"What does {BOX} do in LaTeX?",
                "Which number stands in \\boxed{3}?",
                "Find the answer and give reasons, step by step.",
                f"Put your final answer within {BOX}.",
            )
        ),
    ],
)
def test_only_instructions_on_the_answer_are_cut(asked, question):
    assert fields.question_of({"problem": asked}) == (question or "How many?")
    assert fields.has_instruction({"problem": asked}) == (question != asked)


@pytest.mark.parametrize(
    ("raw", "answers"),
    [
        ({"answer": 0.5}, ["0.5"]),
        ({"answer": 0}, ["0"]),
        ({"reward_model": {"ground_truth": "42", "stype": "rule"}}, ["42"]),
        ({"reward_model": {"ground_truth": {"target": "Ada"}}}, ["Ada"]),
        ({"answer": None, "final_answer": ["3"]}, ["3"]),
        ({"answer": "[0, 1)"}, ["[0, 1)"]),
        ({"answer": "[1, 2]"}, ["[1, 2]"]),
        ({"answer": "{1, 2}"}, ["{1, 2}"]),
        ({"answer": "3", "solution": "So \\boxed{1}."}, ["3"]),
        ({"answer": "f (x)"}, ["f (x)"]),
    ],
)
def test_the_answers_are_found(raw, answers):
    assert fields.answers_of(raw) == answers


@pytest.mark.parametrize(
    ("read", "raw", "reason"),
    [
        (fields.question_of, {}, "no question"),
        (fields.question_of, {"question": None, "prompt": []}, "no question"),
        (fields.question_of, {"question": "  "}, "no question"),
        (fields.question_of, {"question": 7}, "no question"),
        (fields.question_of, {"prompt": [{"role": "assistant", "content": "Hi"}]}, "no question"),
        (fields.question_of, {"prompt": [{"role": "user", "content": None}, 3]}, "no question"),
        (fields.question_of, {"prompt": "Answer the given question. Question: "}, "no question"),
        (fields.question_of, {"question": "half \ud800"}, "broken text"),
        (
            fields.question_of,
            {"question": "See the figure", "image_1": {"bytes": b"\x89PNG"}},
            "needs an image",
        ),
        (fields.question_of, {"question": "See the figure", "images": ["a.png"]}, "needs an image"),
        (fields.question_of, {"question": "See <image_1>."}, "needs an image"),
        (fields.question_of, {"question": "x", "context": "See <image_3>."}, "needs an image"),
        (fields.answers_of, {}, "no answer"),
        (fields.answers_of, {"answer": ""}, "no answer"),
        (fields.answers_of, {"answer": "  "}, "no answer"),
        (fields.answers_of, {"answer": True}, "no answer"),
        (fields.answers_of, {"answer": float("nan")}, "no answer"),
        (fields.answers_of, {"answer": float("-inf")}, "no answer"),
        (fields.answers_of, {"final_answer": []}, "no answer"),
        (fields.answers_of, {"golden_answers": [None, ""]}, "no answer"),
        (fields.answers_of, {"reward_model": {"ground_truth": {"target": []}}}, "no answer"),
        (fields.answers_of, {"reward_model": "rule"}, "no answer"),
        (fields.answers_of, {"answer": {"value": 3}}, "no answer"),
        (fields.answers_of, {"solution": "It is 3."}, "no answer"),
        (fields.answers_of, {"answer": "It is 3. ####"}, "no answer"),
        (fields.answers_of, {"answer": "\udfff"}, "broken text"),
    ],
)
def test_rows_that_cannot_be_used_say_why(read, raw, reason):
    with pytest.raises(UnusableRow, match=reason):
        read(raw)


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ({"unique_id": "test/a/1.json", "id": 4}, "test/a/1.json"),
        ({"id": "train_1", "extra_info": {"index": 9}}, "train_1"),
        ({"extra_info": {"index": 9}}, "9"),
        ({"id": ["a"], "extra_info": "x"}, None),
        ({"id": True}, None),
    ],
)
def test_ids_are_those_of_the_source(raw, name):
    assert fields.id_of(raw) == name


@pytest.mark.parametrize(
    ("answer", "cleaned"),
    [
        ("$42$", "42"),
        ("$$\\frac{1}{2}$$", "\\frac{1}{2}"),
        ("\\( x+1 \\)", "x+1"),
        ("\\[x\\]", "x"),
        ("So \\boxed{1} or \\boxed{\\sqrt{2}}.", "\\sqrt{2}"),
        ("$\\frac{3}{4}$ or 0.75", "\\frac{3}{4} or 0.75"),
        ("\\$5", "\\$5"),
        ("$\\$5$", "\\$5"),
        ("007", "007"),
        ("$2$,$-3$", "2,-3"),
    ],
)
def test_answers_lose_their_markup(answer, cleaned):
    assert mathematical_answer([answer]) == cleaned


def test_whole_numbers_are_written_in_one_way():
    written = ["073", "27.0", "-3", "0", "000", "12.5", "x", "9" * 200]
    cleaned = [mathematical_answer([answer], whole_numbers=True) for answer in written]
    assert cleaned == ["73", "27", "-3", "0", "0", "12.5", "x", "9" * 200]


def test_sources_decide_whether_all_answers_are_required():
    assert mathematical_answer(["$1$", "$-2$"], all_wanted=True) == "1, -2"
    with pytest.raises(UnusableRow, match="does not say if one is enough"):
        mathematical_answer(["1", "-2"])
    with pytest.raises(UnusableRow, match="no answer"):
        mathematical_answer(["1", ""], all_wanted=True)
    with pytest.raises(UnusableRow, match="no answer"):
        mathematical_answer(["$ $"])
    assert alternative_answers(["Ada", "", " Ada", "Ada L."]) == ("Ada", "Ada L.")
