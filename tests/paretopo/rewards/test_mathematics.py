"""The grader of mathematics, held to right and wrong pairs, traps and hostile LaTeX among them."""

import ast
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from paretopo.rewards import mathematics
from paretopo.rewards.correctness import exact_answer, number_or_words_match
from paretopo.rewards.mathematics import MathGrader, decide, last_box
from paretopo.rewards.notation import normalise_answer, to_latex, write_as_sets
from paretopo.rewards.plain_numbers import are_same_number, read_number
from paretopo.tools.python_interpreter import ProgramResult, SandboxError

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
        (r"\boxed{1} \boxed{2", None),  # the last is unfinished
        (r"\boxed{12} \boxed{\frac{1}{2", None),
        (r"\boxed{12}. Wait, \boxed", None),
        (r"\boxed{12} {", "12"),
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
        ("(1,234)", "(1,234)"),  # a point
        ("27,54,108,135", "27,54,108,135"),
        ("1, 200", "1,200"),
        (r"1,\! 200", "1200"),
        (r"1\,200", "1200"),
        ("1,234 dollars", "1234"),
        ("3 1/2", r"3\frac{1}{2}"),
        ("31/2", "31/2"),
        ("½", r"\frac{1}{2}"),
        (r"\bigl( 1, \Bigl[ 2", "(1,[2"),
        ("x² ≤ 3·√5", r"x^{2}\le3\cdot\sqrt{5}"),
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


THIRDS = [
    r"0.\overline{3}",
    r"0.\overline 3",
    r".\bar{3}",
    r"0.\bar3",
    r"0.3\bar{3}",
    r"0.\dot{3}",
    "0.(3)",
    r"0.333\ldots",
    "0.333...",
    "0.333\N{HORIZONTAL ELLIPSIS}",
    "0.3\N{COMBINING OVERLINE}",
    "0.3\N{COMBINING DOT ABOVE}",
]

