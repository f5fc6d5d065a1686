"""``paretopo serve-search``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from paretopo.subcommands import Subcommands, announce, need, refuse

_EXAMPLES = """\
examples:
  paretopo serve-search corpus.jsonl
  paretopo serve-search wiki-18.jsonl --port 8001 --index /data/wiki-18.bm25

  curl -s http://127.0.0.1:8000/retrieve -H 'content-type: application/json' \\
    -d '{"queries": ["longest river"], "topk": 3, "return_scores": true}'

Each line of the corpus is an object like {"id": "7", "contents": "\\"Title\\"\\ntext"}, as in
Search-R1's wiki-18.jsonl. It may have "title" and "text" in place of "contents". The command builds
the index once and stores it next to the corpus; it builds a new one if the corpus changes.
docs/search_server.md describes the protocol and the costs. There is no authentication: anyone who
reaches the address can search.
"""


def add_serve_search(subcommands: Subcommands) -> None:
    """Add the command that serves searches in a corpus."""
    parser = subcommands.add(
        "serve-search",
        _run,
        "start a search server for a corpus",
        "Start a search server for training, with the HTTP protocol of Search-R1.",
        _EXAMPLES,
    )
    parser.add_argument("corpus", metavar="CORPUS", help="a JSONL file of passages")
    parser.add_argument(
        "--host", default="127.0.0.1", metavar="ADDRESS", help="address (default: %(default)s)"
    )
    parser.add_argument(
        "--port",
        type=int,
        default=8000,
        metavar="N",
        help="port; 0 chooses a free one (default: %(default)s)",
    )
    parser.add_argument(
        "--topk", type=int, default=3, metavar="N", help="passages per query (default: %(default)s)"
    )
    parser.add_argument(
        "--index", metavar="PATH", help="path of the index (default: next to the corpus)"
    )


def _run(arguments: argparse.Namespace, _: Sequence[str]) -> int:
    announce("loading packages")
    need("bm25s", "Stemmer", "numba", "starlette", "uvicorn", "tqdm", extra="search")
    from paretopo.tools.search_engine import bm25
    from paretopo.tools.search_engine.server import Limits, serve

    if not 0 <= arguments.port <= 65535:
        refuse(f"--port must be from 0 to 65535, got {arguments.port}")
    try:
        limits = Limits(topk=arguments.topk)
        index = None if arguments.index is None else Path(arguments.index)
        engine = bm25.open_or_build(Path(arguments.corpus), index)
        serve(engine, arguments.host, arguments.port, limits)
    except (OSError, ValueError) as error:
        refuse(str(error))
    return 0
