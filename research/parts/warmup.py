"""Rollouts to imitate: one of the tools is asked, often once more than needed; some only guess."""


def demonstrate(random, part, answer, **_):
    """The catalogue and the shop say the same here: which of them is right is left to be learnt."""
    guessed = random.random() < 0.2
    asked = [] if guessed else random.choices(["catalogue", "shop"], k=random.choice([1, 1, 2]))
    messages = []
    for tool in asked:
        call = {"name": tool, "arguments": {"part": part}}
        messages += [
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"type": "function", "function": call}],
            },
            {"role": "tool", "name": tool, "content": answer},
        ]
    told = str(random.randint(10, 99)) if guessed else answer
    return [*messages, {"role": "assistant", "content": told}]
