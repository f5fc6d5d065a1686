"""Rewards: a function for each objective that paretopo does not measure itself."""


def correct(completions, answer, **_):
    """Return 1 for each completion that ends with the right option, else 0."""
    said = [text.strip()[-1:] for text in completions]
    return [float(one == right) for one, right in zip(said, answer, strict=True)]
