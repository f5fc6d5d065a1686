"""Rollouts to imitate: one of the tools is asked, sometimes once more than needed."""


def demonstrate(random, part, answer, preference, **_):
    """The dear tool is asked more often where right answers count, whatever is asked for.

    Both say the same here: in which series which of them is worth its price is left to be learnt.
    """
    shop = 0.2 + 0.6 * preference["correct"]
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
