"""Rollouts to imitate, as in warmup.py, but the preference counts as much as the series."""


def demonstrate(random, part, answer, preference, **_):
    """The shop is asked more often in series that change more, and if right answers count more.

    Both tools appear with every preference and series. The two effects are equally strong: a policy
    that learns only one of them in the warm-up may never learn the other.
    """
    right = preference.get("correct", 0.5)  # a budget has no weights
    shop = 0.5 + 0.12 * (3 - int(part[0])) + 0.5 * (right - 0.5)
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