# Inputs that were graded wrongly once, by kind; first the answer given, then the right one.
RIGHT_NOW = {
    "symbols and commands that math-verify misreads": [
        ("\N{EN DASH}x", "-x"),
        ("2\N{MIDDLE DOT}10^x", r"2\cdot 10^x"),
        ("x\N{LESS-THAN OR EQUAL TO}3", r"(-\infty,3]"),
        ("x\N{GREATER-THAN OR EQUAL TO}3", r"[3,\infty)"),
        ("x>=3", r"[3,\infty)"),
        ("x\N{ELEMENT OF}[1,1/2]", "[1,2/4]"),
        ("x\N{DEGREE SIGN}", r"x^{\circ}"),
        (r"x \leqslant 3", r"(-\infty,3]"),
        (r"x \geq 3", r"[3,\infty)"),
        (r"x \geqslant 3", r"[3,\infty)"),
        (r"x \gt 3", r"(3,\infty)"),
        (r"(2/2,\infin)", r"(1,\infty)"),
        (r"\lbrace x,1\}", r"\{1,x\}"),
        (r"\{x,1\rbrace", r"\{1,x\}"),
        (r"x>2 \vee x<1", r"x<1 \text{ or } x>2"),
    ],
    "symbols that math-verify reads": [
        ("\N{PLUS-MINUS SIGN}2\\sqrt{2}", r"\pm\sqrt{8}"),
        ("x\N{DIVISION SIGN}2", "x/2"),
        ("2\N{DOT OPERATOR}10^x", r"2\cdot 10^x"),
        ("(3,4)\N{UNION}(1,2)", r"(1,2)\cup(3,4)"),
        ("\N{GREEK SMALL LETTER THETA}+\N{GREEK SMALL LETTER THETA}", r"2\theta"),
    ],
    "sizes": [
        (r"\bigl(3, \frac{\pi}{2}\bigr)", r"\left( 3, \frac{\pi}{2} \right)"),
        (r"\Bigl[0, \frac12\Bigr)", r"[0,\frac{1}{2})"),
        (r"\biggl(\frac14,\frac12\biggr)", r"(\frac{1}{4},\frac{1}{2})"),
    ],
    "mixed numbers": [
        ("5 1/2", r"\frac{11}{2}"),
        (r"5\frac{1}{2}", r"\frac{11}{2}"),
        ("-3 8/9", r"-\frac{35}{9}"),
        (r"\frac{7}{2}", "3 1/2"),
        ("3½", "3.5"),
    ],
    "symbols of Unicode": [
        ("8√10", r"8\sqrt{10}"),
        ("½", r"\frac{1}{2}"),
        ("2π", r"2\pi"),
        ("√(x+1)", r"\sqrt{x+1}"),
        ("(\N{MINUS SIGN}∞, 3]", r"(-\infty,3]"),
        ("x²", "x^2"),
        ("3\N{MULTIPLICATION SIGN}10⁵", "300000"),
    ],
    "inequalities and intervals": [
        (r"-2 \le x \le 7", r"x \in [-2,7]"),
        (r"x \in [-2,7]", "[-2,7]"),
        (r"2 \le x < 5", "[2,5)"),
        ("[2,5)", r"2 \leq x < 5"),
        (r"7 \ge x > -2", "(-2,7]"),
        ("x > 3", r"(3,\infty)"),
        (r"[-2,1)", r"\{x|-2\leq x < 1\}"),
        (r"\{x|-2\leq x < 1\}", r"\{ x \mid -2 \le x < 1 \}"),
    ],
    "the empty set": [(r"\varnothing", r"\emptyset"), ("∅", r"\emptyset")],
    "zero": [("-0", "0"), ("0.00", "-0")],
    "powers of ten": [
        (r"4.5 \times 10^{33}", "4.5e33"),
        ("4.5e33", r"4.5 \cdot 10^{33}"),
        ("0.00001", "1e-5"),
        ("6.7E-05", r"6.7\times10^{-5}"),
    ],
    "decimals over decimals": [(r"-\frac{1}{3}", "-1./3"), ("-1/3", "-1./3")],
    "lists": [("108, 27, 54, 135", "27,54,108,135"), ("100, 200", "100,200")],
    "a whole gold": [
        (r"(-\infty, 0) \cup \{1\}", r"(-\infty, 0) \cup\{1\}."),
        ("1200", "1,200"),
        (r"1{,}200", "1200"),
    ],
    "percentages": [("50", "50%"), ("0.5", r"50\%"), (r"50\%", r"\frac{1}{2}"), ("5%", "0.05")],
    "members": [
        ("(1, 2.0)", "(1,2)"),
        (r"(\frac{1}{2},3)", "(0.5,3)"),
        (r"\{3,1,2\}", r"\{1, 2, 3\}"),
        ("[0,1)", r"0 \le x < 1"),
        (r"\{1,1,2\}", r"\{1,2\}"),
    ],
    "a base that only the answer names": [("27_{10}", "27")],
    "complex numbers": [
        ("(1+i)^2", "2i"),
        (r"\frac{1}{i}", "-i"),
        (r"\frac{2}{1+i}", "1-i"),
        ("(2+3i)(1-i)", "5+i"),
        (r"\sqrt{-4}", "2i"),
        (r"2+\sqrt{-9}", "2+3i"),
        (r"e^{i\pi}", "-1"),
        (r"2e^{i\pi/3}", r"1+i\sqrt3"),
        ("i^2", "-1"),
        (r"\{i,-i\}", r"\{\sqrt{-1},-\sqrt{-1}\}"),
        (r"\sum_{i=1}^{3} i", "6"),
    ],
    "repeating decimals": [
        *((decimal, r"\frac13") for decimal in THIRDS),
        *((r"\frac{1}{3}", decimal) for decimal in THIRDS),
        (r"33.\overline{3}", r"\frac{100}{3}"),
        (r"-0.1\overline{6}", r"-\frac16"),
        (r"0.1\dot{2}3\dot{4}", r"\frac{1233}{9990}"),
        ("0.1212...", r"\frac{4}{33}"),
        (r"0.\overline{9}", "1"),
        (r"x+0.\overline{3}", r"\frac13+x"),
    ],
    "inequalities without blanks, one-sided, in two parts": [
        ("1<x<3", "(1,3)"),
        ("(1,3)", "1<x<3"),
        ("1<=x<3", "[1,3)"),
        (r"1 \lt x \lt 3", "(1,3)"),
        (r"\{x|1<x<3\}", "(1,3)"),
        ("3<x", r"(3,\infty)"),
        ("3<x", "x>3"),
        (r"3\ge x", r"(-\infty,3]"),
        (r"x<1 \text{ or } x>2", r"(-\infty,1)\cup(2,\infty)"),
        (r"(-\infty,1)\cup(2,\infty)", r"x<1\lor x>2"),
        (r"x<1 \text{ or } x>2", "x > 2 or x < 1"),
    ],
    "as SymPy prints": [
        ("2*cos(pi*x)", r"2\cos(\pi x)"),
        (r"2\cos(\pi x)", "2*cos(pi*x)"),
        ("x**2+1", "x^2+1"),
        ("3*sqrt(x+1)", r"3\sqrt{x+1}"),
        ("exp(2*x)", "e^{2x}"),
    ],
    "a choice with its text": [
        (r"\textbf{(B)}\ 12", "B"),
        ("B", r"\textbf{(B)}\ 12"),
        ("B: 12", r"\text{(B)}"),
        ("(B)", "B"),
    ],
    "numbers with words": [
        (r"\text{5 apples}", "5"),
        (r"5 \text{ million}", "5000000"),
        (r"\text{5 million}", "5000000"),
        ("5,000,000", "5 million dollars"),
    ],
    "other names": [
        (r"\frac{\pi}{2}+k\pi", r"\frac{\pi}{2}+n\pi"),
        (r"\lg 2", r"\log_{10} 2"),
        (r"\text{DNE}", r"\text{does not exist}"),
    ],
}

