"""Rewards of the help desk's answers: a function for each objective of train.toml.

As TRL takes them: lists in, a value for each rollout, with the columns of the questions by name.
"""

import re

DEPARTMENTS = {"billing", "delivery", "repairs"}


def routed(completions, department, **_):
    """1 where the answer names the right department, and no other."""
    named = [DEPARTMENTS & _words(text) for text in completions]
    return [float(seen == {right}) for seen, right in zip(named, department, strict=True)]


def polite(completions, **_):
    """1 where the answer says please or thank you."""
    return [float(bool({"please", "thank"} & _words(text))) for text in completions]


def greets(completions, greeting, **_):
    """1 where the answer greets back; does not apply to questions without a greeting."""
    return [
        float("hello" in _words(text)) if greeted else None
        for text, greeted in zip(completions, greeting, strict=True)
    ]


def _words(text):  # begins with _: no objective
    return set(re.findall("[a-z]+", text.lower()))
