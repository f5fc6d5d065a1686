"""The search server refuses bad requests; the client survives failures of the server."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from support.loopback import replying

from paretopo.cli import main
from paretopo.tools.search import Document, SearchClient, ServerError
from paretopo.tools.search_engine.server import Limits, serve_in_thread


class Library:
    """Stands in for an engine: the best passage for "3" is passage 3."""

    name = "library"
    corpus = tuple({"id": str(i), "contents": f'"Title {i}"\nText {i}'} for i in range(10))

    def __init__(self, seconds=0.0):
        self.seconds = seconds
        self.asked = []

    def search(self, queries, topk):
        time.sleep(self.seconds)
        self.asked.append(list(queries))
        return [[((int(query) + i) % 10, 1.0 / (1 + i)) for i in range(topk)] for query in queries]


@pytest.fixture(scope="module")
def address():
    limits = Limits(topk=2, most_topk=5, queries=4, characters=10, body_kb=1)
    with serve_in_thread(Library(), limits) as address:
        yield address


def retrieve(address, message):
    return httpx.post(f"{address}/retrieve", json=message)


HALF_A_REQUEST = b"POST /retrieve HTTP/1.1\r\nhost: x\r\ncontent-length: 99\r\n\r\n{"


# ---- server ----------------------------------------------------------------------------------


def test_the_answer_is_that_of_search_r1(address):
    answer = retrieve(address, {"queries": ["3", "9"], "topk": 1, "return_scores": True})
    assert answer.status_code == 200
    assert answer.json() == {
        "result": [
            [{"document": {"id": "3", "contents": '"Title 3"\nText 3'}, "score": 1.0}],
            [{"document": {"id": "9", "contents": '"Title 9"\nText 9'}, "score": 1.0}],
        ]
    }


def test_documents_without_scores(address):
    answer = retrieve(address, {"queries": ["3"]}).json()
    assert [one["id"] for one in answer["result"][0]] == ["3", "4"]  # the server's own topk
    answer = retrieve(address, {"queries": ["3"], "topk": None}).json()
    assert len(answer["result"][0]) == 2
    assert retrieve(address, {"queries": []}).json() == {"result": []}


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        (b"{", 400, "the request: no JSON"),
        (b"\xff", 400, "the request: no JSON"),
        (b"[" * 900, 400, "the request: no JSON"),
        (rb'{"queries": ["\ud800"]}', 400, r"the request: '\ud800' is half of a surrogate pair"),
        (b"[]", 400, "expected {"),
        (b"{}", 400, "expected {"),
        (b'{"queries": "3"}', 400, "expected {"),
        (b'{"queries": [3]}', 400, "queries: expected texts, got '3'"),
        (b'{"queries": ["1","1","1","1","1"]}', 400, "queries: at most 4 a request, got 5"),
        (b'{"queries": ["12345678901"]}', 400, "queries: at most 10 characters, got 11"),
        (b'{"queries": ["1"], "topk": 6}', 400, "topk: expected 1 to 5, got 6"),
        (b'{"queries": ["1"], "topk": 0}', 400, "topk: expected 1 to 5, got 0"),
        (b'{"queries": ["1"], "topk": -1}', 400, "topk: expected 1 to 5, got -1"),
        (b'{"queries": ["1"], "topk": true}', 400, "topk: expected 1 to 5, got True"),
        (b'{"queries": ["1"], "topk": 1.5}', 400, "topk: expected 1 to 5, got 1.5"),
        (b'{"queries": ["1"], "return_scores": 1}', 400, "return_scores: expected true or false"),
        (b" " * 2000, 413, "a request may have 1 KiB"),
    ],
)
def test_bad_request_is_explained(address, body, status, reason):
    answer = httpx.post(f"{address}/retrieve", content=body)
    assert answer.status_code == status
    assert answer.json()["error"].startswith(reason)


def test_other_paths_and_methods_are_refused(address):
    assert httpx.get(f"{address}/health").json() == {"engine": "library", "passages": 10}
    assert httpx.get(f"{address}/retrieve").status_code == 405
    assert httpx.post(f"{address}/search").status_code == 404
    assert "error" in httpx.post(f"{address}/search").json()


def test_a_body_without_end_is_cut_off(address):
    with socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2]))) as client:
        client.sendall(b"POST /retrieve HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999\r\n\r\n")
        client.sendall(b" " * 4096)
        assert client.recv(1000).startswith(b"HTTP/1.1 413 ")
    assert retrieve(address, {"queries": ["1"]}).status_code == 200


def test_half_a_body_is_refused_in_time():
    with (
        serve_in_thread(Library(), Limits(body_seconds=0.5)) as address,
        socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2]))) as client,
    ):
        client.sendall(HALF_A_REQUEST)
        answer = client.makefile("rb").read()  # until the server closes the connection
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"must arrive within 0.5 seconds" in answer


ENDLESS = """
import time
from paretopo.tools.search_engine.server import serve
class Endless:
    name, corpus = "endless", ()
    def search(self, queries, topk):
        time.sleep(600)
