"""The common interface of estimators: arguments, checks and result."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from paretopo.config.keys import nearest
from paretopo.controller.estimators.groups import Array, mask_out, merge_ties_of_objectives


class Estimator:
    """One method, which maps the reward vectors of groups to advantages.

    Args:
        method: ``f(rewards, weights, mask, *, switch, ...)`` on checked float64 arrays; its
            keywords are its switches of :class:`~paretopo.config.switches.ParetoPOConfig`.
        name: Its name if it is the function of another module, which has no switches.

    Attributes:
        switches: The names of its switches.
    """

    known: ClassVar[set[str]] = set()  # the switches of all estimators

    def __init__(self, method: Callable[..., Array], name: str | None = None) -> None:
        self.method = method
        self.__name__ = name or method.__name__
        self.__doc__ = method.__doc__
        self.switches = frozenset(
            switch
            for switch, parameter in inspect.signature(method).parameters.items()
            if parameter.kind is parameter.KEYWORD_ONLY and name is None
        )
        self.known.update(self.switches)

    def __call__(
        self,
        rewards: ArrayLike,
        weights: ArrayLike,
        *,
        mask: ArrayLike | None = None,
        **switches: Any,
    ) -> Array:
        """Return the advantage of every rollout.

        Args:
            rewards: (groups, points, objectives), larger is better.
            weights: (objectives,), or (groups, objectives) for those of each group.
            mask: (groups, points) bool, False for padding of ragged groups.
            **switches: Switches of any estimator; only those of :attr:`switches` have an effect, so
                one call serves every estimator.

        Returns:
            float64 (groups, points), 0 where masked.

        Raises:
            ValueError: A shape is wrong, or a reward is NaN or infinite; the message names it.
            TypeError: No estimator has such a switch.
        """
        for name in switches.keys() - self.known:
            raise TypeError(f"no estimator has a switch {name!r}; {nearest(name, self.known)}")
        vectors, factors = np.asarray(rewards, np.float64), np.asarray(weights, np.float64)
        groups, *_, objectives = vectors.shape if vectors.ndim == 3 else (-1, -1)
        if factors.shape not in ((objectives,), (groups, objectives)):
            raise ValueError(
                "rewards must have shape (groups, points, objectives) with one weight per "
                f"objective, got {vectors.shape} and weights of shape {factors.shape}: a "
                "row for all groups, or one for each"
            )
        shape = vectors.shape[:2]
        inside = np.ones(shape, np.bool_) if mask is None else np.asarray(mask)
        if inside.dtype != np.bool_ or inside.shape != shape:
            raise ValueError(
                f"mask must be bool of shape {shape}, got {inside.dtype} {inside.shape}"
            )
        if mask is not None:
            vectors = np.where(inside[..., None], vectors, 0.0)
        _refuse_broken(vectors)
        if 0 in shape:
            return np.zeros(shape)
        vectors = merge_ties_of_objectives(vectors, inside)
        used = {name: value for name, value in switches.items() if name in self.switches}
        found = self.method(vectors, factors, inside, **used)
        if getattr(found, "shape", ()) != shape:
            raise ValueError(
                f"{self.__name__} must return an array of shape (groups, points), {shape}, "
                f"got {found!r:.80}"
            )
        return mask_out(found, inside)


def _refuse_broken(rewards: Array) -> None:
    """Refuse NaN and infinity in (groups, points, objectives), with padding set to 0."""
    broken = np.argwhere(~np.isfinite(rewards))
    if not len(broken):
        return
    group, point, objective = broken[0].tolist()
    raise ValueError(
        f"rewards must be finite: rollout {point} of group {group} has "
        f"{float(rewards[group, point, objective])} in objective {objective} "
        f"({len(broken)} such values)"
    )
