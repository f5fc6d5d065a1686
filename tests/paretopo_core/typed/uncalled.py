"""Functions that this program types, and does not call: a host's acceleration, and files."""

from pathlib import Path
from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import paretopo_core as pp
from paretopo_core.accelerate import Acceleration


def run(host: str) -> None:
    """Use the context manager and the object."""
    with pp.accelerate(host) as acceleration:
        assert_type(acceleration, Acceleration)
        assert_type(acceleration.replaced, tuple[str, ...])
    assert_type(acceleration.undo(), None)
    assert_type(acceleration.version, str)


def read(path: Path) -> None:
    """Read the sets of points in a file."""
    assert_type(pp.read_fronts(path), list[NDArray[np.float64]])
    assert_type(pp.read_fronts("FUN.tsv"), list[NDArray[np.float64]])
