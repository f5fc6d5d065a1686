"""Arrays of other libraries in host memory, such as JAX's: read by DLPack, answered in kind.

https://data-apis.org/array-api/latest/design_topics/data_interchange.html.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from paretopo_core._machinery.dtypes import refuse_kind

_HOST = 1  # kDLCPU


def needs_dlpack(given: Any) -> bool:
    """Return True for an array that NumPy reads only by DLPack."""
    return hasattr(given, "__dlpack__") and not hasattr(given, "__array__")


def read_dlpack(given: Any, name: str) -> np.ndarray:
    """Return an array that shares the memory of another one.

    Raises:
        TypeError: it is not in host memory, or of a dtype that NumPy does not have.
    """
    if hasattr(given, "__dlpack_device__") and int(given.__dlpack_device__()[0]) != _HOST:
        raise refuse_place(given, name)
    try:
        return np.from_dlpack(given)
    except (BufferError, RuntimeError) as error:
        kind = f"a {type(given).__name__}"
        raise refuse_kind(name, kind, f", which NumPy cannot read: {error}") from None


def refuse_place(given: Any, name: str) -> TypeError:
    """Return the error for an array that must be in host memory."""
    kind = type(given).__name__
    return TypeError(f"{name} is a {kind} outside host memory: copy it to the CPU first")


def namespace_of(points: Any) -> Any:
    """Return the functions of the library of an array in host memory; None for NumPy's own.

    Libraries of the array API standard name them; results of others stay NumPy's.
    """
    namespace = getattr(points, "__array_namespace__", None)  # torch takes long to say the others
    if namespace is None or isinstance(points, np.ndarray):
        return None
    return None if hasattr(points, "__cuda_array_interface__") else namespace()


def convert_results(results: Any, namespace: Any) -> Any:
    """Return results as arrays of another library.

    A library may have no float64, as JAX by default, and rounds then to its own widest dtype.
    """
    if not isinstance(results, tuple):
        return namespace.asarray(results)
    parts = [namespace.asarray(part) for part in results]
    return type(results)(*parts) if hasattr(results, "_fields") else tuple(parts)
