"""What a spare part costs: an old catalogue, which often errs, and the shop, which never does."""

import hashlib


def catalogue(part: str) -> str:
    """Look a price up in an old catalogue. A quarter of the prices have changed since.

    Args:
        part: The number of the part.

    Returns:
        The price.
    """
    changed = _number(part, "changed") % 4 == 0
    return str(10 + (_price(part) + 37) % 90) if changed else str(_price(part))


def shop(part: str) -> str:
    """Ask the shop for a price, which is always right.

    Args:
        part: The number of the part.

    Returns:
        The price.
    """
    return str(_price(part))


catalogue.dollars = 0.02
shop.dollars = 0.04


def _price(part):
    return 10 + _number(part, "price") % 90


def _number(part, about):
    return int.from_bytes(hashlib.sha256(f"{about} {part}".encode()).digest()[:4], "big")
