"""What an answer is worth: a function for each objective that is not measured without one."""


def correct(completions, answer, **_):
    """1 where what is written last is the right option."""
    said = [text.strip()[-1:] for text in completions]
    return [float(one == right) for one, right in zip(said, answer, strict=True)]
