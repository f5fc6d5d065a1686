"""Makes the index of `bm25.py`, in memory that does not grow with the corpus.

Passages are counted in blocks, each sorted by word and kept on disk; then every block's scores go
to their places in two arrays that are files. In memory are one block and the vocabulary.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from paretopo.progress import make_bar

K1, B = 0.9, 0.4

_BLOCK = 200_000  # passages counted at a time
_VOCABULARY = "vocabulary.json"


def build(passages: Iterable[list[int]], vocabulary: dict[str, int], folder: Path) -> None:
    """Write the index of passages.

    The score of a word in a passage is `idf * tf / (tf + K1 * (1 - B + B * length / mean))`, and
    its `idf` is `log(1 + (passages - df + 0.5) / (df + 0.5))`: Lucene's variant of BM25.

    Args:
        passages: the words of each, by number.
        vocabulary: word → number; may grow while `passages` is read.
        folder: gets scores.npy, rows.npy, starts.npy and vocabulary.json.

    Cost: O(n log n) for n words in all; on disk 8 bytes for each different word of each passage,
    and 12 more until it is done.
    """
    lengths = array("i")
    blocks = list(_count_words(passages, lengths, folder))
    length = np.array(lengths, np.float32)
    norms = K1 * (1 - B + B * length / max(length.mean(dtype=np.float64), 1e-9))
    frequency = np.zeros(len(vocabulary), np.int64)
    for block in blocks:
        words = np.load(block / "words.npy", mmap_mode="r")
        frequency += np.bincount(words, minlength=len(vocabulary))
    idf = np.log(1 + (len(length) - frequency + 0.5) / (frequency + 0.5)).astype(np.float32)
    starts = np.concatenate([[0], np.cumsum(frequency)])
    scores = _create_array(folder / "scores.npy", np.float32, int(starts[-1]))
    rows = _create_array(folder / "rows.npy", np.int32, int(starts[-1]))
    free = starts[:-1].copy()  # where each word's next passage goes
    for block in make_bar(iterable=blocks, desc="placing scores", unit="block"):
        word, row, count = (np.load(block / f"{name}.npy") for name in ("words", "rows", "counts"))
        present, first, times = np.unique(word, return_index=True, return_counts=True)
        places = np.arange(len(word)) + np.repeat(free[present] - first, times)
        scores[places] = idf[word] * count / (count + norms[row])
        rows[places] = row
        free[present] += times
        for path in block.iterdir():
            path.unlink()
        block.rmdir()
    scores.flush()
    rows.flush()
    np.save(folder / "starts.npy", starts)
    (folder / _VOCABULARY).write_text(json.dumps(vocabulary), encoding="utf-8")


def load(folder: Path) -> tuple[dict[str, Any], dict[str, int]]:
    """Return the memory-mapped arrays, by bm25s's names, and the vocabulary."""
    vocabulary: dict[str, int] = json.loads((folder / _VOCABULARY).read_text(encoding="utf-8"))
    arrays = {
        name: np.load(folder / f"{file}.npy", mmap_mode="r")
        for name, file in (("data", "scores"), ("indices", "rows"), ("indptr", "starts"))
    }
    return arrays, vocabulary


def _count_words(
    passages: Iterable[list[int]], lengths: array[int], folder: Path
) -> Iterator[Path]:
    """Count words in blocks of passages; yields where each block is kept."""
    block, first = array("i"), 0
    for words in passages:
        block.extend(words)
        lengths.append(len(words))
        if len(lengths) - first == _BLOCK:
            yield _save_block(block, lengths, first, folder)
            block, first = array("i"), len(lengths)
    if len(lengths) > first:
        yield _save_block(block, lengths, first, folder)


def _save_block(block: array[int], lengths: array[int], first: int, folder: Path) -> Path:
    rows = np.repeat(np.arange(first, len(lengths)), np.array(lengths[first:]))
    pairs = np.array(block, np.int64) << 32 | rows
    pairs, counts = np.unique(pairs, return_counts=True)  # by word, then by row
    path = folder / f"block-{first}"
    path.mkdir()
    np.save(path / "words.npy", (pairs >> 32).astype(np.int32))
    np.save(path / "rows.npy", (pairs & 0xFFFFFFFF).astype(np.int32))
    np.save(path / "counts.npy", counts.astype(np.float32))
    return path


def _create_array(path: Path, kind: type, length: int) -> Any:
    """Create an array in a file, with at least one entry: an empty file cannot be mapped."""
    return np.lib.format.open_memmap(path, "w+", kind, (max(length, 1),))  # type: ignore[no-untyped-call]
