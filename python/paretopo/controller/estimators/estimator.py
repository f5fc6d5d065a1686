"""The common interface of estimators: arguments, checks and result."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from paretopo.config.keys import nearest
from paretopo.controller.estimators.groups import (
    Array,
    get_library,
    mask_out,
    merge_ties_of_objectives,
)


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
        self, rewards: Array, weights: ArrayLike, *, mask: Array | None = None, **switches: Any
    ) -> Array:
        """Return the advantage of every rollout.

        Args:
            rewards: (groups, points, objectives), larger is better; NumPy, or torch on any device.
            weights: (objectives,), or (groups, objectives) for those of each group; on the host.
            mask: (groups, points) bool, False for padding of ragged groups.
            **switches: Switches of any estimator; only those of :attr:`switches` have an effect, so
                one call serves every estimator.

        Returns:
            float64 (groups, points), 0 where masked; library and device of ``rewards``.

        Raises:
            ValueError: A shape is wrong, or a reward is NaN or infinite; the message names it.
            TypeError: No estimator has such a switch.
        """
        for name in switches.keys() - self.known:
            raise TypeError(f"no estimator has a switch {name!r}; {nearest(name, self.known)}")
        library = get_library(rewards)
        vectors = np.asarray(rewards, np.float64) if library is np else rewards.double()
        factors = np.asarray(weights, np.float64)
        groups, *_, objectives = vectors.shape if vectors.ndim == 3 else (-1, -1)
        if factors.shape not in ((objectives,), (groups, objectives)):
            raise ValueError(
                "rewards must have shape (groups, points, objectives) with one weight per "
                f"objective, got {tuple(vectors.shape)} and weights of shape {factors.shape}: a "
                "row for all groups, or one for each"
            )
        inside = _mask(mask, vectors)
        if mask is not None:
            vectors = library.where(inside[..., None], vectors, 0.0)
        refuse_broken(vectors)
        if 0 in vectors.shape[:2]:
            return vectors.sum(-1)
        vectors = merge_ties_of_objectives(vectors, inside)
        used = {name: value for name, value in switches.items() if name in self.switches}
        found = self.method(vectors, factors, inside, **used)
        if tuple(getattr(found, "shape", ())) != tuple(vectors.shape[:2]):
            raise ValueError(
                f"{self.__name__} must return an array of shape (groups, points), "
                f"{tuple(vectors.shape[:2])}, got {found!r:.80}"
            )
        return mask_out(found, inside)


def refuse_broken(rewards: Array) -> None:
    """Refuse NaN and infinity.

    Args:
        rewards: (groups, points, objectives), padding set to 0.

    Raises:
        ValueError: The message names the first broken reward.
    """
    library = get_library(rewards)
    finite = library.isfinite(rewards)
    if bool(finite.all()):
        return
    broken = np.argwhere(~finite if library is np else (~finite).cpu().numpy())
    group, point, objective = (int(i) for i in broken[0])
    raise ValueError(
        f"rewards must be finite: rollout {point} of group {group} has "
        f"{float(rewards[group, point, objective])} in objective {objective} "
        f"({len(broken)} such values)"
    )


def _mask(mask: Array | None, vectors: Array) -> Array:
    library, shape = get_library(vectors), tuple(vectors.shape[:2])
    if mask is None:
        placement = {} if library is np else {"device": vectors.device}
        return library.ones(
            shape, dtype=library.bool_ if library is np else library.bool, **placement
        )
    inside = mask if get_library(mask) is library else library.asarray(mask)
    if library is not np:
        inside = inside.to(vectors.device)
    kind = str(inside.dtype).removeprefix("torch.")
    if kind != "bool" or tuple(inside.shape) != shape:
        raise ValueError(f"mask must be bool of shape {shape}, got {kind} {tuple(inside.shape)}")
    return inside
