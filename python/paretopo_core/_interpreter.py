"""Where the compiled core can be loaded. Imported before it, and before NumPy."""

from __future__ import annotations

import ctypes


def refuse_sub_interpreter() -> None:
    """Raise ImportError outside the main interpreter, where the compiled core would wait for ever.

    Neither pybind11 nor NumPy supports more than one interpreter in a process on every version of
    Python that this package runs on.
    """
    api = ctypes.pythonapi
    api.PyInterpreterState_Get.restype = ctypes.c_void_p
    api.PyInterpreterState_GetID.restype = ctypes.c_int64
    api.PyInterpreterState_GetID.argtypes = [ctypes.c_void_p]
    if api.PyInterpreterState_GetID(api.PyInterpreterState_Get()) != 0:
        raise ImportError(
            "paretopo_core works in the main interpreter of a process only, not in a "
            "sub-interpreter: import it there, or use threads or processes"
        )


refuse_sub_interpreter()
