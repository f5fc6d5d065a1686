"""The one place that knows NumPy from torch: checks, addresses, allocation, stream."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from paretopo_core import _core
from paretopo_core._senses import Maximise, minimised_of, signs_of

# A NumPy array, or a torch tensor on CPU or CUDA: what goes in decides what comes out.
ArrayT = TypeVar("ArrayT")

_MOST_POINTS = 2**31 - 1
_EXACT_IN_FLOAT64 = 2**53
_FLOATS = ("float32", "float64")
_HALVES = ("float16", "bfloat16")
_INTEGERS = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


@dataclass(slots=True)  # not frozen: that alone would cost a tenth of a small call
class Batch:
    """Checked, contiguous points and where they live."""

    values: Any  # (..., points, objectives)
    mask: Any  # (..., points) of bytes, or None
    minimised: int  # bit m: smaller is better in objective m
    device: int  # _core.CPU, or the CUDA device index
    stream: int  # address of the CUDA stream, 0 on the CPU
    signs: np.ndarray | None = None  # (objectives,), what `values` were multiplied by

    @staticmethod
    def of(
        points: Any, *, name: str = "points", maximise: Maximise = True, mask: Any = None
    ) -> Batch:
        """Check one argument after the other; copy only what is not contiguous float."""
        torch = _torch_of(points)
        if torch is not None:
            values = _torch_values(torch, points, name)
        else:
            values = _numpy_values(points, name)
        shape = tuple(values.shape)
        if len(shape) < 2:
            raise ValueError(
                f"{name} must have shape (..., points, objectives), got {shape}; "
                f"one set of points is {name}.reshape(-1, objectives)"
            )
        if shape[-1] == 0:
            raise ValueError(f"{name} has no objectives: shape {shape}")
        if shape[-2] > _MOST_POINTS or shape[-1] > _MOST_POINTS:
            raise ValueError(
                f"{name} must have at most {_MOST_POINTS} points and objectives, got shape {shape}"
            )
        minimised = minimised_of(maximise, shape[-1])
        signs = None
        if minimised >> 64:  # the compiled core keeps one bit for each of 64 objectives
            signs = signs_of(minimised, shape[-1])
            values = values * (
                torch.from_numpy(signs).to(values) if torch else signs.astype(values.dtype)
            )
            minimised = 0
        if mask is not None:
            mask = _mask(torch, mask, values)
        if torch is None or values.device.type == "cpu":
            return Batch(values, mask, minimised, _core.CPU, 0, signs)
        stream = torch.cuda.current_stream(values.device).cuda_stream
        return Batch(values, mask, minimised, values.device.index, stream, signs)

    @property
    def leading(self) -> tuple[int, ...]:
        """The batch dimensions."""
        return tuple(self.values.shape[:-2])

    @property
    def points(self) -> int:
        """Points in each group."""
        return int(self.values.shape[-2])

    @property
    def objectives(self) -> int:
        """Objectives of each point."""
        return int(self.values.shape[-1])

    @property
    def is_on_cuda(self) -> bool:
        """Whether the points live on a GPU."""
        return self.device != _core.CPU

    @property
    def float_name(self) -> str:
        """The dtype the values are computed in: float32 or float64."""
        return "float32" if self.values.dtype.itemsize == 4 else "float64"

    def empty(self, shape: tuple[int, ...], dtype: str) -> Any:
        """Uninitialised output beside the points: same library, same device."""
        if isinstance(self.values, np.ndarray):
            return np.empty(shape, dtype)
        torch = sys.modules["torch"]
        return torch.empty(shape, dtype=getattr(torch, dtype), device=self.values.device)

    def vector(self, numbers: np.ndarray) -> Any:
        """A small float64 vector, moved beside the points in their dtype."""
        if isinstance(self.values, np.ndarray):
            return numbers if self.values.itemsize == 8 else numbers.astype(np.float32)
        torch = sys.modules["torch"]
        return torch.from_numpy(numbers).to(self.values)

    def reference(self, ref: Any) -> np.ndarray:
        """The reference point, turned as the values are."""
        corner = vector_of(ref, self.objectives, "ref", scalar=True)
        return corner if self.signs is None else corner * self.signs

    def view(self) -> _core.Points:
        """The points as the compiled core sees them; valid while this batch lives."""
        if isinstance(self.values, np.ndarray):
            return _core.points_of(self.values, self.mask, self.minimised)
        return _core.Points(
            address=address(self.values),
            mask=0 if self.mask is None else address(self.mask),
            groups=math.prod(self.leading),
            points=self.points,
            objectives=self.objectives,
            minimised=self.minimised,
            itemsize=int(self.values.dtype.itemsize),
            device=self.device,
            stream=self.stream,
        )


def address(array: Any) -> int:
    """Where the first element lives, in host or device memory."""
    return _core.address(array) if isinstance(array, np.ndarray) else int(array.data_ptr())


def need_cpu(batch: Batch, operation: str) -> None:
    """Refuse a GPU tensor where an operation runs on the CPU only.

    Copying it silently would make the host wait for the GPU behind the caller's back.
    """
    if batch.is_on_cuda:
        raise TypeError(
            f"{operation} runs on the CPU, but points live on CUDA device {batch.device}: pass "
            "points.cpu() and move the result back"
        )


def numbers_of(numbers: Any, name: str) -> np.ndarray:
    """A float64 copy of any shape."""
    is_tensor = _torch_of(numbers) is not None
    is_array = isinstance(numbers, np.ndarray)
    if numbers.is_complex() if is_tensor else is_array and numbers.dtype.kind == "c":
        raise TypeError(f"{name} must be real numbers, got dtype {numbers.dtype}")  # no warning
    if is_tensor:
        numbers = numbers.detach().cpu().double().numpy()
    try:
        return np.array(numbers, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be numbers, got {numbers!r}") from error


def vector_of(numbers: Any, objectives: int, name: str, *, scalar: bool) -> np.ndarray:
    """A finite float64 vector with one number per objective.

    A scalar stands for all objectives if ``scalar``.
    """
    vector = numbers_of(numbers, name)
    if vector.ndim == 0 and scalar:
        vector = np.array([vector] * objectives)
    if vector.shape != (objectives,):
        expected = f"a number or shape ({objectives},)" if scalar else f"shape ({objectives},)"
        raise ValueError(
            f"{name} must be {expected}, one number per objective, got shape {vector.shape}"
        )
    values = vector.tolist()  # on a few numbers Python is quicker than NumPy
    if not math.isfinite(sum(values)) and not all(map(math.isfinite, values)):
        raise ValueError(f"{name} must be finite, got {values}")
    return vector


def _torch_of(array: Any) -> Any:
    """The torch module if ``array`` is a tensor; one exists only if torch was imported."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and isinstance(array, torch.Tensor) else None


