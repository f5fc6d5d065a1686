"""Accepted dtypes: floats unchanged, other numbers widened exactly or refused."""

from __future__ import annotations

from paretopo_core._machinery.shapes import check_per_point

FLOATS = ("float32", "float64")
HALVES = ("float16", "bfloat16")
INTEGERS = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
_EXACT_IN_FLOAT64 = 2**53


def check_exact(lowest: int, highest: int, name: str) -> None:
    """Refuse integers whose order float64 would lose."""
    if lowest <= -_EXACT_IN_FLOAT64 or highest >= _EXACT_IN_FLOAT64:
        least, most = map(_in_short, (lowest, highest))
        raise ValueError(
            f"{name} holds integers from {least} to {most}, which float64 cannot hold exactly "
            "(2**53): their order would be lost; shift or scale them first"
        )


def _in_short(number: int) -> str:
    bits = abs(number).bit_length()
    return str(number) if bits <= 64 else f"{'-' * (number < 0)}2**{bits - 1}"


def refuse_kind(name: str, kind: str, hint: str = "") -> TypeError:
    """Return the error for anything but real numbers."""
    return TypeError(f"{name} must be real numbers of at most 64 bits, got {kind}{hint}")


def check_range(lowest: int, highest: int) -> None:
    """Refuse ranks that 32 bits do not hold."""
    if lowest < -(2**31) or highest >= 2**31:
        raise ValueError(f"ranks must be from -2**31 to 2**31 - 1, got {lowest} to {highest}")


def check_ranks(dtype: str, shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    """Refuse ranks that are not one whole number per point."""
    if dtype not in INTEGERS or dtype == "bool":
        raise TypeError(f"ranks must be integers, got dtype {dtype}")
    check_per_point(shape, expected, "ranks", "integer")
