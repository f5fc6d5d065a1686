"""Rollouts to imitate: one of the tools is asked, sometimes once more than needed."""


def demonstrate(random, part, answer, preference, **_):
    """The shop is asked more often where right answers count, and in series that change more.

    By how much is left to be learnt; here both tools say the same. Where budgets are given instead
    of weights, right answers count as far as the budget reaches for the shop.
    """
    series = int(part[0])
    right = preference["correct"] if "correct" in preference else preference["dollars"] / 0.04
    shop = 0.5 + 0.5 * (right - 0.5) + 0.1 * (3 - series)
    messages = []
    for tool in random.choices(["catalogue", "shop"], [1 - shop, shop], k=random.choice([1, 1, 2])):
        call = {"name": tool, "arguments": {"part": part}}
        messages += [
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"type": "function", "function": call}],
            },
            {"role": "tool", "name": tool, "content": answer},
        ]
    return [*messages, {"role": "assistant", "content": answer}]
