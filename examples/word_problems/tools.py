"""A calculator, which takes a whole formula or one operation after the other."""

from paretopo.tools.calculator import make_calculator as _make_calculator

_calculate = _make_calculator()


def calculator(expression: str) -> str:
    """Evaluate arithmetic.

    Args:
        expression: Numbers, + - * / and brackets, for example (12+34)*5.

    Returns:
        The value, or what is wrong with the expression.
    """
    return _calculate(expression)
