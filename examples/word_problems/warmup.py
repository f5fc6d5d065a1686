"""Rollouts to imitate: sums worked out with the calculator, often in more calls than needed.

Some only guess. All of them are right, so that what is left to learn is how to be right in few
calls, and when a call pays.
"""

from paretopo.tools.calculator import make_calculator as _make_calculator

_calculate = _make_calculator()

_GUESSES = 0.15  # without any call
_WHOLE = 0.4  # of problems of two steps: the formula in one call
_REPEATED = (0.5, 0.35, 0.15)  # the last call comes again never, once, twice
_SENTENCES = 0.3  # answers in a sentence


def demonstrate(random, answer, formula, steps, **_):
    """One rollout."""
    told = f"The answer is {answer}." if random.random() < _SENTENCES else answer
    messages = []
    if random.random() >= _GUESSES:
        calls = [formula] if random.random() < _WHOLE else list(steps)
        calls += [calls[-1]] * random.choices(range(len(_REPEATED)), _REPEATED)[0]
        for expression in calls:
            function = {"name": "calculator", "arguments": {"expression": expression}}
            messages += [
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [{"type": "function", "function": function}],
                },
                {"role": "tool", "name": "calculator", "content": _calculate(expression)},
            ]
    return [*messages, {"role": "assistant", "content": told}]
