"""Write the types of paretopo_core's public functions, as overloads.

Usage: make_stub.py [FOLDER]

The stubs are ``__init__.pyi`` and, with the other default of ``maximise``, ``minimise.pyi``. A
build runs this for the wheel. Without FOLDER they go into the checkout, where git ignores them.

The annotations of the functions are the source. The type of a result depends on the points, as
python/paretopo_core/_machinery/types.py says. Each function gets one signature for each case.
"""

from __future__ import annotations

import ast
import copy
import re
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "python" / "paretopo_core"
HEADER = '''"""Written by scripts/make_stub.py."""

# An array whose dtype is Any fits several signatures: its result is Any.
# mypy: disable-error-code="overload-overlap"

import os
from collections.abc import Sequence
from typing import Any, Literal, TypeVar, overload

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

'''
TYPES = """
_TensorT = TypeVar("_TensorT")
_SeriesT = TypeVar("_SeriesT")
_FrameT = TypeVar("_FrameT", bound=PandasFrame[Any] | PolarsFrame[Any])
_Single = NDArray[np.float16] | NDArray[np.float32]
_Double = (
    NDArray[np.float64]
    | NDArray[np.integer[Any]]
    | NDArray[np.bool_]
    | Sequence[Sequence[float]]
    | Sequence[Sequence[Sequence[float]]]
)
"""
KINDS = ("PerPoint", "PerValue", "PerObjective", "PerSet", "PerPair", "Array")
OWN = "np.floating[Any]"  # float32 for points of at most 32 bits, else float64
FLAGS = ("return_ranks", "return_gradient")  # which add to the result
FRAME = "PandasFrame[Any] | PolarsFrame[Any]"


def parse(module: str) -> ast.Module:
    """Return the tree of a module of the package."""
    path = PACKAGE.joinpath(*module.split(".")[1:])
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8"))


