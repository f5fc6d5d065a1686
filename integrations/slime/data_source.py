"""slime's own data source with our session; for ``--data-source-path``."""

from __future__ import annotations

from slime.data.data_source import RolloutDataSourceWithBuffer

from paretopo.integrations.slime.hooks import SessionSource


class DataSource(SessionSource, RolloutDataSourceWithBuffer):
    """Prompts as slime hands them out, and the state of the session beside its checkpoints."""
