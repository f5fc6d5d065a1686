"""verl's plug-in: the entry point ``paretopo`` of the group ``verl.plugins``.

verl drops the error of a failed plug-in (it only logs it for debugging) and then lacks our
trainers. This module therefore prints the error on the error stream of every process.
"""

from __future__ import annotations

import sys

from paretopo.integrations.verl.version import verl_version

try:
    verl_version()
    from paretopo.integrations.verl import agent_loop, trainer  # noqa: F401
except Exception as error:
    print(
        f"paretopo: the plug-in for verl failed, and verl has none of its trainers and "
        f"estimators: {type(error).__name__}: {error}",
        file=sys.stderr,
        flush=True,
    )
    raise
