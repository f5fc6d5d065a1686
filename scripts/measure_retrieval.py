"""Recall of gold paragraphs by the search engine, against peers on the same tokens.

    python scripts/measure_retrieval.py FOLDER

FOLDER has HippoRAG's files (OSU-NLP-Group/HippoRAG): hotpotqa_train.json and musique_train.json,
100 questions each with their paragraphs, and 2wikimultihopqa_corpus.json, 6,119 passages. Recall @k
is the share of a question's gold paragraphs among its first k passages, averaged over questions.

BM25's peers index the same tokens as our engine. They are bm25s with Lucene's idf, like our engine,
bm25s with two other idfs, and rank_bm25's BM25Okapi with Robertson's idf. Needs `pip install
".[search]" rank_bm25`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import bm25s
import numpy as np
import Stemmer
from bm25s.stopwords import STOPWORDS_EN
from bm25s.tokenization import Tokenizer

from paretopo.tools.search_engine import bm25
from paretopo.tools.search_engine.bm25_index import K1, B

_DEPTHS = (1, 3, 5)

Passage = tuple[str, str]  # title, text
Search = Callable[[Sequence[str]], list[list[int]]]  # rows of the best passages of each query


class Questions:
    """Questions, and the rows of their gold paragraphs."""

    def __init__(self) -> None:
        self.passages: dict[Passage, int] = {}
        self.asked: dict[str, list[tuple[str, set[int]]]] = {}

    def add(self, passage: Passage) -> int:
        """The row of a passage."""
        return self.passages.setdefault(passage, len(self.passages))

    def read_hotpotqa(self, path: Path) -> None:
        """The layout of HotpotQA and 2WikiMultihopQA, as published."""
        asked = self.asked["HotpotQA"] = []
        for row in json.loads(path.read_text(encoding="utf-8")):
            wanted = {title for title, _ in row["supporting_facts"]}
            gold = set()
            for title, sentences in row["context"]:
                number = self.add((title, "".join(sentences).strip()))
                gold |= {number} if title in wanted else set()
            asked.append((row["question"], gold))

    def read_musique(self, path: Path) -> None:
        """MuSiQue's layout, as published."""
        asked = self.asked["MuSiQue"] = []
        for row in json.loads(path.read_text(encoding="utf-8")):
            gold = set()
            for paragraph in row["paragraphs"]:
                number = self.add((paragraph["title"], paragraph["paragraph_text"].strip()))
                gold |= {number} if paragraph["is_supporting"] else set()
            asked.append((row["question"], gold))


def measure(name: str, corpus: str, questions: Questions, search: Search) -> None:
    """Print a row for each set of questions."""
    for source, asked in questions.asked.items():
        found = search([question for question, _ in asked])
        cells = []
        for depth in _DEPTHS:
            shares = [
                len(gold & set(rows[:depth])) / len(gold)
                for (_, gold), rows in zip(asked, found, strict=True)
            ]
            cells.append(f"{np.mean(shares):.3f}")
        print(f"| {corpus} | {source} | {name} | {' | '.join(cells)} |", flush=True)


def compare(corpus: str, questions: Questions) -> None:
    """Every engine on one corpus."""
    contents = [f'"{title}"\n{text}' for title, text in questions.passages]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "corpus.jsonl"
        lines = (json.dumps({"id": str(at), "contents": one}) for at, one in enumerate(contents))
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        ours = bm25.open_or_build(path)
        measure("BM25", corpus, questions, lambda asked: _rows(ours.search(asked, 5)))
        for name, peer in _bm25_peers(contents).items():
            measure(name, corpus, questions, peer)


def _rows(found: list[list[tuple[int, float]]]) -> list[list[int]]:
    return [[row for row, _ in one] for one in found]


def _bm25_peers(contents: Sequence[str]) -> dict[str, Search]:
    from rank_bm25 import BM25Okapi

    def tokenize(texts: Sequence[str]) -> list[list[str]]:
        stemmer = Stemmer.Stemmer("english")
        own = Tokenizer(splitter=bm25._WORD, stopwords=list(STOPWORDS_EN), stemmer=stemmer.stemWord)
        numbers = own.tokenize(list(texts), show_progress=False, allow_empty=False)
        words = {number: word for word, number in own.stem_to_sid.items()}
        return [[words[number] for number in one] for one in numbers]

    tokens = tokenize(contents)
    okapi = BM25Okapi(tokens, k1=K1, b=B)

    def use_bm25s(method: str) -> Search:
        index = bm25s.BM25(method=method, k1=K1, b=B)
        index.index(tokens, show_progress=False)

        def search(asked: Sequence[str]) -> list[list[int]]:
            rows, _ = index.retrieve(tokenize(asked), k=5, show_progress=False)
            return [list(map(int, one)) for one in rows]

        return search

    def by_rank_bm25(asked: Sequence[str]) -> list[list[int]]:
        scores = [okapi.get_scores(words) for words in tokenize(asked)]
        return [list(map(int, np.argsort(-one, kind="stable")[:5])) for one in scores]

    return {
        "bm25s, Lucene's idf": use_bm25s("lucene"),
        "bm25s, Robertson's idf": use_bm25s("robertson"),
        "bm25s, ATIRE's idf": use_bm25s("atire"),
        "rank_bm25": by_rank_bm25,
    }


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    print(f"| corpus | questions | engine | {' | '.join(f'@{depth}' for depth in _DEPTHS)} |")
    print("|---|---|---|" + "---:|" * len(_DEPTHS))
    small = Questions()
    small.read_hotpotqa(arguments.folder / "hotpotqa_train.json")
    compare(f"HotpotQA, {len(small.passages):,}", small)
    large = Questions()
    large.read_hotpotqa(arguments.folder / "hotpotqa_train.json")
    large.read_musique(arguments.folder / "musique_train.json")
    corpus = arguments.folder / "2wikimultihopqa_corpus.json"
    for passage in json.loads(corpus.read_text(encoding="utf-8")):
        large.add((passage["title"], passage["text"].strip()))
    name = f"with MuSiQue and 2Wiki, {len(large.passages):,}"
    compare(name, large)
    return 0


if __name__ == "__main__":
    sys.exit(main())
