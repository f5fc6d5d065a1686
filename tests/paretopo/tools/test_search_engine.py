"""Corpus, BM25 index and dense index are built once, reopened, and find their passages."""

import json
import math
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from paretopo.tools.search_engine import bm25, dense
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


# ---- dense -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A small BERT without training: near are texts that share words."""
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    words = sorted({w for _, text in PASSAGES for w in re.findall(r"\w+|[^\w\s]", text.lower())})
    pieces = ["[PAD]", "[UNK]", "query", "passage", ":", '"', *words]
    vocabulary = {piece: i for i, piece in enumerate(dict.fromkeys(pieces))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    folder = tmp_path_factory.mktemp("e5")
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]"
    ).save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=300,
    )
    transformers.BertModel(config).save_pretrained(folder)
    return str(folder)


def test_embeddings_are_normalised_and_ignore_padding(model):
    encoder = dense.Encoder(model)
    vectors = encoder.embed_queries(["fjord", "norway " * 1000])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, rtol=1e-5)
    np.testing.assert_allclose(vectors[0], encoder.embed_queries(["fjord"])[0], atol=1e-5)


def test_prefixes_are_e5s_or_none(model):
    e5, bare = dense.Encoder(model), dense.Encoder(model, "none")
    for prefix, prefixed, plain in [
        ("query: ", e5.embed_queries, bare.embed_queries),
        ("passage: ", e5.embed_passages, bare.embed_passages),
    ]:
        np.testing.assert_allclose(prefixed(["ice"]), plain([f"{prefix}ice"]), atol=1e-5)
        assert not np.allclose(prefixed(["ice"]), plain(["ice"]), atol=1e-3)


def test_changed_prefixes_rebuild_the_index(corpus, model, capsys):
    for prefixes, is_made in [("e5", True), ("none", True), ("none", False)]:
        dense.open_or_build(corpus, None, model, "Flat", prefixes)
        assert ("nearest passages" in capsys.readouterr().out) == is_made


@pytest.mark.parametrize("kind", ["Flat", "IVF2,Flat", "HNSW8"])
def test_the_nearest_are_found(corpus, model, kind, capsys):
    engine = dense.open_or_build(corpus, None, model, kind)
    encoder = dense.Encoder(model)
    passages = encoder.embed_passages([f'"{title}"\n{text}' for title, text in PASSAGES])
    for query in ("capital of norway", "a body of ice"):
        cosines = passages @ encoder.embed_queries([query])[0]
        (found,) = engine.search([query], 3)
        if kind == "Flat":
            assert [row for row, _ in found] == list(np.argsort(-cosines)[:3])
        for row, score in found:
            assert score == pytest.approx(cosines[row], abs=1e-5)
    index = corpus.with_name(f"corpus.jsonl.{kind.replace(',', '-').lower()}")
    manifest = json.loads((index / "manifest.json").read_text(encoding="utf-8"))
    assert f"finds {manifest['recall']:.1%} of the 10 nearest" in capsys.readouterr().out
    assert manifest["recall"] == 1.0 if kind != "IVF2,Flat" else 0 < manifest["recall"] <= 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dense, "_build", None)  # would fail
        assert dense.open_or_build(corpus, None, model, kind).search(["ice"], 1) == engine.search(
            ["ice"], 1
        )


def test_an_index_from_elsewhere_must_fit(corpus, model, tmp_path):
    dense.open_or_build(corpus, None, model, "Flat")
    file = corpus.with_name("corpus.jsonl.flat") / "index.faiss"
    assert len(dense.open_or_build(corpus, file, model).search(["oslo"], 2)[0]) == 2
    short = write(tmp_path / "short.jsonl", PASSAGES[:3])
    with pytest.raises(CorpusError, match=r"the index has 6 passages, the corpus .* 3"):
        dense.open_or_build(short, file, model)
    with pytest.raises(CorpusError, match="cannot read the index"):
        dense.open_or_build(corpus, corpus, model)
    with pytest.raises(CorpusError, match="--faiss Nonsense"):
        dense.open_or_build(corpus, None, model, "Nonsense")
    with pytest.raises(CorpusError, match="cannot load the model"):
        dense.open_or_build(corpus, None, str(tmp_path))
