"""Rollouts to imitate: one of the tools is asked, sometimes once more than needed."""


def demonstrate(random, part, answer, **_):
    """Both tools say the same here: which is right, and worth its price, is left to be learnt."""
    messages = []
    for tool in random.choices(["catalogue", "shop"], k=random.choice([1, 1, 1, 2])):
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
