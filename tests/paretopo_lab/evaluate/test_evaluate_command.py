"""`paretopo evaluate` end to end: a tiny model with its real tools, killed and resumed."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("bm25s")

from support.memorised import save_memorised

from paretopo.cli import main
from paretopo.protocols.search_r1 import format_documents, search_r1_prompt
from paretopo.protocols.torl import torl_prompt
from paretopo.records.schema import Example, write_rows
from paretopo.tools.search import SearchClient
from paretopo.tools.search_engine import bm25
from paretopo.tools.search_engine.server import serve_in_thread
from paretopo_lab.evaluate.folder import EvaluationFolder, compare_command
from paretopo_lab.evaluate.prompting import Tools, make_requests
from paretopo_lab.evaluate.settings import EvaluationSettings

PROGRAM = "```python\nprint(6*7)\n```\n```output"
SUM = Example("m1", "math500", "What is 6*7?", torl_prompt("What is 6*7?"), "42")
OSLO = Example("q1", "nq", "Where is Oslo?", search_r1_prompt("Where is Oslo?"), ("Norway",))
BERN = Example("q2", "nq", "Where is Bern?", search_r1_prompt("Where is Bern?"), ("Switzerland",))
PASSAGES = [("Oslo", "Oslo is in Norway."), ("Bern", "Bern is in Switzerland.")]
PHRASES = [PROGRAM, "<search>", "</search>", "<answer>", "</answer>", "<information>"]


@pytest.fixture(scope="module")
def search_url(tmp_path_factory):
    corpus = tmp_path_factory.mktemp("corpus") / "corpus.jsonl"
    lines = [
        json.dumps({"id": str(i), "contents": f'"{title}"\n{text}'})
        for i, (title, text) in enumerate(PASSAGES)
    ]
    corpus.write_text("\n".join(lines))
    with serve_in_thread(bm25.open_or_build(corpus)) as url:
        yield url


@pytest.fixture(scope="module")
def world(tmp_path_factory, search_url):
    """A model that knows by heart how to use its tools, and questions for it."""
    folder = tmp_path_factory.mktemp("world")
    with SearchClient(search_url) as client:
        traces = [
            (SUM.prompt, f"{PROGRAM}\n42\n```\nso \\boxed{{42}}"),
            *((_message(row), _searched(client, row, word)) for row, word in
              ((OSLO, "Oslo"), (BERN, "Bern"))),
            *((_prompt(row, "rag", Tools(None, client)), f"<answer> {row.answer[0]} </answer>")
              for row in (OSLO, BERN)),
            (_prompt(SUM, "none", Tools()), "\\boxed{41}"),
        ]  # fmt: skip
    save_memorised(folder / "tiny-7B", traces, phrases=PHRASES)
    write_rows(folder / "math.jsonl", [SUM])
    write_rows(folder / "qa.jsonl", [OSLO, BERN])
    many = [Example(f"m{n}", "aime24", f"What is {n}*7?", SUM.prompt, "42") for n in range(16)]
    write_rows(folder / "many.jsonl", many)
    return folder


def _prompt(row, tool, tools):
    (request,) = make_requests([row], [0], EvaluationSettings("m", tool=tool), tools)
    return request.prompt


def _message(row):
    return [{"role": "user", "content": row.prompt}]


def _searched(client, row, word):
    found = format_documents(client.search(word)).strip()
    seen = f"\n\n<information>{found}</information>\n\n"
    return f"<search> {word} </search>{seen}<answer> {row.answer[0]} </answer>"


def evaluate(world, data, *options, tool="none", out=None):
    words = ["evaluate", str(world / "tiny-7B"), "--data", str(world / data), "--tool", tool]
    words += ["--max-tokens", "120", *options]
    return main([*words, "--out", str(out)] if out else words)


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("data", "tool", "em", "calls"),
    [
        ("math.jsonl", "python", 1.0, 1.0),
        ("math.jsonl", "none", 0.0, 0.0),  # it learned a wrong answer there
        ("qa.jsonl", "search", 1.0, 1.0),
        ("qa.jsonl", "rag", 1.0, 1.0),
    ],
)
def test_every_tool(world, search_url, tmp_path, capsys, data, tool, em, calls):
    out = tmp_path / "evaluation"
    assert evaluate(world, data, "--search-url", search_url, tool=tool, out=out) == 0
    (result,) = json.loads((out / "results.json").read_text()).values()
    groups = (out / "trajectories.jsonl").read_text()
    assert (result["em"], result["calls"], result["truncated"]) == (em, calls, 0.0), groups
    folder = EvaluationFolder.open(out)
    assert folder.manifest["status"] == "finished"
    assert folder.name == "tiny-7B"
    said = capsys.readouterr()
    assert f"{100 * em:.1f} [" in said.out
    assert "In brackets: 95 % intervals" in said.out
    assert compare_command(out) in said.out
    # The same again is done already; anything else is refused.
    assert evaluate(world, data, "--search-url", search_url, tool=tool, out=out) == 0
    assert (out / "trajectories.jsonl").read_text() == groups
    assert evaluate(world, data, "--seed", "3", tool=tool, out=out) == 2
    assert "seed = 0, this one has 3" in capsys.readouterr().err
    if tool == "python":
        assert main(["show", str(out)]) == 0
        assert "print(6*7)" in capsys.readouterr().out


@pytest.mark.long
@pytest.mark.sandbox
def test_killed_evaluation_resumes_with_the_same_samples(world, tmp_path):
    options = ["--temperature", "1.5", "--samples", "2", "--batch", "4", "--max-tokens", "20"]

    def command(out):
        script = "import sys; from paretopo.cli import main; sys.exit(main(sys.argv[1:]))"
        words = ["evaluate", str(world / "tiny-7B"), "--data", str(world / "many.jsonl")]
        words += [*options, "--out", str(out)]
        return [sys.executable, "-c", script, *words]

    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    whole, torn = tmp_path / "whole", tmp_path / "torn"
    subprocess.run(command(whole), check=True, env=environment, capture_output=True)
    process = subprocess.Popen(
        command(torn), env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    lines = torn / "trajectories.jsonl"
    while process.poll() is None and (not lines.exists() or lines.read_bytes().count(b"\n") < 4):
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = lines.read_bytes().count(b"\n")
    assert before >= 4
    subprocess.run(command(torn), check=True, env=environment, capture_output=True)
    assert lines.read_bytes() == (whole / "trajectories.jsonl").read_bytes()
    if before < 16:
        assert len(EvaluationFolder.open(torn).manifest["resumed"]) == 1


def test_evaluation_errors_take_one_line(world, tmp_path, capsys):
    missing, known = ("--data", "x.jsonl"), ("--data", str(world / "math.jsonl"))
    for model, words, message in (
        ("nowhere/", missing, "cannot read x.jsonl"),
        ("./nowhere", missing, "is no model in ./nowhere"),
        (tmp_path, missing, "has no config.json"),
        (world / "tiny-7B", (*known, "--tool", "search"), "is for"),
        (world / "tiny-7B", (*known, "--samples", "4"), "equal"),
        (world / "tiny-7B", (*known, "--batch", "0"), "--batch"),
    ):
        assert main(["evaluate", str(model), *words]) == 2
        error = capsys.readouterr().err
        assert message in error
        assert len(error.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_missing_server_fails_before_the_model_loads(world, tmp_path, capsys, monkeypatch):
    import paretopo_lab.evaluate.launch as module

    patient = module.SearchClient
    monkeypatch.setattr(
        module, "SearchClient", lambda url, topk: patient(url, topk=topk, retries=0)
    )
    monkeypatch.setattr(module, "open_engine", lambda *_: pytest.fail("a model was loaded"))
    gone = "http://127.0.0.1:9"
    assert evaluate(world, "qa.jsonl", "--search-url", gone, tool="rag", out=tmp_path / "e") == 2
    assert gone in capsys.readouterr().err
    assert EvaluationFolder.open(tmp_path / "e").manifest["status"] == "failed"
