"""Corpus and BM25 index are built once, reopened, and find their passages."""

import json
import math
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from paretopo.tools.search_engine import bm25
from paretopo.tools.search_engine.corpus import CorpusError, scan

PASSAGES = [
    ("Oslo", "Oslo is the capital of Norway. It lies at a fjord."),
    ("Bergen", "Bergen is a rainy town in the west of Norway."),
    ("Fjord", "A fjord is a narrow inlet of the sea between cliffs, made by glaciers."),
    ("Kyoto", "Kyoto was the capital of Japan for a thousand years; it has temples."),
    ("Glacier", "A glacier is a body of ice that moves. Glaciers carve valleys. Ünïcödé 東京."),
    ("Paris", "Paris, capital of France, lies on the Seine."),
]


def write(path, passages=PASSAGES):
    with path.open("w", encoding="utf-8") as file:
        for i, (title, text) in enumerate(passages):
            line = {"id": f"p{i}", "contents": f'"{title}"\n{text}'}
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
    return path


@pytest.fixture
def corpus(tmp_path):
    return write(tmp_path / "corpus.jsonl")


def titles(engine, query, topk=3):
    (found,) = engine.search([query], topk)
    assert [score for _, score in found] == sorted((s for _, s in found), reverse=True)
    return [PASSAGES[row][0] for row, _ in found]


def test_passages_are_read_where_they_are(corpus):
    passages = scan(corpus)
    assert len(passages) == 6
    for row in (5, 0, 4):
        title, text = PASSAGES[row]
        assert passages[row] == {"id": f"p{row}", "contents": f'"{title}"\n{text}'}
    with ThreadPoolExecutor(8) as readers:
        read = list(readers.map(passages.__getitem__, list(range(6)) * 50))
    assert [one["id"] for one in read] == [f"p{row}" for row in range(6)] * 50


def test_title_and_text_may_be_separate_fields(tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_text('{"id": 3, "title": "A", "text": "b"}\n{"contents": "no id"}')
    passages = scan(path)
    assert passages[0] == {"id": "3", "contents": '"A"\nb'}
    assert passages[1] == {"id": "1", "contents": "no id"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"contents": "a"}\n{"contents": ', "corpus.jsonl, line 2: no JSON"),
        ('{"contents": "a"}\n[]\n', "line 2: expected"),
        ('{"contents": 3}\n', r"line 1: expected .* got '{\"contents\": 3}"),
        ("\n", "line 1: no JSON"),
        (r'{"contents": "\ud800"}', r"line 1: '.ud800' is half of a surrogate pair"),
        ("\udcff".encode("utf-8", "surrogateescape").decode("latin1"), "line 1: no JSON"),
        ("", "is empty"),
        ('{"contents": "the of"}', "has no words to search by"),
    ],
)
def test_a_bad_corpus_names_the_line(tmp_path, text, message):
    path = tmp_path / "corpus.jsonl"
    path.write_text(text, encoding="latin1")
    with pytest.raises(CorpusError, match=message):
        bm25.open_or_build(path)
    with pytest.raises(CorpusError, match=r"cannot read .*missing.jsonl"):
        bm25.open_or_build(tmp_path / "missing.jsonl")


def test_words_find_passages(corpus):
    engine = bm25.open_or_build(corpus)
    assert titles(engine, "What is the capital of Norway?")[0] == "Oslo"
    assert titles(engine, "glaciers")[0] == "Glacier"
    assert set(titles(engine, "carving ice")) == {"Glacier"}  # stems
    assert titles(engine, "fjord norway", topk=99) == ["Oslo", "Fjord", "Bergen"]
    for nothing in ("", "the of a", "zyzzyva", "?!", "\x00"):
        assert engine.search([nothing], 3) == [[]]
    assert [len(found) for found in engine.search(["paris", "", "capital"], 2)] == [1, 0, 2]


def reference_scores(query):
    """BM25 in Lucene's variant, from its definition."""
    documents = [stems(f'"{title}"\n{text}') for title, text in PASSAGES]
    mean = sum(map(len, documents)) / len(documents)
    scores = np.zeros(len(documents))
    for word in stems(query):
        df = sum(word in document for document in documents)
        idf = math.log(1 + (len(documents) - df + 0.5) / (df + 0.5))
        for i, document in enumerate(documents):
            tf = Counter(document)[word]
            scores[i] += idf * tf / (tf + 0.9 * (1 - 0.4 + 0.4 * len(document) / mean))
    return scores


def stems(text):
    stem = bm25.Stemmer.Stemmer("english").stemWord
    words = re.findall(r"\b\w\w+\b", text.lower())
    return [stem(word) for word in words if word not in bm25.STOPWORDS_EN]


@pytest.mark.parametrize("query", ["capital of norway", "a fjord between glaciers", "lies", "東京"])
def test_scores_are_those_of_the_definition(corpus, query):
    (found,) = bm25.open_or_build(corpus).search([query], 6)
    expected = reference_scores(query)
    assert {row for row, _ in found} == set(np.flatnonzero(expected))
    for row, score in found:
        assert score == pytest.approx(expected[row], rel=1e-5)


def test_blocks_make_no_difference(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    words = [f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(200)]
    passages = [(f"T{i}", " ".join(rng.choice(words, rng.integers(0, 40)))) for i in range(500)]
    path = write(tmp_path / "corpus.jsonl", passages)
    whole = bm25.open_or_build(path)
    monkeypatch.setattr(bm25.bm25_index, "_BLOCK", 37)
    pieces = bm25.open_or_build(path, tmp_path / "pieces")
    for name, array in whole._index.scores.items():
        np.testing.assert_array_equal(array, pieces._index.scores[name])
    assert sorted(p.name for p in (tmp_path / "pieces").iterdir()) == [
        "manifest.json",
        "offsets.npy",
        "rows.npy",
        "scores.npy",
        "starts.npy",
        "vocabulary.json",
    ]


def test_changed_corpus_rebuilds_the_index(corpus, monkeypatch):
    bm25.open_or_build(corpus)
    with monkeypatch.context() as patch:
        patch.setattr(bm25, "_build", None)  # would fail
        assert titles(bm25.open_or_build(corpus), "paris") == ["Paris"]
    write(corpus, [("Rome", "Rome is the capital of Italy."), *PASSAGES])
    engine = bm25.open_or_build(corpus)
    assert len(engine.corpus) == 7
    ((row, _), *_) = engine.search(["Italy"], 1)[0]
    assert engine.corpus[row]["contents"].startswith('"Rome"')


def test_an_interrupted_build_leaves_no_index(corpus, monkeypatch):
    def fails(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(bm25.corpora, "save", fails)
        with pytest.raises(KeyboardInterrupt):
            bm25.open_or_build(corpus)
    assert titles(bm25.open_or_build(corpus), "paris") == ["Paris"]


def test_threads_search_at_once(corpus):
    engine = bm25.open_or_build(corpus)
    queries = [text for _, text in PASSAGES] * 40
    alone = [engine.search([query], 3) for query in queries]
    with ThreadPoolExecutor(16) as threads:
        together = list(threads.map(lambda query: engine.search([query], 3), queries))
    assert together == alone