serve(Endless(), "127.0.0.1", 0)
"""


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"", marks=pytest.mark.long),
        pytest.param(HALF_A_REQUEST, marks=pytest.mark.long),
        HALF_A_REQUEST.replace(b"99", b"18") + b'"queries": ["1"]}',
        pytest.param(b"POST /retrieve HTTP/1.1\r\nhost:", marks=pytest.mark.long),
    ],
)
def test_ctrl_c_ends_the_server_whatever_its_clients_do(sent):
    words = [sys.executable, "-c", ENDLESS]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        port = int(server.stdout.readline().partition("127.0.0.1:")[2].partition("/")[0])
        httpx.get(f"http://127.0.0.1:{port}/health")  # it serves, so it handles signals
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(sent)
            time.sleep(0.5)  # it has arrived
            server.send_signal(signal.SIGINT)
            assert server.wait(20) == -signal.SIGINT  # body_seconds are 30
    finally:
        server.kill()
        server.communicate()


def test_too_many_at_once_are_asked_to_come_back():
    limits = Limits(waiting=2)
    with serve_in_thread(Library(0.2), limits) as address:
        with ThreadPoolExecutor(8) as callers:
            answers = list(callers.map(lambda _: retrieve(address, {"queries": ["1"]}), range(8)))
        assert {answer.status_code for answer in answers} == {200, 503}
        refused = next(answer for answer in answers if answer.status_code == 503)
        assert refused.headers["retry-after"] == "1"
        with SearchClient(address, connections=4) as client, ThreadPoolExecutor(4) as callers:
            found = list(callers.map(client.search, "0123"))  # it comes back
        assert [documents[0].id for documents in found] == list("0123")


# ---- client ----------------------------------------------------------------------------------


def test_documents_have_title_and_text(address):
    with SearchClient(address, topk=2) as client:
        first, second = client.search("3")
    assert first == Document("3", '"Title 3"\nText 3', 1.0)
    assert (first.title, first.text, second.score) == ('"Title 3"', "Text 3", 0.5)


def test_waiting_queries_are_batched():
    library = Library(0.1)
    with serve_in_thread(library) as address:
        with SearchClient(address, topk=1, connections=1, batch=16) as client:

            async def all_at_once():
                return await asyncio.gather(*(client.search_async(str(i % 10)) for i in range(40)))

            found = asyncio.run(all_at_once())
            assert [documents[0].id for documents in found] == [str(i % 10) for i in range(40)]
            assert 3 <= len(library.asked) <= 5
            assert max(map(len, library.asked)) <= 16
            assert [d[0].id for d in client.search_all(["7", "8"])] == ["7", "8"]


def test_long_queries_are_cut():
    with replying(lambda *_: (200, {"result": [[]]})) as (address, seen):
        with SearchClient(address) as client:
            assert client.search("x" * 100_000) == []
    assert len(seen[0][1]["queries"][0]) == 4000


def test_it_tries_again(monkeypatch):
    answers = iter([(503, {"error": "busy"}), (502, b"<html>"), (200, {"result": [[]]})])
    with replying(lambda *_: next(answers)) as (address, seen):
        with SearchClient(address, backoff=0.01) as client:
            assert client.search("x") == []
    assert len(seen) == 3
    assert seen[0] == ("/retrieve", {"queries": ["x"], "topk": 3, "return_scores": True})


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_a_server_that_is_gone_is_named():
    port = free_port()
    with SearchClient(f"http://127.0.0.1:{port}", retries=2, backoff=0.01) as client:
        message = (
            rf"the search server at http://127.0.0.1:{port}/retrieve does not answer, tried 3 "
            "times in 0 s: ConnectError: .*is it running"
        )
        for _ in range(2):
            with pytest.raises(ServerError, match=message):
                client.search("x")
        with pytest.raises(ServerError, match=message):
            asyncio.run(client.search_async("x"))


def test_a_slow_server_is_given_up():
    with replying(lambda *_: (time.sleep(1), (200, {}))[1]) as (address, _):
        with SearchClient(address, timeout=0.1, retries=1, backoff=0.01) as client:
            with pytest.raises(ServerError, match=r"tried 2 times .*ReadTimeout"):
                client.search("x")


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (400, {"error": "topk: expected 1 to 5"}, "refuses: 400 topk: expected 1 to 5"),
        (422, {"detail": [{"msg": "field required"}]}, "refuses: 422 .*field required"),
        (500, b"Internal Server Error", "refuses: 500 Internal Server Error"),
        (200, b"<html>", "something else than JSON: '<html>'"),
        (200, {"answer": 42}, "this is no answer of a search server: {'answer': 42}"),
        (200, {"result": [[{"document": "x", "score": 1}]]}, "no answer of a search server"),
        (200, {"result": [[], []]}, "2 answers came to 1 queries"),
    ],
)
def test_malformed_answer_is_reported(status, body, message):
    with replying(lambda *_: (status, body)) as (address, seen):
        with SearchClient(address, backoff=0.01) as client:
            with pytest.raises(ServerError, match=message):
                client.search("x")
    assert len(seen) == 1  # not tried again: it would be the same


def test_settings_are_checked():
    with pytest.raises(ValueError, match="topk must be an integer of at least 1, got 0"):
        SearchClient(topk=0)
    with pytest.raises(ValueError, match="url must begin with http"):
        SearchClient("127.0.0.1:8000")
    client = SearchClient()
    client.close()
    client.close()
    with pytest.raises(RuntimeError, match="after shutdown"):
        client.search("x")


# ---- the command -----------------------------------------------------------------------------


def test_the_command_serves_a_corpus(tmp_path):
    path = tmp_path / "corpus.jsonl"
    path.write_text(
        "".join(
            json.dumps({"id": str(i), "contents": f'"T{i}"\n{text}'}) + "\n"
            for i, text in enumerate(["the river nile", "the mount everest", "the river amazon"])
        )
    )
    port = free_port()
    words = [sys.executable, "-m", "paretopo", "serve-search", str(path)]
    server = subprocess.Popen(
        [*words, "--port", str(port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},  # three passages are not worth a compilation
    )
    try:
        assert server.stdout is not None
        assert server.stdout.readline() == f"3 passages at http://127.0.0.1:{port}/retrieve\n"
        with SearchClient(f"http://127.0.0.1:{port}", retries=8) as client:
            assert {document.id for document in client.search("rivers")} == {"0", "2"}
    finally:
        server.terminate()
        server.communicate()
    assert (tmp_path / "corpus.jsonl.bm25").is_dir()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("missing.jsonl", "cannot read the corpus missing.jsonl: No such file"),
        ("missing.jsonl --topk 0", "topk must be from 1 to 100, got 0"),
        ("missing.jsonl --port 99999", "port must be from 0 to 65535, got 99999"),
    ],
)
def test_wrong_input_ends_in_one_line(words, message, capsys):
    assert main(["serve-search", *words.split()]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
