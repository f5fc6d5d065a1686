"""Search by meaning: embeddings of a sentence encoder, nearest ones found by FAISS.

As Search-R1's retriever has it: "query: " and "passage: " in front, mean over tokens, length 1, at
most 256 tokens. The words in front are E5's; other models are asked without.

Source: Wang et al. (2022), "Text embeddings by weakly-supervised contrastive pre-training", arXiv
2212.03533.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import faiss
import numpy as np
from numpy.typing import NDArray

from paretopo.tools.search_engine import corpus as corpora
from paretopo.tools.search_engine.corpus import Corpus, CorpusError

_MOST_TOKENS = 256
_BATCH = 64
_INDEX = "index.faiss"
_EMBEDDINGS = "embeddings.npy"
_SAMPLED, _NEIGHBOURS = 200, 10  # queries, and passages of each, that measure the recall

Vectors = NDArray[np.float32]
Prefixes = Literal["e5", "none"]


class Encoder:
    """Texts as points on a sphere.

    Args:
        model: Hugging Face name or folder of a model whose mean over tokens is the embedding.
        prefixes: "e5" puts E5's "query: " and "passage: " in front; "none" is for models that were
            not trained with them.

    Raises:
        CorpusError: there is no such model.
    """

    def __init__(self, model: str, prefixes: Prefixes = "e5") -> None:
        import torch
        from transformers import AutoModel, AutoTokenizer

        self._torch = torch
        self._with_prefixes = prefixes == "e5"
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        precision = torch.float16 if self._device == "cuda" else torch.float32
        try:
            self._tokenizer = AutoTokenizer.from_pretrained(model)
            self._model = AutoModel.from_pretrained(model, dtype=precision)
        except (OSError, ValueError) as error:
            raise CorpusError(f"cannot load the model {model!r}: {error}") from None
        self._model.to(self._device).eval()
        self._lock = threading.Lock()  # the tokenizer is not for many threads

    def embed_queries(self, queries: Sequence[str]) -> Vectors:
        """Return unit vectors of shape (queries, dimensions)."""
        return self._embed([f"query: {one}" for one in queries] if self._with_prefixes else queries)

    def embed_passages(self, passages: Sequence[str]) -> Vectors:
        """Return unit vectors of shape (passages, dimensions)."""
        prefixed = [f"passage: {one}" for one in passages]
        return self._embed(prefixed if self._with_prefixes else passages)

    def _embed(self, texts: Sequence[str]) -> Vectors:
        torch = self._torch
        with self._lock, torch.inference_mode():
            batch = self._tokenizer(
                list(texts),
                padding=True,
                truncation=True,
                max_length=_MOST_TOKENS,
                return_tensors="pt",
            ).to(self._device)
            states = self._model(**batch).last_hidden_state.float()
            mask = batch["attention_mask"].unsqueeze(-1)
            mean = (states * mask).sum(1) / mask.sum(1)
            vectors: Vectors = torch.nn.functional.normalize(mean, dim=1).cpu().numpy()
        return vectors


class Dense:
    """The passages nearest to a query.

    Args:
        index: FAISS's, of inner products.
        corpus: the passages.
        encoder: embeds queries.
    """

    name = "dense"

    def __init__(self, index: Any, corpus: Corpus, encoder: Encoder) -> None:
        if index.ntotal != len(corpus):
            raise CorpusError(
                f"the index has {index.ntotal} passages, the corpus {corpus.path} {len(corpus)}"
            )
        self.corpus = corpus
        self._index, self._encoder = index, encoder

    def search(self, queries: Sequence[str], topk: int) -> list[list[tuple[int, float]]]:
        """Return the passages nearest to each query with their cosines, nearest first."""
        vectors = self._encoder.embed_queries(queries)
        cosines, rows = self._index.search(vectors, min(topk, len(self.corpus)))
        return [
            [(row, score) for row, score in zip(*found, strict=True) if row >= 0]
            for found in zip(rows.tolist(), cosines.tolist(), strict=True)
        ]


def open_or_build(
    path: Path,
    index: Path | None = None,
    model: str = "intfloat/e5-base-v2",
    kind: str = "Flat",
    prefixes: Prefixes = "e5",
) -> Dense:
    """Open the index of a corpus, or make it first, once.

    Args:
        path: the corpus, see `Corpus`.
        index: folder of the index, by default next to the corpus; or a file that FAISS wrote
            elsewhere, for example Search-R1's e5_Flat.index.
        model: Hugging Face name or folder, see `Encoder`.
        kind: FAISS's name for the kind of index: "Flat" is exact, "IVF4096,Flat" and "HNSW32" are
            faster and find most; how many of the ten nearest is measured and printed.
        prefixes: see `Encoder`.

    Raises:
        CorpusError: corpus, model or index cannot be read, or do not fit together.
    """
    encoder = Encoder(model, prefixes)
    if index is not None and index.is_file():
        return Dense(_read_index(index), corpora.scan(path), encoder)
    folder = index or path.with_name(f"{path.name}.{kind.replace(',', '-').lower()}")
    about = {
        "engine": "dense",
        "version": 2,
        "model": model,
        "kind": kind,
        "prefixes": prefixes,
    }
    corpus = corpora.reopen(path, folder, about) if path.exists() else None
    if corpus is None:
        _build(path, folder, encoder, about)
        corpus = corpora.reopen(path, folder, about)
        assert corpus is not None
    return Dense(_read_index(folder / _INDEX), corpus, encoder)


def _read_index(path: Path) -> Any:
    try:
        return faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
    except RuntimeError as error:
        raise CorpusError(f"cannot read the index {path}: {error}") from None


def _build(path: Path, folder: Path, encoder: Encoder, about: dict[str, Any]) -> None:
    corpus = corpora.scan(path)
    unfinished = folder.with_name(folder.name + ".part")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    dimensions = encoder.embed_queries(["x"]).shape[1]
    vectors: Vectors = np.lib.format.open_memmap(  # type: ignore[no-untyped-call]
        unfinished / _EMBEDDINGS, "w+", np.float32, (len(corpus), dimensions)
    )
    row = 0
    for batch in _batches(corpora.read_texts(corpus, "embedding")):
        vectors[row : row + len(batch)] = encoder.embed_passages(batch)
        row += len(batch)
    try:
        index: Any = faiss.index_factory(dimensions, about["kind"], faiss.METRIC_INNER_PRODUCT)
        if not index.is_trained:
            rng = np.random.default_rng(0)
            most = min(len(corpus), 256 * max(getattr(index, "nlist", 1), 1))
            index.train(vectors[np.sort(rng.choice(len(corpus), most, replace=False))])
    except RuntimeError as error:
        raise CorpusError(f"--faiss {about['kind']}: {error}") from None
    if hasattr(index, "nprobe"):
        index.nprobe = max(1, index.nlist // 32)
    for start in range(0, len(corpus), 1 << 16):
        index.add(vectors[start : start + (1 << 16)])
    faiss.write_index(index, str(unfinished / _INDEX))
    recall = _measure_recall(index, vectors, corpus, encoder)
    print(f"the index finds {recall:.1%} of the {_NEIGHBOURS} nearest passages")
    (unfinished / _EMBEDDINGS).unlink()
    corpora.save(corpus, unfinished, {**about, "recall": recall})
    shutil.rmtree(folder, ignore_errors=True)
    unfinished.rename(folder)


def _measure_recall(index: Any, vectors: Vectors, corpus: Corpus, encoder: Encoder) -> float:
    """Share of the nearest passages that the index finds, titles of passages being the queries."""
    rows = np.random.default_rng(1).choice(len(corpus), min(_SAMPLED, len(corpus)), replace=False)
    titles = [corpus[int(row)]["contents"].split("\n", 1)[0].strip('"') for row in rows]
    queries = encoder.embed_queries(titles)
    neighbours = min(_NEIGHBOURS, len(corpus))
    _, found = index.search(queries, neighbours)
    exact = faiss.IndexFlatIP(vectors.shape[1])
    best = np.full((len(rows), 0), 0.0, np.float32)
    names = np.empty((len(rows), 0), np.int64)
    for start in range(0, len(vectors), 1 << 18):  # all at once would need the memory of all
        exact.reset()
        exact.add(vectors[start : start + (1 << 18)])
        scores, near = exact.search(queries, min(neighbours, exact.ntotal))
        best, names = np.hstack([best, scores]), np.hstack([names, near + start])
        order = np.argsort(-best, axis=1, kind="stable")[:, :neighbours]
        best = np.take_along_axis(best, order, axis=1)
        names = np.take_along_axis(names, order, axis=1)
    hits = [len(set(mine) & set(true)) for mine, true in zip(found, names, strict=True)]
    return float(np.mean(hits) / neighbours)


def _batches(texts: Iterator[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    for text in texts:
        batch.append(text)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
