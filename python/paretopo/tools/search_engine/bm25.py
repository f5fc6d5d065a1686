"""Search by words: BM25 over a memory-mapped index, nothing to download.

Source: Robertson et al. (1995), "Okapi at TREC-3", in Lucene's variant, with `k1 = 0.9` and
`b = 0.4` as is usual for passages of Wikipedia. Scores are computed when the index is made and
added up by bm25s (Lù, 2024, arXiv 2407.03618).
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bm25s
import Stemmer
from bm25s.stopwords import STOPWORDS_EN
from bm25s.tokenization import Tokenizer

from paretopo.tools.search_engine import bm25_index
from paretopo.tools.search_engine import corpus as corpora
from paretopo.tools.search_engine.bm25_index import K1, B
from paretopo.tools.search_engine.corpus import Corpus, CorpusError

_WORD = r"(?u)\b\w\w+\b"
_ABOUT = {"engine": "bm25", "version": 2, "k1": K1, "b": B, "stemmer": "english"}

Found = list[tuple[int, float]]  # (row, score), best first


class BM25:
    """The passages of a corpus that share words with a query.

    Threads may search at once, each on one core.

    Args:
        folder: its index.
        corpus: the passages.
    """

    name = "bm25"

    def __init__(self, folder: Path, corpus: Corpus) -> None:
        self.corpus = corpus
        arrays, self._vocabulary = bm25_index.load(folder)
        self._index = bm25s.BM25(method="lucene", backend="numba")
        self._index.scores = {**arrays, "num_docs": len(corpus)}
        self._index.nonoccurrence_array = None
        self._index.unique_token_ids_set = range(len(self._vocabulary))
        self._word = re.compile(_WORD)
        self._stopwords = frozenset(STOPWORDS_EN)
        self._index.retrieve([[0]], k=1, n_threads=1, show_progress=False)  # compiles it

    def search(self, queries: Sequence[str], topk: int) -> list[Found]:
        """Return the passages that fit each query best; fewer than `topk` if fewer share a word
        with it.
        """
        stem = Stemmer.Stemmer("english").stemWord  # its own each time: it is not for many threads
        topk = min(topk, len(self.corpus))
        asked = [self._tokens(query, stem) for query in queries]
        known = [tokens for tokens in asked if tokens]
        if not known:
            return [[] for _ in asked]
        rows, scores = self._index.retrieve(known, k=topk, n_threads=1, show_progress=False)
        answers = iter(zip(rows.tolist(), scores.tolist(), strict=True))
        return [_drop_misses(*next(answers)) if tokens else [] for tokens in asked]

    def _tokens(self, query: str, stem: Any) -> list[int]:
        words = [word for word in self._word.findall(query.lower()) if word not in self._stopwords]
        numbers = (self._vocabulary.get(stem(word)) for word in words)
        return [number for number in numbers if number is not None]


def _drop_misses(rows: list[int], scores: list[float]) -> Found:
    return [(row, score) for row, score in zip(rows, scores, strict=True) if score > 0]


def open_or_build(path: Path, folder: Path | None = None) -> BM25:
    """Open the index of a corpus, or make it first, once.

    Args:
        path: the corpus, see `Corpus`.
        folder: folder of the index; by default next to the corpus, with ".bm25" added.

    Raises:
        CorpusError: the corpus cannot be read.
    """
    folder = folder or path.with_name(path.name + ".bm25")
    corpus = corpora.reopen(path, folder, _ABOUT) if path.exists() else None
    if corpus is None:
        _build(path, folder)
        corpus = corpora.reopen(path, folder, _ABOUT)
        assert corpus is not None
    return BM25(folder, corpus)


def _build(path: Path, folder: Path) -> None:
    corpus = corpora.scan(path)
    stemmer = Stemmer.Stemmer("english")
    tokenizer = Tokenizer(splitter=_WORD, stopwords=list(STOPWORDS_EN), stemmer=stemmer.stemWord)
    unfinished = folder.with_name(folder.name + ".part")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    passages = tokenizer.streaming_tokenize(
        corpora.read_texts(corpus, "counting words"), allow_empty=False
    )
    # The vocabulary of stems, which grows while the passages are read.
    bm25_index.build(passages, tokenizer.stem_to_sid, unfinished)
    if not tokenizer.stem_to_sid:
        raise CorpusError(f"the corpus {path} has no words to search by")
    corpora.save(corpus, unfinished, _ABOUT)
    shutil.rmtree(folder, ignore_errors=True)
    unfinished.rename(folder)
