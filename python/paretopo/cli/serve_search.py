"""``paretopo serve-search``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from paretopo.cli.refusal import need, refuse
from paretopo.cli.subcommands import Subcommands

_EXAMPLES = """\
examples:
  paretopo serve-search corpus.jsonl
  paretopo serve-search wiki-18.jsonl --port 8001 --index /data/wiki-18.bm25
  paretopo serve-search wiki-18.jsonl --engine dense --model intfloat/e5-base-v2 --faiss HNSW32

  curl -s http://127.0.0.1:8000/retrieve -H 'content-type: application/json' \\
    -d '{"queries": ["longest river"], "topk": 3, "return_scores": true}'

A line of the corpus is {"id": "7", "contents": "\\"Title\\"\\ntext"}, as in Search-R1's
wiki-18.jsonl, or has "title" and "text" instead of "contents". The index is made once and kept
beside the corpus; a corpus that changed gets a new one. docs/tools.md tells sizes, times and the
protocol. There are no passwords: whoever reaches the address can search.
"""


def add_serve_search(subcommands: Subcommands) -> None:
    """Answer searches in a corpus."""
    parser = subcommands.add(
        "serve-search",
        _run,
        "answer searches in a corpus",
        "A search server with the HTTP protocol of Search-R1, for training.",
        _EXAMPLES,
    )
    parser.add_argument("corpus", metavar="CORPUS", help="a JSONL file of passages")
    parser.add_argument("--host", default="127.0.0.1", help="address to serve; %(default)s")
    parser.add_argument("--port", type=int, default=8000, help="%(default)s; 0 takes a free one")
    parser.add_argument("--topk", type=int, default=3, help="passages a query; %(default)s")
    parser.add_argument("--index", metavar="PATH", help="where the index is kept")
    parser.add_argument(
        "--engine",
        choices=["bm25", "dense"],
        default="bm25",
        help="by words, or by meaning with embeddings; %(default)s",
    )
    parser.add_argument(
        "--model", default="intfloat/e5-base-v2", help="an E5 model, for dense; %(default)s"
    )
    parser.add_argument(
        "--faiss", default="Flat", metavar="KIND", help="kind of dense index; %(default)s is exact"
    )


def _run(arguments: argparse.Namespace, _: Sequence[str]) -> int:
    need("bm25s", "Stemmer", "numba", "starlette", "uvicorn", "tqdm", extra="search")
    if arguments.engine == "dense":
        need("faiss", "torch", "transformers", extra="dense-search")
    from paretopo.tools.search_engine.command import serve_search

    try:
        serve_search(
            arguments.corpus,
            index=arguments.index,
            engine=arguments.engine,
            model=arguments.model,
            kind=arguments.faiss,
            host=arguments.host,
            port=arguments.port,
            topk=arguments.topk,
        )
    except (OSError, ValueError) as error:
        refuse(str(error))
    return 0
