"""Read the curves that a run wrote for TensorBoard."""

from __future__ import annotations

import importlib.util

from paretopo.records.folder import RunFolder

HAS_TENSORBOARD = importlib.util.find_spec("tensorboard") is not None


def read_curves(run: RunFolder) -> dict[str, list[tuple[int, float]]]:
    """(step, value) of each tag, in order; a tag without a point is left out."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    # 0 keeps every point; as it stands, some of many would be drawn by chance.
    events = EventAccumulator(str(run.path / "tensorboard"), size_guidance={"scalars": 0})
    events.Reload()
    curves = {tag: events.Scalars(tag) for tag in events.Tags()["scalars"]}
    return {tag: [(at.step, at.value) for at in curve] for tag, curve in curves.items() if curve}
