"""The grader of mathematics, held to right and wrong pairs, traps and hostile LaTeX among them."""

import ast
import json
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations, product

import pytest

from paretopo.rewards import mathematics
from paretopo.rewards.correctness import exact_answer, number_or_words_match
from paretopo.rewards.mathematics import MathGrader, last_box
from paretopo.rewards.notation import normalise_answer
from paretopo.rewards.plain_numbers import read_number
from paretopo.tools.python_interpreter import ProgramResult, SandboxError

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def grader():
    """Impatient, so that hostile LaTeX soon meets its limit; no other comparison comes near it."""
    with MathGrader(cpu_seconds=1, workers=1) as grader:
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


# A normal form, and forms that are written so.
NORMAL = r"""
\frac{1}{2} <- \dfrac{1}{2} <- \tfrac12 <- ½
\frac{1}{72} <- \frac1{72}
\sqrt{2} <- \sqrt2
5 <- $5$ <- 5\text{ cm}^2 <- 5. <- 5.0 <- x = 5
1234 <- \$1,234.00 <- 1,234 dollars
1000000 <- 1{,}000{,}000
1200 <- 1,\! 200 <- 1\,200
(1,234) <- (1,234)
27,54,108,135 <- 27,54,108,135
1,200 <- 1, 200
3\frac{1}{2} <- 3 1/2
31/2 <- 31/2
(1,[2 <- \bigl( 1, \Bigl[ 2
x^{2}\le3\cdot\sqrt{5} <- x² ≤ 3·√5
(1,2) <- (1,2)
90 <- 90^\circ <- 90^{\circ}
10 <- 10 square units
50 <- 50\%
0.5 <- .5
5.05 <- 5.05
x+1 <- f(x)=x+1
evelyn <- \text{Evelyn}
(3,\frac{\pi}{2}) <- \left( 3, \frac{\pi}{2} \right)
""".strip().splitlines()


@pytest.mark.parametrize("line", NORMAL)
def test_normal_forms(line):
    normal, *forms = line.split(" <- ")
    assert [normalise_answer(one) for one in forms] == [normal] * len(forms)