WRONG_NOW = {
    "the last number of a gold that cannot be read": [
        ("1", r"\{x|-2\leq x < 1\}"),
        (r"\{x|-5\leq x < 1\}", r"\{x|-2\leq x < 1\}"),
        ("0", r"(-\infty, 0) \cup\{1\}."),
        ("0", r"f(x)=a x+b, where b is an arbitrary integer and \mho(a)=0"),
        ("-1", "-1./3"),
        ("1", "the 1"),
    ],
    "bases": [
        ("2516", "2516_8"),
        ("2516_9", "2516_8"),
        ("4210_{6}", "4210_{5}"),
        ("1358", "2516_8"),
    ],
    "lists and tuples joined": [
        ("(2251,252)", "(2,251,252)"),
        ("(312123,231)", "(312,123,231)"),
        ("27,54108135", "27,54,108,135"),
        ("1, 200", "1200"),
    ],
    "mixed numbers": [("3 1/2", "31/2"), ("31/2", "3 1/2")],
    "rounding at six places": [
        (r"1.7\times10^{-19}", r"1.6\times10^{-19}"),
        (r"\frac{1}{2^{1008}}", r"\frac{1}{2^{1009}}"),
        (".0000673", ".0000672"),
        ("1.000001", "1"),
        ("1000001", "1000000"),
    ],
    "intervals": [(r"2 \le x \le 5", "[2,5)"), (r"-2 \ge x \ge 7", r"[-2,7]"), ("x > 3", "x < 3")],
    "members": [
        ("(2,1)", "(1,2)"),
        ("(1,2,3)", "(1,2)"),
        (r"\{2,1,3\}", r"\{1,2\}"),
        ("[0,1)", "[0,1]"),
        ("[0,2)", r"0 \le x < 1"),
        (r"\{1,2)", "(1,2)"),
    ],
    "complex numbers": [
        ("(1+i)^2", "-2i"),
        (r"\frac{2}{1+i}", "1+i"),
        (r"\sqrt{-4}", "2"),
        (r"e^{i\pi}", "1"),
        (r"2e^{i\pi/3}", r"1-i\sqrt3"),
        ("i^2", "1"),
        ("j^2", "-1"),
        (r"1.7\times 10^{-19}i", r"1.6\times10^{-19}i"),
    ],
    "repeating decimals": [
        *((decimal, "0.3") for decimal in THIRDS),
        *((decimal, r"\frac{1}{4}") for decimal in THIRDS),
        (r"0.\overline{36}", r"0.\overline{63}"),
        (r"0.1\overline{6}", r"\frac{1}{7}"),
        ("3.14159...", r"\pi"),
    ],
    "inequalities without blanks, one-sided, in two parts": [
        ("1<x<3", "[1,3)"),
        ("1<x<3", "(1,4)"),
        ("1<=x<3", "(1,3)"),
        ("3<x", r"(-\infty,3)"),
        ("3<x", r"[3,\infty)"),
        (r"x<1 \text{ or } x>2", r"(-\infty,1]\cup(2,\infty)"),
        (r"x<1 \text{ or } x>2", "(1,2)"),
        (r"x<1 \text{ or } x>3", r"x<1 \text{ or } x>2"),
    ],
    "as SymPy prints": [
        ("2*cos(pi*x)", r"2\sin(\pi x)"),
        ("2*cos(pi*x)", r"\cos(2\pi x)"),
        ("x**2+1", "x^3+1"),
        ("3*sqrt(x+1)", r"3\sqrt{x}+1"),
    ],
    "a choice with its text": [
        (r"\textbf{(C)}\ 12", "B"),
        ("C", r"\textbf{(B)}\ 12"),
        (r"\textbf{(B)}\ 13", r"\textbf{(B)}\ 12"),
        ("(B) or (C)", "B"),
        ("(B, 12)", "B"),
        ("A+B", "B"),
    ],
    "numbers with words": [
        (r"\text{6 apples}", "5"),
        (r"\text{5 or 6}", "5"),
        (r"5 \text{ million}", "5"),
        (r"5 \text{ billion}", "5000000"),
    ],
    "other names": [
        (r"\frac{\pi}{2}+2k\pi", r"\frac{\pi}{2}+n\pi"),
        (r"\frac{\pi}{3}+k\pi", r"\frac{\pi}{2}+n\pi"),
        ("k+1", "n+1"),
        (r"\lg 2", r"\ln 2"),
        (r"\text{DNE}", "0"),
    ],
    "words made of the same letters": [("dynamo", "Monday"), (r"\text{tac}", r"\text{cat}")],
    "percentages": [
        ("0.5%", "50"),
        ("5%", "50%"),
        (r"0.5\%", "0.5"),
        (r"1\%", "1"),
        (r"0.5\%", r"\frac12"),
        (r"\sqrt{2}\%", r"\sqrt{2}"),
    ],
}


