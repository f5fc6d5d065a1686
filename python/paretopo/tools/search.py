"""Client of a search server with Search-R1's protocol: `POST /retrieve`.

`paretopo serve-search` is such a server; Search-R1's own `retrieval_server.py` is another.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paretopo.tools.batches import Batches

if TYPE_CHECKING:
    import httpx

DEFAULT_URL = "http://127.0.0.1:8000"

# Characters; a model can write endlessly, engines read no further, and servers refuse it.
_LONGEST_QUERY = 4000

_RETRIED = frozenset({429, 502, 503, 504})  # the server is there, or nearly, and asks for patience


class ServerError(RuntimeError):
    """The server is gone, refuses the request, or answers with something else than agreed."""


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

    Single queries that come while all connections are busy travel together, up to `batch` in a
    request. A server that does not answer, or answers 429, 502, 503 or 504, is asked again after a
    pause that doubles each time, with a random part so that many clients do not come back together.

    Args:
        url: the server's address.
        topk: passages per query.
        timeout: seconds to wait for an answer.
        connections: requests at a time.
        batch: queries per request.
        retries: further attempts after the first.
        backoff: seconds before the first of them.

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
        if not url.startswith(("http://", "https://")):
            raise ValueError(f"url must begin with http:// or https://, got {url!r}")
        import httpx  # a configuration loads without it

        self._url, self._topk = f"{url.rstrip('/')}/retrieve", topk
        self._retries, self._backoff = retries, backoff
        self._client = httpx.Client(
            timeout=httpx.Timeout(timeout, connect=min(timeout, 10.0), pool=None),
            limits=httpx.Limits(max_connections=connections),
            trust_env=False,  # servers next to the training use no proxy
        )
        self._queries = Batches(self._find_documents, connections, batch, "search")

    def search(self, query: str) -> list[Document]:
        """Return the passages that fit a query best, best first.

        Raises:
            ServerError: the server is gone, refuses, or does not speak the protocol.
        """
        return self.search_all([query])[0]

    def search_all(self, queries: Sequence[str]) -> list[list[Document]]:
        """Return the best passages for each of several queries, in their order."""
        asked = self._queries.submit([query[:_LONGEST_QUERY] for query in queries])
        return [future.result() for future in asked]

    async def search_async(self, query: str) -> list[Document]:
        """Search like `search`, without blocking the event loop."""
        [future] = self._queries.submit([query[:_LONGEST_QUERY]])
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Answer the waiting queries, then close all connections."""
        self._queries.close()
        self._client.close()

    def _find_documents(self, queries: list[str]) -> list[list[Document]]:
        reply = self._post({"queries": queries, "topk": self._topk, "return_scores": True})
        try:
            answers = [[_parse_document(found) for found in row] for row in reply["result"]]
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ServerError(
                f"this is no answer of a search server: {str(reply)[:200]} ({error!r})"
            ) from None
        if len(answers) != len(queries):
            raise ServerError(f"{len(answers)} answers came to {len(queries)} queries")
        return answers

    def _post(self, message: dict[str, Any]) -> Any:
        """Send a message; return the answer, after further attempts if there is none."""
        from httpx import TransportError

        server, started = f"the search server at {self._url}", time.monotonic()
        for attempt in range(self._retries + 1):
            if attempt > 0:
                time.sleep(self._backoff * 2 ** (attempt - 1) * random.uniform(1.0, 1.5))
            try:
                answer = self._client.post(self._url, json=message)
            except TransportError as error:
                trouble = f"{type(error).__name__}: {error}"
                continue
            if answer.status_code in _RETRIED:
                trouble = _describe_failure(answer)
                continue
            if answer.status_code != 200:
                raise ServerError(f"{server} refuses: {_describe_failure(answer)}")
            try:
                return answer.json()
            except ValueError:
                raise ServerError(
                    f"{server} answers with something else than JSON: {answer.text[:200]!r}"
                ) from None
        raise ServerError(
            f"{server} does not answer, tried {self._retries + 1} times in "
            f"{time.monotonic() - started:.0f} s: {trouble}; is it running, and is the address "
            "right?"
        )

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


def _describe_failure(answer: httpx.Response) -> str:
    try:
        body = answer.json()
    except ValueError:
        body = answer.text
    reason = body.get("error", body.get("detail", body)) if isinstance(body, dict) else body
    return f"{answer.status_code} {str(reason)[:300]}"
