"""The grader of mathematics, held to right and wrong pairs, traps and hostile LaTeX among them."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from paretopo.rewards.mathematics import MathGrader, last_box, normalise_answer

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def grader():
    with MathGrader() as grader:
        yield grader


@pytest.mark.parametrize(
    ("text", "box"),
    [
        (r"\boxed{42}", "42"),
        (r"\boxed{1} and \boxed{2}", "2"),
        (r"\boxed{\frac{1}{\sqrt{2}}}", r"\frac{1}{\sqrt{2}}"),
        (
            r"\boxed{\left\{1, \frac{a}{b_{c_{d}}}\right\}}",
            r"\left\{1, \frac{a}{b_{c_{d}}}\right\}",
        ),
        (r"\boxed{\{1\}}", r"\{1\}"),
        (r"\boxed{1} \boxed{2", "1"),  # the last whose braces match
        (r"\boxed{a \boxed{7}}", "7"),
        (r"\fbox{3}", "3"),
        (r"\boxed {3}", "3"),
        (r"\boxed{}", ""),
        (r"\boxed 3", None),
        (r"\boxed{3", None),
        ("\\boxed{\\", None),
        ("", None),
        ("42", None),
        (r"\boxed{" * 300_000 + "1", None),
        (r"\boxed{" * 300_000 + "1}", "1"),
        (r"\boxed{1}}} \boxed{2}", "2"),
        (r"\boxed{1\\}", r"1\\"),
    ],
)
def test_the_last_box_counts(text, box):
    assert last_box(text) == box


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        (r"\dfrac{1}{2}", r"\frac{1}{2}"),
        (r"\tfrac12", r"\frac{1}{2}"),
        (r"\frac1{72}", r"\frac{1}{72}"),
        (r"\sqrt2", r"\sqrt{2}"),
        ("$5$", "5"),
        (r"\$1,234.00", "1234"),
        ("1{,}000{,}000", "1000000"),
        ("(1,234)", "(1234)"),
        ("(1,2)", "(1,2)"),
        (r"90^\circ", "90"),
        (r"90^{\circ}", "90"),
        (r"5\text{ cm}^2", "5"),
        ("10 square units", "10"),
        (r"50\%", "50"),
        (".5", "0.5"),
        ("5.", "5"),
        ("5.0", "5"),
        ("5.05", "5.05"),
        ("x = 5", "5"),
        ("f(x)=x+1", "x+1"),
        (r"\text{Evelyn}", "evelyn"),
        (r"\left( 3, \frac{\pi}{2} \right)", r"(3,\frac{\pi}{2})"),
    ],
)
def test_normal_forms(text, normal):
    assert normalise_answer(text) == normal


RIGHT = [
    ("42", "42"),
    ("042", "42"),
    ("+7", "7"),
    ("-3", "-3"),
    ("1234", "1,234"),
    ("0.5", r"\frac{1}{2}"),
    ("1/2", r"\dfrac12"),
    (r"\frac{-1}{2}", r"-\frac{1}{2}"),
    ("5.0", "5"),
    (r"2\sqrt{3}", r"\sqrt{12}"),
    (r"\frac{\sqrt{3}}{3}", r"\frac{1}{\sqrt{3}}"),
    ("x^2+2x+1", "(x+1)^2"),
    ("1+x", "x+1"),
    (r"\{2,1\}", r"\{1,2\}"),
    ("4, 3", "3,4"),
    (r"[0,1)", r"\left[0, 1\right)"),
    (r"x \leq 3", r"x \le 3"),
    (r"(-\infty, 3]", r"\left(-\infty,3\right]"),
    (r"\pi/2", r"\frac{\pi}{2}"),
    ("2i+1", "1+2i"),
    (r"\text{(B)}", r"\text{(B)}"),
    ("B", r"\text{B}"),
    ("b", "B"),
    (r"\text{Monday}", "monday"),
    (r"50\%", "50"),
    (r"90^\circ", "90"),
    ("x=5", "5"),
    ("5", "x=5"),
    (r"\begin{pmatrix}1\\2\end{pmatrix}", r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}"),
    ("10^2", "100"),
    (r"\binom{5}{2}", "10"),
    ("6!", "720"),
    (r"2\cdot3", "6"),
    (r"\$32.50", "32.50"),
    (r"12\text{ inches}", "12"),
    (r"\frac{3}{4}\text{ cups}", r"\frac{3}{4}"),
]

WRONG = [
    ("41", "42"),
    ("-42", "42"),
    ("4", "42"),
    ("420", "42"),
    ("", "42"),
    (" ", "42"),
    ("42", ""),
    ("", ""),
    ("(2,1)", "(1,2)"),
    ("(0,1)", "[0,1)"),
    ("[0,1]", "[0,1)"),
    (r"\{1,2,3\}", r"\{1,2\}"),
    ("3", "3,4"),
    ("3,4", "3"),
    ("12 or 13", "12"),
    ("3.14", r"\pi"),
    ("1.414", r"\sqrt{2}"),
    ("0.33", r"\frac{1}{3}"),
    ("A", "B"),
    ("x>3", "x<3"),
    (r"-\infty", r"\infty"),
    (r"\emptyset", "0"),
    ("x+2", "x+1"),
    ("1234", "1,235"),
    ("2^3", "6"),
    ("no idea", "42"),
    (r"\frac{1}{0}", "0"),
    (r"\sqrt{", "2"),
    ("}{", "2"),
    ("\x00", "2"),
    ("\ud800", "2"),
    ("1" * 3000, "1"),
]


@pytest.mark.parametrize(("given", "answer"), RIGHT)
def test_right_answers(grader, given, answer):
    assert grader.grade(rf"So the answer is $\boxed{{{given}}}$.", answer) == 1.0


@pytest.mark.parametrize(("given", "answer"), WRONG)
def test_wrong_answers(grader, given, answer):
    assert not grader.are_equal(given, answer)


def test_without_a_box_it_is_wrong(grader):
    assert grader.grade("42", "42") == 0.0
    assert grader.grade(r"\boxed{42} or \boxed{43}", "42") == 0.0


HOSTILE = [
    "9^{9^{9^{9}}}",
    "9^{9^9}-9^{9^9}",
    "(((((9!)!)!)!)!)",
    r"\int_0^1 x^{x^{x^x}} dx",
    r"\sum_{n=1}^{10^{12}} \frac{1}{n^n}",
    r"\prod_{k=1}^{10^9} (1+k)",
    "(x+1)^{100000}(x-1)^{100000}",
    "(" * 900 + "1" + ")" * 900,
    r"\frac{" * 300 + "1" + "}{2}" * 300,
    r"\sqrt[10000000]{2}^{10000000}",
    "__import__('os').system('sleep 9')",
    r"'; import os; os.abort(); '",
    "1" * 1999,
]


@pytest.mark.parametrize("latex", HOSTILE)
def test_hostile_latex_is_wrong_in_time(grader, latex):
    started = time.monotonic()
    assert not grader.are_equal(latex, "7.5")
    assert time.monotonic() - started < 50  # 3 s of processor time, on however busy a machine
    assert grader.are_equal("0.25", r"\frac{1}{4}")


def test_many_at_once_and_once_more(grader):
    responses = [rf"\boxed{{\frac{{{i}}}{{2}}}}" for i in range(20)] * 5
    answers = [str(i / 2) for i in range(20)] * 5
    assert grader.grade_all(responses, answers) == [1.0] * 100
    started = time.monotonic()
    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(grader.grade, responses * 10, answers * 10))
    assert time.monotonic() - started < 2  # they are remembered
    with pytest.raises(ValueError, match=r"shorter|longer"):
        grader.grade_all(["a"], [])