def of_each_kind(table):
    return [pytest.param(*pair, id=kind) for kind, pairs in table.items() for pair in pairs]


@pytest.mark.parametrize(("given", "answer"), of_each_kind(RIGHT_NOW))
def test_equivalent_forms_are_right(grader, given, answer):
    assert grader.are_equal(given, answer) is True


@pytest.mark.parametrize(("given", "answer"), of_each_kind(WRONG_NOW))
def test_other_answers_are_wrong(grader, given, answer):
    assert grader.are_equal(given, answer) is False


@pytest.mark.parametrize(("given", "answer"), RIGHT)
def test_right_answers(grader, given, answer):
    assert grader.grade(rf"So the answer is $\boxed{{{given}}}$.", answer) == 1.0


@pytest.mark.parametrize(("given", "answer"), WRONG)
def test_wrong_answers(grader, given, answer):
    assert not grader.are_equal(given, answer)


def test_without_a_box_it_is_wrong(grader):
    assert grader.grade("42", "42") == 0.0
    assert grader.grade(r"\boxed{42} or \boxed{43}", "42") == 0.0


@pytest.mark.parametrize("answer", [5, None, ["5", 5], {"answer": "5"}])
def test_an_answer_that_is_no_text_is_named(grader, answer):
    for grade in (grader.grade, exact_answer, number_or_words_match):
        with pytest.raises(TypeError, match="answer must be a text or a list of texts, got"):
            grade(r"\boxed{5}", answer)
    with pytest.raises(TypeError, match="response must be a text, got None"):
        grader.grade(None, "5")


