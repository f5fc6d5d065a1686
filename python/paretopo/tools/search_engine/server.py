"""The search server: Search-R1's `POST /retrieve`, with limits.

A request is `{"queries": [text, …], "topk": 3, "return_scores": true}`, the answer `{"result":
[[{"document": {"id", "contents"}, "score"}, …], …]}`; without scores, only the documents. A bad
request gets `{"error": reason}` and a status of 4xx.
"""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from paretopo.parsing import parse_json
from paretopo.tools.search_engine.corpus import Corpus
from paretopo.tools.threads import start_in_thread

_BACKLOG = 1024  # connections that wait to be taken
_PATIENCE = 3  # seconds for clients that stay connected when a server stops


class SearchEngine(Protocol):
    """Finds passages in a corpus, as `BM25` does."""

    name: str
    corpus: Corpus

    def search(self, queries: Sequence[str], topk: int) -> list[list[tuple[int, float]]]:
        """Return (row, score) of the passages that fit each query best, best first."""
        ...


@dataclass(frozen=True)
class Limits:
    """The most that a request may ask for.

    Attributes:
        topk: passages per query where the request does not say.
        most_topk: the most that it can say.
        queries: queries per request.
        characters: length of a query.
        body_kb: KiB of a request.
        body_seconds: time in which a request must arrive; a slower one is refused with 408.
        waiting: requests at a time; more are sent away with 503, to come back later.
    """

    topk: int = 3
    most_topk: int = 100
    queries: int = 512
    characters: int = 10_000
    body_kb: int = 1024
    body_seconds: float = 30.0
    waiting: int = 1024

    def __post_init__(self) -> None:
        if not 1 <= self.topk <= self.most_topk:
            raise ValueError(f"topk must be from 1 to {self.most_topk}, got {self.topk}")


def serve(engine: SearchEngine, host: str, port: int, limits: Limits | None = None) -> None:
    """Serve until Ctrl-C; prints the address once the port is open.

    Raises:
        OSError: the address cannot be had.
    """
    with socket.create_server((host, port), backlog=_BACKLOG) as listening:
        where = f"http://{host}:{listening.getsockname()[1]}/retrieve"
        print(f"{len(engine.corpus)} passages at {where}", flush=True)
        _make_server(engine, limits).run(sockets=[listening])


@contextmanager
def serve_in_thread(engine: SearchEngine, limits: Limits | None = None) -> Iterator[str]:
    """Serve in a thread, on 127.0.0.1 at a free port, while in the context; yields the address."""
    server = _make_server(engine, limits)
    with socket.create_server(("127.0.0.1", 0), backlog=_BACKLOG) as listening:
        thread = threading.Thread(
            target=server.run, args=([listening],), name="search-server", daemon=True
        )
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def _make_server(engine: SearchEngine, limits: Limits | None) -> uvicorn.Server:
    replies = _Replies(engine, limits or Limits())
    application = Starlette(
        routes=[
            Route("/retrieve", replies.retrieve, methods=["POST"]),
            Route("/health", replies.health, methods=["GET"]),
        ],
        exception_handlers={HTTPException: _error_response},
    )
    return uvicorn.Server(
        uvicorn.Config(application, log_level="warning", timeout_graceful_shutdown=_PATIENCE)
    )


class _Replies:
    def __init__(self, engine: SearchEngine, limits: Limits) -> None:
        self._engine, self._limits = engine, limits
        self._free = asyncio.Semaphore(len(os.sched_getaffinity(0)))  # a search takes a core
        self._waiting = 0

    async def health(self, _: Request) -> JSONResponse:
        return JSONResponse({"engine": self._engine.name, "passages": len(self._engine.corpus)})

    async def retrieve(self, request: Request) -> JSONResponse:
        queries, topk, with_scores = self._parse_request(await self._read_body(request))
        if self._waiting >= self._limits.waiting:
            raise HTTPException(503, f"{self._waiting} requests wait already", {"Retry-After": "1"})
        self._waiting += 1
        try:
            async with self._free:
                search = partial(self._search, queries, topk, with_scores)
                # A server that stops must not wait for a search.
                result = await asyncio.wrap_future(start_in_thread(search, "search"))
        finally:
            self._waiting -= 1
        return JSONResponse({"result": result})

    async def _read_body(self, request: Request) -> bytes:
        most, body = self._limits.body_kb * 1024, bytearray()
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                async for chunk in request.stream():
                    body += chunk
                    if len(body) > most:
                        raise HTTPException(413, f"a request may have {self._limits.body_kb} KiB")
        except TimeoutError:
            reason = f"the request must arrive within {self._limits.body_seconds:g} seconds"
            raise HTTPException(408, reason, {"Connection": "close"}) from None
        return bytes(body)

    def _parse_request(self, body: bytes) -> tuple[list[str], int, bool]:
        limits = self._limits
        try:
            message = parse_json(body)
        except ValueError as error:
            raise HTTPException(400, f"the request: {error}") from None
        if not isinstance(message, dict) or not isinstance(message.get("queries"), list):
            raise HTTPException(400, 'expected {"queries": [text, ...], "topk": 3}')
        queries = message["queries"]
        if len(queries) > limits.queries:
            raise HTTPException(
                400, f"queries: at most {limits.queries} a request, got {len(queries)}"
            )
        for query in queries:
            if not isinstance(query, str):
                raise HTTPException(400, f"queries: expected texts, got {str(query)[:100]!r}")
            if len(query) > limits.characters:
                raise HTTPException(
                    400, f"queries: at most {limits.characters} characters, got {len(query)}"
                )
        topk = limits.topk if message.get("topk") is None else message["topk"]
        if isinstance(topk, bool) or not isinstance(topk, int) or not 1 <= topk <= limits.most_topk:
            raise HTTPException(400, f"topk: expected 1 to {limits.most_topk}, got {topk!r}")
        with_scores = message.get("return_scores", False)
        if not isinstance(with_scores, bool):
            raise HTTPException(400, f"return_scores: expected true or false, got {with_scores!r}")
        return queries, topk, with_scores

    def _search(self, queries: list[str], topk: int, with_scores: bool) -> list[list[Any]]:
        documents = self._engine.corpus
        found = self._engine.search(queries, topk) if queries else []
        if with_scores:
            return [
                [{"document": documents[i], "score": score} for i, score in row] for row in found
            ]
        return [[documents[i] for i, _ in row] for row in found]


async def _error_response(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, error.headers)
