"""Work in threads, in batches: items that wait for a thread are worked on together."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Batches(Generic[Item, Result]):
    """Maps items to results; any number of threads may submit items at once.

    Threads that are free share the waiting items evenly.

    Args:
        work: Maps the items of a batch to their results, in order.
        threads: Number of batches at a time.
        most: Largest number of items in a batch.
        name: Name of the threads.

    >>> squares = Batches(lambda numbers: [one**2 for one in numbers], 2, 64, "squares")
    >>> [future.result() for future in squares.submit([3, 4])]
    [9, 16]
    >>> squares.close()
    """

    def __init__(
        self, work: Callable[[list[Item]], Sequence[Result]], threads: int, most: int, name: str
    ) -> None:
        self._work, self._most = work, most
        self._count = self._free = threads
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._waiting: list[tuple[Item, Future[Result]]] = []
        self._lock = threading.Lock()

    def submit(self, items: Sequence[Item]) -> list[Future[Result]]:
        """Return the future result of each item; a future that is cancelled in time costs nothing.

        Raises:
            RuntimeError: The threads were closed.
        """
        futures: list[Future[Result]] = [Future() for _ in items]
        with self._lock:
            for _ in items[: self._count]:  # each works until no item waits
                self._threads.submit(self._work_on_waiting)
            self._waiting += zip(items, futures, strict=True)
        return futures

    def close(self) -> None:
        """Finish the waiting items and end the threads."""
        self._threads.shutdown()

    def _work_on_waiting(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    return
                size = min(self._most, -(-len(self._waiting) // self._free))
                taken, self._waiting = self._waiting[:size], self._waiting[size:]
                self._free -= 1
            batch = [one for one in taken if one[1].set_running_or_notify_cancel()]
            try:
                results = self._work([item for item, _ in batch]) if batch else []
                for (_, future), result in zip(batch, results, strict=True):
                    future.set_result(result)
            except Exception as error:
                for _, future in batch:
                    future.set_exception(error)
            finally:
                with self._lock:
                    self._free += 1