# The answers on a line are equal, and those after != are equal to none of them.
LINES = r"""
7 == +7
1/2 == \dfrac12
-\frac{1}{2} == \frac{-1}{2}
\sqrt{12} == 2\sqrt{3}
\frac{1}{\sqrt{3}} == \frac{\sqrt{3}}{3}
(x+1)^2 == x^2+2x+1
x \le 3 == x \leq 3
(-\infty, 3] == \left(-\infty,3\right]
\pi/2 == \frac{\pi}{2}
1+2i == 2i+1
monday == \text{Monday}
90 == 90^\circ
\begin{pmatrix}1\\2\end{pmatrix} == \begin{pmatrix} 1 \\ 2 \end{pmatrix}
100 == 10^2
10 == \binom{5}{2}
6! == 720
32.50 == \$32.50
\frac{3}{4} == \frac{3}{4}\text{ cups}
\bigl(3, \frac{\pi}{2}\bigr) == \left( 3, \frac{\pi}{2} \right)
[0,\frac{1}{2}) == \Bigl[0, \frac12\Bigr)
(\frac{1}{4},\frac{1}{2}) == \biggl(\frac14,\frac12\biggr)
5 1/2 == \frac{11}{2} == 5\frac{1}{2}
-3 8/9 == -\frac{35}{9}
3½ == 3.5
8√10 == 8\sqrt{10}
2π == 2\pi
√(x+1) == \sqrt{x+1}
3\ge x == (-\infty,3]
-x == –x
2\cdot 10^x == 2·10^x == 2⋅10^x
(-\infty,3] == x≤3 == x \leqslant 3
[3,\infty) == x≥3 == x>=3 == x \geq 3 == x \geqslant 3
[1,2/4] == x∈[1,1/2]
x^{\circ} == x°
(3,\infty) == x \gt 3
(1,\infty) == (2/2,\infin)
\{1,x\} == \lbrace x,1\} == \{x,1\rbrace
x<1 \text{ or } x>2 == x>2 \vee x<1
\pm\sqrt{8} == ±2\sqrt{2}
x/2 == x÷2
(1,2)\cup(3,4) == (3,4)∪(1,2)
2\theta == θ+θ
x² == x^2
(-2,7] == 7 \ge x > -2
∅ == \emptyset == \varnothing
4.5e33 == 4.5 \cdot 10^{33} == 4.5 \times 10^{33}
1e-5 == 0.00001
6.7E-05 == 6.7\times10^{-5}
100,200 == 100, 200
5% == 0.05
(0.5,3) == (\frac{1}{2},3)
\{3,1,2\} == \{1, 2, 3\}
-i == \frac{1}{i}
5+i == (2+3i)(1-i)
2+3i == 2+\sqrt{-9}
\{i,-i\} == \{\sqrt{-1},-\sqrt{-1}\}
\frac{100}{3} == 33.\overline{3}
-\frac16 == -0.1\overline{6}
\frac{1233}{9990} == 0.1\dot{2}3\dot{4}
0.1212... == \frac{4}{33}
\frac13+x == x+0.\overline{3}
e^{2x} == exp(2*x)
5,000,000 == 5 million dollars
\text{DNE} == \text{does not exist}
½ == 0.5 == 50\% == \frac{1}{2}
B: 12 == \text{(B)}
1200 == 1,200 == 1{,}200
42 == 042 != 41 != -42 != 4 != 420 != no idea
1234 == 1,234 != 1,235
5 == 5.0 == x=5 != \text{6 apples} != \text{5 or 6} != 5 \text{ million}
x+1 == 1+x != x+2
\{1,2\} == \{2,1\} == \{1,1,2\} != \{1,2,3\} != \{2,1,3\}
3,4 == 4, 3 != 3
[0,1) == 0 \le x < 1 == \left[0, 1\right) != (0,1) != [0,1] != [0,2)
6 == 2\cdot3 == \sum_{i=1}^{3} i != 2^3
12 == 12\text{ inches} != 12 or 13
3 1/2 == \frac{7}{2} != 31/2
[-2,7] == x \in [-2,7] == -2 \le x \le 7 != -2 \ge x \ge 7
[2,5) == 2 \le x < 5 == 2 \leq x < 5 != 2 \le x \le 5
3<x == x>3 == x > 3 == (3,\infty) != x<3 != x < 3 != (-\infty,3) != [3,\infty)
[-2,1) == \{x|-2\leq x < 1\} == \{ x \mid -2 \le x < 1 \} != 1 != \{x|-5\leq x < 1\}
-1/3 == -1./3 == -\frac{1}{3} != -1
27,54,108,135 == 108, 27, 54, 135 != 27,54108135
(-\infty, 0) \cup\{1\}. == (-\infty, 0) \cup \{1\} != 0
(1,2) == (1, 2.0) != (2,1) != (1,2,3) != \{1,2) != x<1 \text{ or } x>2
2i == (1+i)^2 == \sqrt{-4} != -2i
1-i == \frac{2}{1+i} != 1+i
-1 == i^2 == e^{i\pi} != j^2
1+i\sqrt3 == 2e^{i\pi/3} != 1-i\sqrt3
(1,3) == 1<x<3 == \{x|1<x<3\} == 1 \lt x \lt 3 != 1<=x<3 != (1,4)
[1,3) == 1<=x<3 != 1<x<3
2*cos(pi*x) == 2\cos(\pi x) != 2\sin(\pi x) != \cos(2\pi x)
x^2+1 == x**2+1 != x^3+1
3\sqrt{x+1} == 3*sqrt(x+1) != 3\sqrt{x}+1
5000000 == \text{5 million} == 5 \text{ million} != 5 \text{ billion}
\frac{\pi}{2}+n\pi == \frac{\pi}{2}+k\pi != \frac{\pi}{2}+2k\pi != \frac{\pi}{3}+k\pi
\lg 2 == \log_{10} 2 != \ln 2
\pi != 3.14 != 3.14159...
\infty != -\infty
2 != \sqrt{ != }{ != \sqrt{-4}
4210_{5} != 4210_{6}
(2,251,252) != (2251,252)
(0.0000001,1) != (0.0000002,1)
x \ne 3 == x≠3 == x \neq 3 != x = 3
(312,123,231) != (312123,231)
1.6\times10^{-19} != 1.7\times10^{-19}
\frac{1}{2^{1009}} != \frac{1}{2^{1008}}
.0000672 != .0000673
1000000 != 1000001
1/3 == 0.333333 != 0.3333
2/3000 != 0.000667
12345679 != 12345678.9
x<3 != y>3
1.6\times10^{-19}i != 1.7\times 10^{-19}i
0.\overline{63} != 0.\overline{36}
\frac{1}{7} != 0.1\overline{6}
n+1 != k+1
Monday != dynamo
\text{cat} != \text{tac}
1 == 0.\overline{9} != 1.000001 != e^{i\pi} != i^2 != the 1
\sqrt{2} != 1.414
50% != 0.5% != 5%
B == b == (B) == \text{B} != A != C != \textbf{(C)}\ 12 != (B) or (C) != (B, 12) != A+B
B == (B) == \textbf{(B)}\ 12 != C
\textbf{(B)}\ 12 != \textbf{(B)}\ 13
0 == -0 == 0.00 != \emptyset != \frac{1}{0} != \text{DNE}
0 != f(x)=a x+b, where b is an arbitrary integer and \mho(a)=0
\frac13 == \frac{1}{3} == 0.\overline{3} == 0.\overline 3 == 0.\bar3 == .\bar{3} != 0.33 != 0.3
\frac13 == 0.\dot{3} == 0.3\bar{3} == 0.(3) == 0.333\ldots == 0.333... != \frac{1}{4} != 0.3
x<1 \text{ or } x>2 == x > 2 or x < 1 == x<1\lor x>2 != x<1 \text{ or } x>3
x<1 \text{ or } x>2 == (-\infty,1)\cup(2,\infty) != (-\infty,1]\cup(2,\infty)
1200 != 1, 200
2516_8 != 2516_9 != 1358
""".strip().splitlines()
ONE_WAY = [  # an answer that is right, but would be wrong in the place of the other
    (r"\text{5 apples}", "5"),
    ("50", "50%"),
    ("27_{10}", "27"),
    ("2516_8", "2516"),
    (r"\frac12", r"0.5\%"),
    ("0.5", r"0.5\%"),
    ("1", r"1\%"),
    (r"\sqrt{2}", r"\sqrt{2}\%"),
]
SIGNS = [
    ("(\N{MINUS SIGN}∞, 3]", r"(-\infty,3]"),
    ("3\N{MULTIPLICATION SIGN}10⁵", "300000"),
    *((f"0.3{mark}", r"\frac13") for mark in "\N{COMBINING OVERLINE}\N{COMBINING DOT ABOVE}"),
    ("0.333\N{HORIZONTAL ELLIPSIS}", r"\frac13"),
    ("$x$\n+ y", "x + y"),
]
BROKEN = [("", "42"), (" ", "42"), ("42", ""), ("", ""), ("\x00", "2"), ("\ud800", "2")]
BROKEN += [("1" * 3000, "1"), (r"\sqrt{", "2"), ("}{", "2")]


