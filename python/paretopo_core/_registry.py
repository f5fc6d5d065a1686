"""Every operation, in the order in which families define them: each becomes a torch operator."""

from __future__ import annotations

from typing import Any

OPERATIONS: list[Any] = []  # paretopo_core._operation.Operation
