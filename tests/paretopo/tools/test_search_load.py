"""A million passages, 64 clients, one minute; run with -m slow, about 10 minutes on 2 cores."""

import json
import random
import resource
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from paretopo.tools.search import SearchClient
from paretopo.tools.search_engine import bm25

PASSAGES, WORDS, VOCABULARY = 1_000_000, 100, 400_000
CLIENTS, SECONDS = 64, 60.0


def write_corpus(path):
    """Passages of 100 words whose frequencies fall as in a natural language (Zipf-Mandelbrot)."""
    rng = np.random.default_rng(0)
    syllables = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
    words = np.array(
        ["".join(syllables[i // 70**k % 70] for k in range(4)) for i in range(VOCABULARY)]
    )
    shares = np.cumsum(1 / (np.arange(VOCABULARY) + 2.7) ** 1.05)
    with path.open("w", encoding="utf-8") as file:
        for start in range(0, PASSAGES, 10_000):
            drawn = np.searchsorted(shares, rng.random((10_000, WORDS)) * shares[-1])
            for i, row in enumerate(words[drawn], start):
                contents = f'"{" ".join(row[:3])}"\n{" ".join(row[3:])}'
                file.write(json.dumps({"id": str(i), "contents": contents}) + "\n")


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_million_passages(tmp_path):
    corpus = tmp_path / "corpus.jsonl"
    write_corpus(corpus)
    started = time.monotonic()
    bm25._build(corpus, tmp_path / "index")
    build = time.monotonic() - started
    started = time.monotonic()
    engine = bm25.open_or_build(corpus, tmp_path / "index")
    opening = time.monotonic() - started
    assert opening < 30  # a few seconds, on a machine with nothing else to do
    command = [sys.executable, "-m", "paretopo", "serve-search", str(corpus)]
    server = subprocess.Popen(
        [*command, "--index", str(tmp_path / "index"), "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        address = server.stdout.readline().split()[-1].removesuffix("/retrieve")
        seconds, wrong = ask_for_a_minute(address, engine)
    finally:
        server.terminate()
        server.communicate()
    rate = len(seconds) / SECONDS
    late = np.quantile(seconds, [0.5, 0.99]) * 1000
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(
        f"built in {build:.0f} s, opened in {opening:.1f} s, {rate:.0f} queries/s, median "
        f"{late[0]:.0f} ms, 99 % {late[1]:.0f} ms, the server's peak {children:.0f} MiB"
    )
    assert wrong == []
    assert rate >= 100


def ask_for_a_minute(address, engine):
    """Return the seconds of each answer and the errors; every query must find its own passage."""
    seconds, wrong = [], []
    until = time.monotonic() + SECONDS

    def client(seed):
        rng = random.Random(seed)
        with SearchClient(address, connections=1, retries=0) as search:
            while time.monotonic() < until:
                row = rng.randrange(PASSAGES)
                words = engine.corpus[row]["contents"].split()
                query = " ".join(rng.sample(words, 8))
                started = time.monotonic()
                try:
                    found = search.search(query)
                except Exception as error:
                    wrong.append(error)
                else:
                    seconds.append(time.monotonic() - started)
                    if str(row) not in {document.id for document in found}:
                        missed.append(row)

    missed = []
    clients = [threading.Thread(target=client, args=(seed,)) for seed in range(CLIENTS)]
    for one in clients:
        one.start()
    for one in clients:
        one.join()
    # Eight common words can fit another passage better.
    assert len(missed) < 0.1 * len(seconds)
    return seconds, wrong
