"""A held-out evaluation on its way to the controller, and the row that records it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from paretopo.controller.two_stages import ParetoPO
from paretopo.rewards.scoring import CallScores, Scored
from paretopo.run.jsonl import Row


def observe(
    controller: ParetoPO,
    scores: CallScores,
    scored: Sequence[Scored],
    vectors: NDArray[np.float64],
    response_tokens: Sequence[float],
) -> tuple[Row, NDArray[np.float64]]:
    """Hand an evaluation to the controller.

    Args:
        controller: Gates the vectors and takes their mean in.
        scores: Scores the evaluation, and all earlier ones, by what is known now.
        scored: One rollout per held-out row.
        vectors: (rows, 2) correctness and economy, not gated.
        response_tokens: (rows,) tokens that the policy wrote.

    Returns:
        What ``evaluations.jsonl`` keeps, without step, phase and seconds; and the vectors it goes
        by, (rows, 2), not gated.
    """
    vectors, before = scores.evaluated(scored, vectors)
    outcome = controller.gate(vectors).mean(axis=0)
    earlier = None if before is None else controller.gate(before).mean(axis=1)
    signal = controller.observe(outcome, earlier=earlier)
    archive = controller.archive
    row: Row = {
        "stage": controller.stage,
        **averages(scored),
        "economy": float(vectors[:, 1].mean()),
        "outcome": outcome.tolist(),
        "response_tokens": float(np.mean(response_tokens)),
        "gain": signal.gain,
        "smoothed_gain": signal.smoothed_gain,
        "multiplier": signal.multiplier,
        "archived": signal.archived,
        "archive_size": 0 if archive is None else len(archive.points),
        "hypervolume": signal.hypervolume,
        "by_kind": {
            kind: averages([one for one in scored if one.kind == kind])
            for kind in sorted({one.kind for one in scored})
        },
    }
    if earlier is not None:
        row["rescored"] = earlier.tolist()
    return row, vectors


def averages(scored: Sequence[Scored]) -> dict[str, float]:
    """Share of right answers, and calls per rollout."""
    return {
        "accuracy": float(np.mean([one.solved for one in scored])),
        "calls": float(np.mean([one.calls for one in scored])),
    }
