"""What `paretopo serve-search` does."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from paretopo.tools.search_engine.server import Engine, Limits, serve


def serve_search(
    corpus: str,
    *,
    index: str | None,
    engine: Literal["bm25", "dense"],
    model: str,
    kind: str,
    host: str,
    port: int,
    topk: int,
) -> None:
    """Open or make an index, then serve until Ctrl-C.

    Args:
        corpus: JSONL file of passages.
        index: where the index is kept, None for beside the corpus.
        engine: by words or by meaning.
        model: embeds, for "dense".
        kind: FAISS's name for the kind of index, for "dense".
        host: address to serve.
        port: port to serve, 0 for any.
        topk: passages of a query that does not say.

    Raises:
        ValueError: wrong settings, or a corpus, model or index that cannot be read.
        OSError: the address cannot be had.
    """
    if not 0 <= port <= 65535:
        raise ValueError(f"port must be from 0 to 65535, got {port}")
    limits = Limits(topk=topk)
    serve(_open(Path(corpus), index, engine, model, kind), host, port, limits)


def _open(corpus: Path, index: str | None, engine: str, model: str, kind: str) -> Engine:
    place = None if index is None else Path(index)
    if engine == "dense":
        from paretopo.tools.search_engine import dense

        return dense.open_or_build(corpus, place, model, kind)
    from paretopo.tools.search_engine import bm25

    return bm25.open_or_build(corpus, place)