def list_public() -> dict[str, str]:
    """Return each public name with its module, in the order of ``__init__.py``."""
    tree = parse("paretopo_core")
    [names] = [
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    ]
    modules = {
        alias.name: node.module
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    return {name: modules[name] for name in names}


def list_cases(returns: str) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield the points of each case, the dtype of results of the points' own, and their types."""
    kinds = {kind for kind in KINDS if re.search(rf"\b{kind}\[", returns)}
    yield "TensorLike[_TensorT]", "", dict.fromkeys(KINDS, "_TensorT")
    array = dict.fromkeys(KINDS, "NDArray[{}]")
    either = {**array, "PerSet": "{0} | NDArray[{0}]", "PerPair": "{0} | NDArray[{0}]"}
    if "PerPoint" in kinds:
        points = "PandasFrame[_SeriesT] | PolarsFrame[_SeriesT]"
        yield points, OWN, {**array, "PerPoint": "_SeriesT"}
    if "PerValue" in kinds:
        yield "_FrameT", OWN, {**array, "PerValue": "_FrameT"}
    if "PerObjective" in kinds:
        yield "PandasFrame[_SeriesT]", OWN, {**array, "PerObjective": "_SeriesT"}
    if "PerSet" in kinds:
        yield f"OneSet | {FRAME}", OWN, {**array, "PerSet": "{}"}
        yield "ManySets", OWN, array
    if OWN in returns:
        yield "_Single", "np.float32", either
        yield "_Double", "np.float64", either
    yield "ArrayLike", OWN, either


def expand(returns: str, own: str, types: dict[str, str]) -> str:
    """Return a type with the kinds of results replaced by those of a case."""

    def of_case(found: re.Match[str]) -> str:
        dtype = own if found[2] == OWN else found[2]
        return types[found[1]].format(dtype)

    return re.sub(rf"\b({'|'.join(KINDS)})\[(np\.\w+(?:\[Any\])?)\]", of_case, returns)


def list_flags(function: ast.FunctionDef, returns: str) -> Iterator[tuple[str, str]]:
    """Yield the type of a flag of ``FLAGS`` and that of the result, where a function has one."""
    if not any(each.arg in FLAGS for each in function.args.kwonlyargs):
        yield "", returns
        return
    plain, both = returns.split(" | ", 1)
    yield from (("Literal[False]", plain), ("Literal[True]", both), ("bool", returns))


def write_signature(function: ast.FunctionDef, points: str, flag: str, returns: str) -> str:
    """Return one signature."""
    one = copy.deepcopy(function)
    for place, each in enumerate(one.args.kwonlyargs):
        if each.arg in FLAGS:
            each.annotation = ast.parse(flag, mode="eval").body
            if flag != "Literal[False]":  # the default
                one.args.kw_defaults[place] = None
    for each in one.args.args:
        if each.annotation and ast.unparse(each.annotation) == "Points":
            each.annotation = ast.parse(points, mode="eval").body
    # A type checker refuses other arguments by itself, and `help` does not show them, either.
    one.decorator_list, one.args.vararg, one.args.kwarg = [], None, None
    one.returns = ast.parse(returns, mode="eval").body
    one.body = [ast.Expr(ast.Constant(...))]
    return ast.unparse(one)


def find_function(tree: ast.Module, name: str) -> ast.FunctionDef:
    """Return a function of a module, or the inner one of the factory that makes it."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return node
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            factory = find_function(tree, ast.unparse(node.value).partition("(")[0])
            [inner] = [each for each in factory.body if isinstance(each, ast.FunctionDef)]
            inner = copy.deepcopy(inner)
            inner.name = name
            return inner
    raise ValueError(f"{name} is no function of its module")


def write_function(module: str, name: str) -> str:
    """Return the signatures of a function, with the choices of its options spelt out."""
    tree = parse(module)
    function = find_function(tree, name)
    choices = {
        ast.unparse(node.targets[0]): node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("Literal[")
    }
    for each in (*function.args.args, *function.args.kwonlyargs):
        if each.annotation and ast.unparse(each.annotation) in choices:
            each.annotation = choices[ast.unparse(each.annotation)]
    returns = ast.unparse(function.returns) if function.returns else "None"
    if not any(
        each.annotation and ast.unparse(each.annotation) == "Points" for each in function.args.args
    ):
        return write_signature(function, "", "", returns)
    return "\n".join(
        f"@overload\n{write_signature(function, points, flag, expand(result, own, types))}"
        for flag, result in list_flags(function, returns)
        for points, own, types in list_cases(result)
    )


def make_stub() -> str:
    """Return the text of the stub."""
    public = list_public()
    functions, classes = [], {}
    for name, module in public.items():
        if name[0].isupper():
            classes[name] = module
        elif name != "__version__":
            functions.append(write_function(module, name))
    names = ", ".join(map(repr, public))
    body = "\n".join(functions)
    lines = [HEADER]
    for name, module in classes.items():
        lines.append(f"from {module} import {name} as {name}\n")
    lines.append("from paretopo_core._machinery.senses import Maximise\n")
    ours = (
        "ManySets",
        "Mask",
        "OneSet",
        "PandasFrame",
        "Points",
        "PolarsFrame",
        "Rng",
        "TensorLike",
        "Vector",
    )
    used = [name for name in ours if re.search(rf"\b{name}\b", body + TYPES)]
    lines.append(f"from paretopo_core._machinery.types import {', '.join(used)}\n")
    lines.append("from paretopo_core.accelerate import Acceleration\n")
    lines += [TYPES, f"\n__all__ = [{names}]\n__version__: str\n\n", body, "\n"]
    lines.append("def __dir__() -> list[str]: ...\n")
    return "".join(lines)


def main() -> None:
    """Write the stubs."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else PACKAGE
    text = make_stub()
    for name, default in (("__init__", True), ("minimise", False)):
        turned = text.replace("maximise: Maximise=True", f"maximise: Maximise={default}")
        (folder / f"{name}.pyi").write_text(turned, encoding="utf-8")


if __name__ == "__main__":
    main()