def expect(line):
    """Map each pair of answers on a line, in both orders, to whether they are equal."""
    first, *others = line.split(" != ")
    equal = first.split(" == ")
    wanted = dict.fromkeys(permutations(equal, 2), True)
    for pair in product(equal, others):
        wanted |= dict.fromkeys([pair, pair[::-1]], False)
    return wanted


@pytest.fixture(scope="module")
def verdicts(grader):
    """The verdicts on all lines; pairs that come together share processes."""
    pairs = [pair for line in LINES for pair in expect(line)]
    return dict(zip(pairs, grader.compare_all(pairs), strict=True))


@pytest.mark.parametrize("line", LINES)
def test_equal_answers_are_right_and_others_are_wrong(verdicts, line):
    wanted = expect(line)
    assert {pair: verdicts[pair] for pair in wanted} == wanted


def test_words_of_an_answer_count_one_way(grader):
    assert grader.compare_all(ONE_WAY) == [True] * len(ONE_WAY)
    assert grader.compare_all([pair[::-1] for pair in ONE_WAY]) == [False] * len(ONE_WAY)


def test_signs_of_unicode_are_read_and_broken_answers_are_wrong(grader):
    assert grader.compare_all(SIGNS) == [True] * len(SIGNS)
    assert not any(grader.compare_all(BROKEN))


def test_without_a_box_it_is_wrong(grader):
    assert grader.grade(r"So the answer is $\boxed{\frac{84}{2}}$.", "42") == 1.0
    assert grader.grade("42", "42") == 0.0
    assert grader.grade(r"\boxed{42} or \boxed{43}", "42") == 0.0


