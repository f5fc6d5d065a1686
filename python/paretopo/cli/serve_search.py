"""``paretopo serve-search``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from paretopo.cli.subcommands import Subcommands, announce, need, refuse

if TYPE_CHECKING:
    from paretopo.tools.search_engine.server import SearchEngine

_EXAMPLES = """\
examples:
  paretopo serve-search corpus.jsonl
  paretopo serve-search wiki-18.jsonl --port 8001 --index /data/wiki-18.bm25
  paretopo serve-search wiki-18.jsonl --engine dense --model intfloat/e5-base-v2 --faiss HNSW32

  curl -s http://127.0.0.1:8000/retrieve -H 'content-type: application/json' \\
    -d '{"queries": ["longest river"], "topk": 3, "return_scores": true}'

A line of the corpus is {"id": "7", "contents": "\\"Title\\"\\ntext"}, as in Search-R1's
wiki-18.jsonl, or has "title" and "text" instead of "contents". The index is built once and stored
next to the corpus; it is rebuilt when the corpus changes. docs/search_server.md has sizes, times
and the protocol. There is no authentication: anyone who reaches the address can search.
"""


def add_serve_search(subcommands: Subcommands) -> None:
    """Add the command that serves searches in a corpus."""
    parser = subcommands.add(
        "serve-search",
        _run,
        "serve a search engine over a corpus",
        "A search server with the HTTP protocol of Search-R1, for training.",
        _EXAMPLES,
    )
    parser.add_argument("corpus", metavar="CORPUS", help="a JSONL file of passages")
    parser.add_argument("--host", default="127.0.0.1", help="address to serve; %(default)s")
    parser.add_argument("--port", type=int, default=8000, help="%(default)s; 0 takes a free one")
    parser.add_argument("--topk", type=int, default=3, help="passages a query; %(default)s")
    parser.add_argument("--index", metavar="PATH", help="path of the index")
    parser.add_argument(
        "--engine",
        choices=["bm25", "dense"],
        default="bm25",
        help="search by words, or by embeddings; %(default)s",
    )
    parser.add_argument(
        "--model", default="intfloat/e5-base-v2", help="sentence encoder, for dense; %(default)s"
    )
    parser.add_argument(
        "--faiss", default="Flat", metavar="KIND", help="kind of dense index; %(default)s is exact"
    )
    parser.add_argument(
        "--prefixes",
        choices=("e5", "none"),
        default="e5",
        help='dense: "query: " and "passage: " as prefixes, which E5 needs; %(default)s',
    )


def _run(arguments: argparse.Namespace, _: Sequence[str]) -> int:
    announce("loading packages")
    need("bm25s", "Stemmer", "numba", "starlette", "uvicorn", "tqdm", extra="search")
    if arguments.engine == "dense":
        need("faiss", "torch", "transformers", extra="dense-search")
    from paretopo.tools.search_engine.server import Limits, serve

    if not 0 <= arguments.port <= 65535:
        refuse(f"--port must be from 0 to 65535, got {arguments.port}")
    try:
        limits = Limits(topk=arguments.topk)
        serve(_open_engine(arguments), arguments.host, arguments.port, limits)
    except (OSError, ValueError) as error:
        refuse(str(error))
    return 0


def _open_engine(arguments: argparse.Namespace) -> SearchEngine:
    """Open the index of the corpus, or build it first."""
    corpus = Path(arguments.corpus)
    index = None if arguments.index is None else Path(arguments.index)
    if arguments.engine == "dense":
        from paretopo.tools.search_engine import dense

        return dense.open_or_build(
            corpus, index, arguments.model, arguments.faiss, arguments.prefixes
        )
    from paretopo.tools.search_engine import bm25

    return bm25.open_or_build(corpus, index)
