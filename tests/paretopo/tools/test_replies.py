"""Which replies of tools say that a call failed."""

import pytest

from paretopo.tools.calculator import make_calculator
from paretopo.tools.replies import is_failure


@pytest.mark.parametrize(
    ("reply", "failed"),
    [
        ("error: no such part", True),
        ("Error: no such part", True),
        (str({"error": "TRL writes this"}), True),
        ('{"error": "a JSON answer"}', True),
        ("ZeroDivisionError: division by zero", True),
        ("timeout_decorator.timeout_decorator.TimeoutError: 'Timed Out'", True),
        ("UnknownError", True),
        ("[ERROR]: no such part", True),
        ("Traceback (most recent call last):\n  ...", True),
        (make_calculator()("1/0"), True),
        ("ZeroDivisionError('division by zero')", True),
        ("An error occurred: x", True),
        ("An unexpected error occurred while calling the tool: x", True),
        ("[Error] x", True),
        ("[error] x", True),
        ("ERROR bad", True),
        ('{"error": "null", "result": 4}', True),
        ('{"error": 1}', True),
        ('{"error": null, "result": 4}', False),
        ("{'error': None, 'result': 4}", False),
        ('{"error": false, "data": 1}', False),
        ('{ "error" : "" }', False),
        ('{"error": [], "data": 1}', False),
        ("An error occurred in the edition of 1920. It was mended.", False),
        ("KeyError(key) is what a mapping raises", False),
        ("408", False),
        ("", False),
        ("Error analysis is a field of mathematics", False),
        ("the error: none", False),
        ("errors: 0", False),
        (str({"errors": 0}), False),
        ([{"type": "image"}], False),
    ],
)
def test_replies_that_begin_with_an_error_are_failures(reply, failed):
    assert is_failure(reply) is failed
