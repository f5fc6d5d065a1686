"""The tools as functions for TRL's `tools=`, for models whose chat template can call tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from paretopo.protocols.search_r1 import format_documents
from paretopo.protocols.torl import format_observation
from paretopo.tools.python_interpreter import ProgramResult
from paretopo.tools.search import Document


class _RunsPrograms(Protocol):
    def run(self, code: str) -> ProgramResult: ...


class _Searches(Protocol):
    def search(self, query: str) -> list[Document]: ...


def make_python_tool(interpreter: _RunsPrograms) -> Callable[[str], str]:
    """Return a function `python` that runs a program and returns its output, shortened as in ToRL.

    Args:
        interpreter: A `PythonInterpreter` or `SandboxFusion`.
    """

    # The model sees the docstring of the inner function as the description.
    def python(code: str) -> str:
        """Runs a Python program. Only its printed output is seen.

        Args:
            code: The program, for example print(2**64).

        Returns:
            The printed output, or the error.
        """
        return format_observation(interpreter.run(code))

    return python


def make_search_tool(client: _Searches) -> Callable[[str], str]:
    """Return a function `search` that maps a query to passages, numbered as in Search-R1.

    Args:
        client: A `SearchClient`.
    """

    def search(query: str) -> str:
        """Searches an encyclopedia.

        Args:
            query: What to look for, for example capital of Norway.

        Returns:
            The passages that fit best.
        """
        return format_documents(client.search(query)).strip()

    return search