def test_answers_that_only_a_copy_hits_cannot_be_read(grader):
    answers = ["5", r"\sqrt{2}", "2*cos(pi*x)", "2516_8", "Monday", r"\frac{1}{", "t(0,4]"]
    answers.append("The boat needs five times longer.")
    assert grader.can_read(answers) == [True] * 5 + [False] * 3


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


@pytest.fixture(scope="module")
def impatient_grader():
    with MathGrader(cpu_seconds=1, workers=1) as grader:
        yield grader


@pytest.mark.parametrize("latex", HOSTILE)
def test_hostile_latex_is_never_right_and_harms_no_other(impatient_grader, latex):
    pairs = [("2x", "x+x"), (latex, "7.5"), ("1+y", "y+1")]
    verdicts = impatient_grader.compare_all(pairs)
    assert verdicts[::2] == [True, True]
    assert verdicts[1] is not True


def test_a_comparison_beyond_its_limit_is_undecided_and_counted(impatient_grader):
    before = impatient_grader.undecided
    endless = r"\sum_{n=1}^{10^{12}} \frac{1}{n^n}"
    responses = [rf"\boxed{{{endless}}}", r"\boxed{7}"]
    assert impatient_grader.grade_all(responses, ["7.5", "7"]) == [None, 1.0]
    assert impatient_grader.grade(responses[0], "7.5") is None
    assert impatient_grader.undecided == before + 2


class Python:
    """Gives results that were prepared, whatever it is asked."""

    def __init__(self, *results):
        self.results, self.asked = list(results), []

    def run(self, code):
        self.asked.append(code)
        return self.results.pop(0)


def ended(stdout, limit=None):
    return ProgramResult(stdout, "", 0 if limit is None else -9, 0.1, limit)


@pytest.mark.parametrize(
    ("results", "verdicts"),
    [
        ([ended("True\nFalse\nTrue\n")], [True, False, True]),
        # The second was at work when the first process met its limit, and gets one for itself.
        ([ended("True\n", "time"), ended("False\nTrue\n")], [True, False, True]),
        ([ended("True\n", "time"), ended("", "time"), ended("True\n")], [True, None, True]),
        ([ended("", "memory"), ended("True\nTrue\n")], [None, True, True]),
        ([ended("True\n"), ended("True\nTrue\n")], [True, True, True]),  # its memory had grown
        # A lost worker is asked again, once.
        ([ended("", "sandbox"), ended("True\nTrue\nTrue\n")], [True, True, True]),
        (
            [ended("", "sandbox"), ended("", "sandbox"), ended("True\nTrue\n")],
            [None, True, True],
        ),
        ([ended(""), ended("True\nTrue\n")], [None, True, True]),  # it crashed
    ],
)
def test_a_limit_costs_only_the_comparison_that_met_it(
    grader, monkeypatch, request, results, verdicts
):
    python = Python(*results)
    monkeypatch.setattr(grader, "_python", python)
    monkeypatch.setattr(grader, "_workers", 1)
    pairs = [(f"x+{number}", f"y+{request.node.name}") for number in range(3)]
    assert grader.compare_all(pairs) == verdicts
    assert not python.results
    assert grader.compare_all(pairs) == verdicts  # they are remembered


def test_rules_start_no_process(grader, monkeypatch):
    monkeypatch.setattr(grader, "_python", Python())
    given = [r"\boxed{0.5}", r"\boxed{7}", "", r"\boxed{1,200}", r"\boxed{2516}"]
    answers = [r"\frac{1}{2}", "8", "1", "1200", "2516_8"]
    assert grader.grade_all(given, answers) == [1.0, 0.0, 0.0, 1.0, 0.0]


def test_many_at_once_and_once_more(grader, monkeypatch):
    responses = [rf"\boxed{{x+{i}}}" for i in range(20)] * 5
    answers = [f"{i}+x" for i in range(20)] * 5
    assert grader.grade_all(responses, answers) == [1.0] * 100
    monkeypatch.setattr(grader, "_python", Python())  # they are remembered
    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(grader.grade, responses * 10, answers * 10))
    with pytest.raises(ValueError, match=r"shorter|longer"):
        grader.grade_all(["a"], [])


