"""Rollouts to imitate: one of the tools is asked, sometimes once more than needed."""


def demonstrate(random, part, answer, **_):
    """The shop is asked more often in series that change more, and as often for each preference.

    Both tools appear with every preference and series. A demonstration that leaned by the
    preference would settle the tool before the policy learns the difference between the series.
    """
    shop = 0.5 + 0.1 * (3 - int(part[0]))
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
