"""An archive of non-dominated points in an ND-tree, compiled by numba.

Written after the paper: Jaszkiewicz and Lust (2018), "ND-Tree-based update: a fast algorithm for
the dynamic non-dominance problem", IEEE Trans. Evol. Comput. 22(5), with its sizes: leaves of 20
points, and one child more than there are objectives.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from bench.cases import Case
from bench.workloads import Array

_MOST = 20  # points of a leaf


class NdTree:
    """Keeps the members in a tree of boxes, each with its best and its worst corner."""

    def __init__(self) -> None:
        self._fill = compile_fill()
        rng = np.random.default_rng(0)
        self._fill(rng.random((10 * _MOST, 3)))  # numba compiles, which takes seconds

    def archive_members(self, case: Case) -> Callable[[], Any]:
        """Add one point after another, without volumes."""
        return partial(self._fill, case.doubles)


@cache
def compile_fill() -> Callable[[Array], Array]:
    """Return a compiled function: points (n, m), smaller is better, to members (n,), bool."""
    numba: Any = importlib.import_module("numba")

    @numba.njit
    def covers(a: Array, b: Array) -> bool:
        for k in range(len(a)):  # noqa: SIM110 (numba)
            if a[k] > b[k]:
                return False
        return True

    @numba.njit
    def distance(a: Array, b: Array) -> float:
        total = 0.0
        for k in range(len(a)):
            total += (a[k] - b[k]) ** 2
        return float(total**0.5)

    @numba.njit
    def shrink(size: Array, parent: Array, node: int, by: int) -> None:
        while node >= 0:
            size[node] -= by
            node = parent[node]

    @numba.njit
    def enclose(best: Array, worst: Array, point: Array) -> None:
        for k in range(len(point)):
            best[k] = min(best[k], point[k])
            worst[k] = max(worst[k], point[k])

    @numba.njit
    def fill(points: Array) -> Array:
        count, objectives = points.shape
        most_nodes = 2 * count + objectives + 2
        best = np.empty((most_nodes, objectives))
        worst = np.empty((most_nodes, objectives))
        parent = np.full(most_nodes, -1)
        child = np.full(most_nodes, -1)  # the first one; a leaf has none
        sibling = np.full(most_nodes, -1)
        size = np.zeros(most_nodes, np.int64)  # points below a node
        leaf = np.empty((most_nodes, _MOST + 1), np.int64)
        stack = np.empty(most_nodes, np.int64)
        nodes = 1
        for i in range(count):
            point = points[i]

            # Is the point covered? Members that it covers leave.
            is_covered = False
            stack[0] = 0
            top = 1
            while top > 0 and not is_covered:
                top -= 1
                node = stack[top]
                if size[node] == 0:
                    continue
                if covers(worst[node], point):
                    is_covered = True
                elif covers(point, best[node]):
                    shrink(size, parent, node, size[node])
                elif covers(best[node], point) or covers(point, worst[node]):
                    if child[node] < 0:
                        at = 0
                        while at < size[node]:
                            if covers(points[leaf[node, at]], point):
                                is_covered = True
                                break
                            if covers(point, points[leaf[node, at]]):
                                leaf[node, at] = leaf[node, size[node] - 1]
                                shrink(size, parent, node, 1)
                            else:
                                at += 1
                    else:
                        earlier = -1
                        each = child[node]
                        while each >= 0:
                            if size[each] > 0:
                                stack[top] = each
                                top += 1
                                earlier = each
                            elif earlier >= 0:  # an empty child is left out
                                sibling[earlier] = sibling[each]
                            each = sibling[each]
            if is_covered:
                continue

            # Descend to the nearest leaf.
            node = 0
            if size[0] == 0:
                child[0] = -1
                best[0] = point
                worst[0] = point
            while True:
                enclose(best[node], worst[node], point)
                size[node] += 1
                if child[node] < 0:
                    break
                nearest = -1
                least = np.inf
                each = child[node]
                while each >= 0:
                    if size[each] > 0:
                        gap = distance((best[each] + worst[each]) / 2, point)
                        if gap < least:
                            least = gap
                            nearest = each
                    each = sibling[each]
                node = nearest
            leaf[node, size[node] - 1] = i
            if size[node] <= _MOST:
                continue

            # Split it: the points that are farthest from each other begin the children.
            left = leaf[node, : size[node]].copy()
            first = nodes
            for _ in range(objectives + 1):
                farthest = 0
                most = -1.0
                for a in range(len(left)):
                    total = 0.0
                    if nodes == first:
                        for other in left:
                            total += distance(points[left[a]], points[other])
                    else:
                        for new in range(first, nodes):
                            total += distance(points[left[a]], points[leaf[new, 0]])
                    if total > most:
                        most = total
                        farthest = a
                begun = left[farthest]
                best[nodes] = points[begun]
                worst[nodes] = points[begun]
                leaf[nodes, 0] = begun
                size[nodes] = 1
                parent[nodes] = node
                sibling[nodes] = child[node]
                child[node] = nodes
                nodes += 1
                left = np.delete(left, farthest)
            for other in left:
                nearest = first
                least = np.inf
                for new in range(first, nodes):
                    gap = distance((best[new] + worst[new]) / 2, points[other])
                    if gap < least:
                        least = gap
                        nearest = new
                leaf[nearest, size[nearest]] = other
                size[nearest] += 1
                enclose(best[nearest], worst[nearest], points[other])

        is_member = np.zeros(count, np.bool_)
        stack[0] = 0
        top = 1
        while top > 0:
            top -= 1
            node = stack[top]
            if child[node] < 0:
                for at in range(size[node]):
                    is_member[leaf[node, at]] = True
            each = child[node]
            while each >= 0:
                if size[each] > 0:
                    stack[top] = each
                    top += 1
                each = sibling[each]
        return is_member

    return fill  # type: ignore[no-any-return]