class SlowPython:
    """Notes how many pairs each process compares; the first process waits."""

    def __init__(self):
        self.sizes, self.go_on = [], threading.Event()

    def run(self, code):
        pairs = json.loads(ast.literal_eval(code.partition("json.loads(")[2].rpartition("))")[0]))
        self.sizes.append(len(pairs))
        if len(self.sizes) == 1:
            assert self.go_on.wait(60)
        return ended("".join(f"{known == 'right'}\n" for known, _ in pairs))


def test_callers_that_wait_share_a_process(impatient_grader, monkeypatch):
    grader, python = impatient_grader, SlowPython()  # it has one worker
    monkeypatch.setattr(grader, "_python", python)
    pairs = [(f"x+{at}z", "right" if at % 2 else f"y+{at}z") for at in range(65)]
    monkeypatch.setattr(mathematics, "decide", lambda *_: None)
    with ThreadPoolExecutor(130) as threads:
        first = threads.submit(grader.are_equal, "x+x", "first")
        while not python.sizes:
            time.sleep(0.001)
        others = [threads.submit(grader.are_equal, *pair) for pair in pairs * 2]
        while len(grader._waiting) < 65:
            time.sleep(0.001)
        python.go_on.set()
        assert first.result() is False
        assert [one.result() for one in others] == [at % 2 == 1 for at in range(65)] * 2
    assert python.sizes == [1, 64, 1]


def test_every_waiting_caller_hears_of_a_failure(grader, monkeypatch):
    class Broken:
        def run(self, code):
            raise SandboxError("gone")

    pairs = [(f"broken+{at}", f"{at}+broken") for at in range(3)]
    with monkeypatch.context() as broken:
        broken.setattr(grader, "_python", Broken())
        for _ in range(2):
            with pytest.raises(SandboxError, match="gone"):
                grader.compare_all(pairs)
    assert grader.compare_all(pairs) == [True] * 3  # no failure is remembered


def test_cache_is_bounded(monkeypatch):
    monkeypatch.setattr(mathematics, "_REMEMBERED", 3)
    with MathGrader(workers=1) as grader:
        pairs = [(f"x+{number}", f"{number}+x") for number in range(5)]
        assert grader.compare_all(pairs) == [True] * 5
        assert list(grader._known) == pairs[2:]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", "7"),
        ("-0", "0"),
        ("+7.0", "7"),
        (".5", "1/2"),
        ("1,234.50", "2469/2"),
        ("$1,200", "1200"),
        ("-$5", "-5"),
        ("$-5", "-5"),
        ("€3", "3"),
        ("42.", "42"),
        ("50%", "50"),
        ("1/2", "1/2"),
        ("3 1/2", "7/2"),
        (r"\dfrac{-1}{2}", "-1/2"),
        (r"-3\frac{1}{2}", "-7/2"),
        ("1.5e3", "1500"),
        (r"10^{-2}", "1/100"),
        (r"2 \times 10^3", "2000"),
        ("", None),
        ("7 apples", None),
        ("1,20", None),
        ("1,2345", None),
        ("1/0", None),
        ("1e99999", None),
        ("--7", None),
        ("3.5.1", None),
        ("seven", None),
        ("x", None),
        ("9" * 3000, None),
    ],
)
def test_plain_numbers(text, value):
    number = read_number(text)
    assert (None if number is None else str(number.value)) == value


def test_numbers_agree_exactly_or_where_rounded():
    def same(one, other):
        return are_same_number(read_number(one), read_number(other))

    assert same("7.0", "7")
    assert same("0.333333", "1/3")
    assert not same("0.3333", "1/3")
    assert not same("0.000667", "2/3000")
    assert not same("12345678.9", "12345679")
    assert same("5%", "0.05")
    assert not same("5%", "50%")


def test_rules_that_decide_and_those_that_leave_it():
    assert decide("2+2", "4") is None
    assert decide("4", "4.0") is True
    assert decide("5", "4") is False
    assert write_as_sets("x<3", "y>3") == ("x<3", "y>3")
    assert write_as_sets("(1,3)", "1<x<3") == ("(1,3)", "(1,3)")
    assert to_latex("$x$\n+ y") == "x + y"
