"""Plot the trainings with limits: ``python research/smollm2/plot_limits.py``.

Writes docs/images/smollm2_limits.png from the records that train with a falling learning rate.
"""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

HERE = Path(__file__).parent
PICTURE = HERE.parents[1] / "docs" / "images" / "smollm2_limits.png"
WINDOW = 16  # steps over which a curve averages


def main() -> None:
    """Draw the calls of all steps, and the right answers of the last policies."""
    lines = (HERE / "limits.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["schedule"] == "cosine"]
    figure, (steps, front) = plt.subplots(1, 2, figsize=(10, 3.8))
    for row, colour in zip(
        rows, plt.colormaps["viridis"](np.linspace(0, 0.85, len(rows))), strict=True
    ):
        mean = np.convolve(row["mean"], np.full(WINDOW, 1 / WINDOW), "valid")
        label = f"at most {row['limit']:g}"
        steps.plot(np.arange(len(mean)) + WINDOW, mean, color=colour, label=label)
        steps.axhline(row["limit"], color=colour, linestyle=":", linewidth=1)
        last = row["held_out"]
        right = last["correct"]
        error = np.sqrt(right * (1 - right) / last["answers"])
        front.errorbar(
            last["calls"], 100 * right, 100 * error, last["error"], "o", color=colour, capsize=2
        )
        front.axvline(row["limit"], color=colour, linestyle=":", linewidth=1)
    steps.set(xlabel="step", ylabel=f"calls per problem (mean of {WINDOW} steps)", xlim=(0, 480))
    steps.legend(fontsize=8, loc="upper right", ncol=2)
    front.set(xlabel="calls per held-out problem", ylabel="right answers (%)")
    for axes in (steps, front):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.2)
    figure.tight_layout()
    figure.savefig(PICTURE, dpi=90)


if __name__ == "__main__":
    main()
