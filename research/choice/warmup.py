"""Rollouts to imitate: division digit by digit at length, once, shortly, or a guess."""

import itertools


def demonstrate(random, digits, **_):
    """What is left by 3 after each digit; the last is the answer."""
    left = list(
        itertools.accumulate([0, *digits], lambda before, digit: (10 * before + digit) % 3)
    )[1:]
    shortly = "".join(map(str, left))
    once = f"{''.join(map(str, digits))} {shortly}"
    ways = [f"{once} {once}", once, shortly, str(random.randrange(3))]
    return random.choices(ways, [0.4, 0.2, 0.15, 0.25])[0]
