"""Client of a search server with Search-R1's protocol: `POST /retrieve`.

`paretopo serve-search` is such a server; Search-R1's own `retrieval_server.py` is another.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from paretopo.tools.http_client import JsonClient, ServerError

DEFAULT_URL = "http://127.0.0.1:8000"

# Characters; a model can write endlessly, engines read no further, and servers refuse it.
_LONGEST_QUERY = 4000

_Waiting = tuple[str, "Future[list[Document]]"]


@dataclass(frozen=True)
class Document:
    """A passage that was found.

    Attributes:
        id: its name in the corpus.
        contents: title on the first line, text after it.
        score: how well it fits, in the unit of the server.
    """

    id: str
    contents: str
    score: float

    @property
    def title(self) -> str:
        """The first line."""
        return self.contents.split("\n", 1)[0]

    @property
    def text(self) -> str:
        """Everything after the first line."""
        return self.contents.partition("\n")[2]


class SearchClient:
    """Asks a search server; any number of threads and coroutines may ask at once.

    Single queries that come while all connections are busy travel together: one request takes
    along whatever waits, up to `batch`.

    Args:
        url: the server's address.
        topk: passages per query.
        timeout: seconds to wait for an answer.
        connections: requests at a time.
        batch: queries per request.
        retries: further attempts where the server does not answer.
        backoff: seconds before the first of them; the pauses double.

    Example:
        >>> with SearchClient("http://127.0.0.1:8000") as search:  # doctest: +SKIP
        ...     [document.title for document in search.search("longest river")]
        ['"Nile"', '"Amazon"', '"Yangtze"']
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        *,
        topk: int = 3,
        timeout: float = 60.0,
        connections: int = 4,
        batch: int = 64,
        retries: int = 5,
        backoff: float = 0.5,
    ) -> None:
        for name, value in (("topk", topk), ("connections", connections), ("batch", batch)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} must be an integer of at least 1, got {value!r}")
        self._topk, self._batch = topk, batch
        self._client = JsonClient(
            "search server",
            url,
            timeout=timeout,
            connections=connections,
            retries=retries,
            backoff=backoff,
        )
        self._waiting: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._answer_queries, name=f"search-{i}", daemon=True)
            for i in range(connections)
        ]
        self._lock = threading.Lock()
        self._closed = False
        for thread in self._threads:
            thread.start()

    def search(self, query: str) -> list[Document]:
        """Return the passages that fit a query best, best first.

        Raises:
            ServerError: the server is gone, refuses, or does not speak the protocol.
        """
        return self._submit(query).result()

    def search_all(self, queries: Sequence[str]) -> list[list[Document]]:
        """Return the best passages for each of several queries, in their order."""
        return [future.result() for future in [self._submit(query) for query in queries]]

    async def search_async(self, query: str) -> list[Document]:
        """Search like `search`, without blocking the event loop."""
        return await asyncio.wrap_future(self._submit(query))

    def close(self) -> None:
        """Answer the waiting queries, then close all connections."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            for _ in self._threads:
                self._waiting.put(None)
        for thread in self._threads:
            thread.join()
        self._client.close()

    def _submit(self, query: str) -> Future[list[Document]]:
        future: Future[list[Document]] = Future()
        with self._lock:
            if self._closed:
                raise ServerError("the SearchClient is closed")
            self._waiting.put((query[:_LONGEST_QUERY], future))
        return future

    def _answer_queries(self) -> None:
        """Run one connection's thread: take waiting queries, ask the server, return the answers."""
        last = False
        while not last and (first := self._waiting.get()) is not None:
            taken = [first]
            while len(taken) < self._batch and not last:
                try:
                    further = self._waiting.get_nowait()
                except queue.Empty:
                    break
                if further is None:
                    last = True
                else:
                    taken.append(further)
            asked = [one for one in taken if one[1].set_running_or_notify_cancel()]
            try:
                answers = self._post_queries([query for query, _ in asked]) if asked else []
            except Exception as error:
                for _, future in asked:
                    future.set_exception(error)
            else:
                for (_, future), answer in zip(asked, answers, strict=True):
                    future.set_result(answer)

    def _post_queries(self, queries: list[str]) -> list[list[Document]]:
        message = {"queries": queries, "topk": self._topk, "return_scores": True}
        reply = self._client.post("/retrieve", message)
        try:
            answers = [[_parse_document(found) for found in row] for row in reply["result"]]
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ServerError(
                f"this is no answer of a search server: {str(reply)[:200]} ({error!r})"
            ) from None
        if len(answers) != len(queries):
            raise ServerError(f"{len(answers)} answers came to {len(queries)} queries")
        return answers

    def __enter__(self) -> SearchClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _parse_document(found: Any) -> Document:
    return Document(
        str(found["document"].get("id", "")),
        str(found["document"]["contents"]),
        float(found["score"]),
    )