@pytest.mark.parametrize("answer", [5, None, ["5", 5], {"answer": "5"}])
def test_an_answer_that_is_no_text_is_named(grader, answer):
    for grade in (grader.grade, exact_answer, number_or_words_match):
        with pytest.raises(TypeError, match="answer must be a text or a list of texts, got"):
            grade(r"\boxed{5}", answer)
    with pytest.raises(TypeError, match="response must be a text, got None"):
        grader.grade(None, "5")


# Each uses up its processor time; one of them is also in the next test.
ENDLESS = [
    "9^{9^{9^{9}}}",
    "9^{9^9}-9^{9^9}",
    "(((((9!)!)!)!)!)",
    r"\int_0^1 x^{x^{x^x}} dx",
    r"\sum_{n=1}^{10^{12}} \frac{1}{n^n}",
    r"\prod_{k=1}^{10^9} (1+k)",
    "(x+1)^{100000}(x-1)^{100000}",
    "(" * 900 + "1" + ")" * 900,
    "1" * 1999,
]
SOON_DECIDED = [
    r"\frac{" * 300 + "1" + "}{2}" * 300,
    r"\sqrt[10000000]{2}^{10000000}",
    "__import__('os').system('sleep 9')",
    r"'; import os; os.abort(); '",
]


@pytest.mark.parametrize(
    "latex", [*SOON_DECIDED, *(pytest.param(one, marks=pytest.mark.long) for one in ENDLESS)]
)
def test_hostile_latex_is_never_right_and_harms_no_other(grader, latex):
    pairs = [("2x", "x+x"), (latex, "7.5"), ("1+y", "y+1")]
    verdicts = grader.compare_all(pairs)
    assert verdicts[::2] == [True, True]
    assert verdicts[1] is not True


def test_a_comparison_beyond_its_limit_is_undecided_and_counted(grader):
    before = grader.undecided
    endless = r"\sum_{n=1}^{10^{12}} \frac{1}{n^n}"
    responses = [rf"\boxed{{{endless}}}", r"\boxed{7}"]
    assert grader.grade_all(responses, ["7.5", "7"]) == [None, 1.0]
    assert grader.grade(responses[0], "7.5") is None
    assert grader.undecided == before + 2


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
    python = Python(*results)  # it has one worker
    monkeypatch.setattr(grader, "_python", python)
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


def test_callers_that_wait_share_a_process(grader, monkeypatch):
    python = SlowPython()  # it has one worker
    monkeypatch.setattr(grader, "_python", python)
    pairs = [(f"x+{at}z", "right" if at % 2 else f"y+{at}z") for at in range(65)]
    monkeypatch.setattr(mathematics, "decide", lambda *_: None)
    with ThreadPoolExecutor(130) as threads:
        first = threads.submit(grader.compare_all, [("x+x", "first")])
        while not python.sizes:
            time.sleep(0.001)
        others = [threads.submit(grader.compare_all, [pair]) for pair in pairs * 2]
        while len(grader._comparisons._waiting) < 65:
            time.sleep(0.001)
        python.go_on.set()
        assert first.result() == [False]
        assert [one.result() for one in others] == [[at % 2 == 1] for at in range(65)] * 2
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


def test_cache_is_bounded(grader, monkeypatch):
    monkeypatch.setattr(mathematics, "_REMEMBERED", 3)
    monkeypatch.setattr(grader, "_known", {})
    pairs = [(f"x+{number}", f"{number}+x") for number in range(5)]
    assert grader.compare_all(pairs) == [True] * 5
    assert list(grader._known) == pairs[2:]


NUMBERS = r"""7 = 7; -0 = 0; +7.0 = 7; .5 = 1/2; 1,234.50 = 2469/2; $1,200 = 1200; -$5 = -5
$-5 = -5; €3 = 3; 42. = 42; 50% = 50; 1/2 = 1/2; 3 1/2 = 7/2; \dfrac{-1}{2} = -1/2
-3\frac{1}{2} = -7/2; 1.5e3 = 1500; 10^{-2} = 1/100; 2 \times 10^3 = 2000
7 apples = None; 1,20 = None; 1,2345 = None; 1/0 = None; 1e99999 = None; --7 = None
3.5.1 = None; seven = None; x = None; = None"""


@pytest.mark.parametrize("case", [*re.split("; |\n", NUMBERS), f"{'9' * 3000} = None"])
def test_plain_numbers(case):
    text, _, value = case.rpartition("=")
    number = read_number(text.strip())
    assert str(number and number.value) == value.strip()
