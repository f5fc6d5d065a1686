"""Prices of spare parts: an old catalogue, which errs more in some series, and the shop."""

import hashlib

# The share of each series' prices that has not changed since the catalogue was printed.
STILL_RIGHT = {"1": 0.12, "2": 0.36, "3": 0.56, "4": 0.76, "5": 0.92}


def catalogue(part: str) -> str:
    """Look a price up in an old catalogue. Cheap, and how often it errs depends on the series.

    Args:
        part: The number of the part, its series first, for example 1234.

    Returns:
        The price.
    """
    price = _price(part)
    changed = _draw(part, "changed") >= 1000 * STILL_RIGHT.get(part[:1], 0.0)
    return str(10 + (price + 37) % 90) if changed else str(price)


def shop(part: str) -> str:
    """Ask the shop for a price, which is always right and costs four times as much.

    Args:
        part: The number of the part, its series first, for example 1234.

    Returns:
        The price.
    """
    return str(_price(part))


catalogue.dollars = 0.01
shop.dollars = 0.04


def _price(part):
    return 10 + _draw(part, "price") % 90


def _draw(part, about):
    return int.from_bytes(hashlib.sha256(f"{about} {part}".encode()).digest()[:4], "big") % 1000
