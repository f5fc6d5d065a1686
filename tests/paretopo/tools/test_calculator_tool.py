"""The calculator: exact, and unimpressed by hostile input."""

import ast
import operator
import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paretopo.tools.calculator import CalculationError, Limits, evaluate, make_calculator

calculator = make_calculator()

_OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}


def pythons_value(expression):
    """The value by Python's own grammar, in exact fractions."""

    def walk(node):
        if isinstance(node, ast.Constant):
            return Fraction(str(node.value))
        if isinstance(node, ast.UnaryOp):
            value = walk(node.operand)
            return -value if isinstance(node.op, ast.USub) else value
        return Fraction(_OPERATORS[type(node.op)](walk(node.left), walk(node.right)))

    return walk(ast.parse(expression, mode="eval").body)


numbers = st.one_of(
    st.integers(0, 999).map(str), st.decimals(0, 99, places=2).map(lambda d: f"{d:f}")
)
expressions = st.recursive(
    numbers,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "//", "%", " - "]), inner).map(
            "".join
        ),
        inner.map("({})".format),
        inner.map("-{}".format),
        st.tuples(inner, st.integers(0, 3)).map(lambda pair: f"{pair[0]}**{pair[1]}"),
    ),
    max_leaves=6,
)


@given(expressions)
def test_grammar_and_value_are_pythons(expression):
    wide = Limits(characters=10_000, depth=1000, operations=1000, digits=4000)
    try:
        expected = pythons_value(expression)
    except ZeroDivisionError:
        with pytest.raises(CalculationError, match="division by zero"):
            evaluate(expression, wide)
    else:
        assert evaluate(expression, wide) == expected


@given(st.text(max_size=60))
def test_any_text_gets_an_answer(text):
    answer = calculator(text)
    assert isinstance(answer, str)
    assert answer


@given(st.text(alphabet="0123456789+-*/%(). ", max_size=80))
def test_any_arithmetic_looking_text_is_quick(text):
    begun = time.process_time()
    calculator(text)
    assert time.process_time() - begun < 0.5


@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        ("9**9**9", "exponents must be whole numbers from -64 to 64"),
        ("9**9**9**9**9", "exponents must be whole numbers from -64 to 64"),
        ("99999999999**64", "the result has more than 60 digits"),
        ("(((9**64)**64)**64)", "the result has more than 60 digits"),
        ("0.0000001**60", "the result has more than 60 digits"),
        ("2**0.5", "exponents must be whole numbers"),
        ("0**-1", "division by zero"),
        ("1//0", "division by zero"),
        ("1%(2-2)", "division by zero"),
        ("(" * 90 + "1" + ")" * 90, "nested more than 20 deep"),
        ("-" * 150 + "1", "nested more than 20 deep"),
        ("2**" * 60 + "1", "nested more than 20 deep"),
        ("1+" * 99 + "1", "at most 50 operations per call"),
        ("1" * 201, "at most 200 characters"),
        ("9" * 61, "the result has more than 60 digits"),
        ("__import__('os').system('ls')", "cannot read '_'"),
        ("().__class__", "cannot read '.'"),
        ("1 .real", "cannot read '.'"),
        ("lambda: 1", "cannot read 'l'"),
        ("a", "cannot read 'a'"),
        ("1e9", "cannot read 'e'"),
        ("0x10", "cannot read 'x'"),
        ("1_000", "cannot read '_'"),
        ("1j", "cannot read 'j'"),
        ("\uff11+\uff11", "cannot read '\uff11'"),
        ("\u0663*\u0664", "cannot read '\u0663'"),
        ("\xb2", "cannot read '\xb2'"),
        ("2\xd73", "cannot read '\xd7'"),
        ("1<2", "cannot read '<'"),
        ("1,2", "cannot read ','"),
        ("[1]*9", "cannot read '['"),
        ("\x00", "cannot read '\\x00'"),
        ("", "the expression is empty"),
        ("   ", "the expression is empty"),
        ("1+", "the expression ends too early"),
        ("*2", "unexpected '*'"),
        ("(1", "a bracket is not closed"),
        ("1)", "unexpected ')'"),
        ("1 2", "unexpected '2'"),
        ("()", "unexpected ')'"),
    ],
)
def test_errors_are_readable(expression, answer):
    assert calculator(expression).startswith(f"error: {answer}")


def test_other_types_are_answered_too():
    assert calculator(7) == "error: expected text, got int"
    assert calculator(None) == "error: expected text, got NoneType"


@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        (" 2 + 3 * 4 ", "14"),
        ("2**-2", "0.25"),
        ("2**3**2", "512"),
        ("0.1+0.2", "0.3"),
        ("1/3", "0.333333333333"),
        ("-(10**40)", "-1" + "0" * 40),
        ("8/4", "2"),
    ],
)
def test_values(expression, answer):
    assert calculator(expression) == answer


def test_the_tool_describes_itself():
    assert calculator.__name__ == "calculator"
    assert "expression" in (calculator.__doc__ or "")
    assert calculator.__annotations__ == {"expression": "str", "return": "str"}
