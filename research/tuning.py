"""The rule that chooses the settings of each method from the records of ``tuning.toml``."""

from __future__ import annotations

from paretopo_lab.study.analysis import Results


def choose_settings(results: Results, measure: str) -> dict[str, str]:
    """Choose each method's variant, ``method+switch+...``, with the best mean worst case.

    Args:
        results: Of a study whose methods are such variants; the first named wins among equals.
        measure: "hypervolume" or "preference".

    Returns:
        Method → its variant.
    """
    best: dict[str, tuple[float, str]] = {}
    for variant in results.plan.study.methods:
        method, worst = variant.partition("+")[0], results.worst(variant, measure=measure).mean()
        if method not in best or worst > best[method][0]:
            best[method] = worst, variant
    return {method: variant for method, (_, variant) in best.items()}
