"""What an answer of the help desk is worth: a function for each objective of train.toml.

As TRL takes them: lists in, a value for each rollout, with the columns of the questions by name.
"""

DEPARTMENTS = {"billing", "delivery", "repairs"}


def routed(completions, department, **_):
    """1 where the answer names the right department, and no other."""
    named = [DEPARTMENTS & _words(text) for text in completions]
    return [float(seen == {right}) for seen, right in zip(named, department, strict=True)]


def polite(completions, **_):
    """1 where the answer says please or thank you."""
    return [float(bool({"please", "thank"} & _words(text))) for text in completions]


def quoted(completions, order, **_):
    """1 where the answer quotes the order; does not apply to questions without one."""
    return [
        None if number is None else float(str(number) in _words(text))
        for text, number in zip(completions, order, strict=True)
    ]


def _words(text):  # begins with _: no objective
    return set(text.lower().replace(",", " ").replace(".", " ").split())
