"""The two recipes: every switch in which they differ.

"paper" is Algorithm 1 of arXiv 2606.16111 to the letter; "recommended" is what ``docs/study``
supports.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from paretopo.config.keys import check_section

BY_RECIPE = "by recipe"

# Recipe, section, switch. Both recipes fill the same switches.
RECIPES: MappingProxyType[str, MappingProxyType[str, MappingProxyType[str, Any]]] = (
    MappingProxyType(
        {
            "recommended": MappingProxyType(
                {
                    "paretopo": MappingProxyType(
                        {
                            "stage1_steps": 0,
                            "stage2_estimator": "hypervolume_gd2po",
                            "reference": "zero",
                            "multiplier_on": "advantage",
                            "centre": "mean",
                            "gate": "success",
                            "group_filter": "vector",
                        }
                    ),
                    "rewards": MappingProxyType({"evaluation_n_opt": "recompute"}),
                }
            ),
            "paper": MappingProxyType(
                {
                    "paretopo": MappingProxyType(
                        {
                            "stage1_steps": "epoch",
                            "stage2_estimator": "pareto",
                            "reference": "initial",
                            "multiplier_on": "reward",
                            "centre": "none",
                            "gate": "none",
                            "group_filter": "accuracy",
                        }
                    ),
                    "rewards": MappingProxyType({"evaluation_n_opt": "running"}),
                }
            ),
        }
    )
)


def fill_by_recipe(section: Any, name: str) -> None:
    """Give every switch that is still None its value in the section's ``recipe``.

    Args:
        section: a frozen dataclass with a ``recipe`` field.
        name: its name in the file.

    Raises:
        ConfigError: there is no such recipe.
    """
    if not isinstance(section.recipe, str) or section.recipe not in RECIPES:
        check_section(section, name)
    for switch, value in RECIPES[section.recipe][name].items():
        if getattr(section, switch) is None:
            object.__setattr__(section, switch, value)
