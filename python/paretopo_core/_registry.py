"""All operations, in the order of their definition: each becomes a torch operator."""

from __future__ import annotations

from typing import Any

OPERATIONS: list[Any] = []  # paretopo_core._operation.Operation
