"""Rollouts to imitate that lean on the preference: the more right answers count, the more call.

Every preference shows both guesses and calls, and some calls are repeated. All answers are right.
"""

from paretopo.tools.calculator import make_calculator as _make_calculator

_calculate = _make_calculator()

_REPEATED = (0.7, 0.2, 0.1)  # the last call comes again never, once, twice


def demonstrate(random, answer, formula, steps, preference, **_):
    """One rollout."""
    messages = []
    if random.random() < 0.1 + 0.8 * preference["correct"]:
        calls = [formula] if random.random() < 0.5 else list(steps)
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
    return [*messages, {"role": "assistant", "content": answer}]