def _numpy_values(points: Any, name: str) -> np.ndarray:
    if type(points) is np.ndarray and points.dtype.char in "fd":  # the usual case, without detours
        flags = points.flags
        if flags.c_contiguous and flags.aligned and points.dtype.isnative:
            return points
    if isinstance(points, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array: pass {name}.data and mask=~{name}.mask[..., 0]")
    try:
        array = np.asarray(points)
    except ValueError as error:
        raise ValueError(f"{name} must be a rectangular array of numbers: {error}") from error
    dtype = array.dtype.name
    if not isinstance(points, np.ndarray) and not hasattr(points, "__array__"):
        array, dtype = _from_list(array, name)
    if dtype in _HALVES:
        array = array.astype(np.float32)
    elif dtype in _INTEGERS:
        array = _widened(array, name)
    elif dtype not in _FLOATS:
        raise TypeError(f"{name} must hold real numbers of at most 64 bits, got dtype {dtype}")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if not (array.flags.c_contiguous and array.flags.aligned):
        array = np.array(array, order="C")
    return array


def _from_list(array: np.ndarray, name: str) -> tuple[np.ndarray, str]:
    """Python's numbers become float64; a list of arrays is what an array of them would be."""
    if array.dtype.name in _INTEGERS and array.size:
        array = _widened(array, name)
    elif array.dtype.name == "object" or not np.issubdtype(array.dtype, np.number):
        if array.size:
            raise TypeError(f"{name} must hold real numbers, got dtype {array.dtype.name}")
        array = array.astype(np.float64)
    elif array.size == 0:
        array = array.astype(np.float64)
    return array, array.dtype.name


def _widened(array: np.ndarray, name: str) -> np.ndarray:
    if array.dtype.itemsize == 8 and array.size:
        _check_exact(int(array.min()), int(array.max()), name)
    return array.astype(np.float64)


def _check_exact(lowest: int, highest: int, name: str) -> None:
    if lowest <= -_EXACT_IN_FLOAT64 or highest >= _EXACT_IN_FLOAT64:
        raise ValueError(
            f"{name} holds integers from {lowest} to {highest}, beyond what float64 holds exactly "
            "(2**53): their order would be lost; shift or scale them first"
        )


def _torch_values(torch: Any, points: Any, name: str) -> Any:
    dtype = str(points.dtype).removeprefix("torch.")
    if points.layout != torch.strided or points.is_quantized:
        raise TypeError(f"{name} must be a dense tensor, got layout {points.layout}")
    if points.device.type not in ("cpu", "cuda"):
        raise TypeError(f"{name} must live on CPU or CUDA, got device {points.device}")
    values = points.detach().resolve_neg()
    if dtype in _HALVES:
        values = values.float()
    elif dtype in _INTEGERS:
        is_wide = values.dtype.itemsize == 8
        values = values.double()
        if is_wide and values.numel() and values.device.type == "cpu":  # a GPU would have to wait
            _check_exact(int(values.min()), int(values.max()), name)
    elif dtype not in _FLOATS:
        raise TypeError(f"{name} must hold real numbers of at most 64 bits, got dtype {dtype}")
    return values.contiguous()


def _mask(torch: Any, mask: Any, values: Any) -> Any:
    """One byte per point, beside the points, broadcast over leading dimensions."""
    expected = tuple(values.shape[:-1])
    if torch is not None:
        if _torch_of(mask) is None:
            mask = torch.as_tensor(np.asarray(mask))
        if mask.dtype != torch.bool:
            raise TypeError(f"mask must be of dtype bool, got {mask.dtype}")
        _check_mask_shape(tuple(mask.shape), expected)
        return mask.detach().to(values.device).expand(expected).contiguous().view(torch.uint8)
    array = np.asarray(mask)
    if array.dtype != np.bool_:
        raise TypeError(f"mask must be of dtype bool, got {array.dtype.name}")
    _check_mask_shape(array.shape, expected)
    return np.ascontiguousarray(np.broadcast_to(array, expected)).view(np.uint8)


def _check_mask_shape(shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    fits = len(shape) <= len(expected) and all(
        ours in (1, theirs)
        for ours, theirs in zip(reversed(shape), reversed(expected), strict=False)
    )
    if not fits or not shape or shape[-1] != expected[-1]:
        raise ValueError(f"mask must have shape {expected}, one bool per point, got {shape}")
