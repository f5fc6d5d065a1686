import numpy as np
import pytest

import paretopo_core as pp

matplotlib = pytest.importorskip("matplotlib")


def test_a_title_and_a_long_legend_stay_in_the_picture():
    matplotlib.use("Agg")
    rng, ax = np.random.default_rng(0), None
    for number in range(10):
        ax = pp.plot_front(rng.random((12, 2)), label=f"run {number}", ax=ax)
    title = ax.figure.suptitle("Ten runs")
    ax.figure.canvas.draw()
    legend, above = ax.get_legend().get_window_extent(), title.get_window_extent()
    assert legend.y1 <= above.y0
    assert above.y1 <= ax.figure.bbox.y1
    matplotlib.pyplot.close(ax.figure)
