"""The task of a configuration: its questions, its settings and its errors."""

import asyncio
import json

import pytest

from paretopo.config import ConfigError, loads
from paretopo.protocols.search_r1 import SearchR1Episode
from paretopo.protocols.torl import TorlEpisode
from paretopo.tasks.calculator import CalculatorTask
from paretopo.tasks.choice import ensure_search_server, make_task
from paretopo.tasks.environment import open_environment
from paretopo.tasks.made_up_math import MadeUpMath
from paretopo.tasks.made_up_multihop import MadeUpMultihop
from paretopo.tasks.task import make_text_trace

FILES = (
    '[task]\nname = "math"\ntrain = "{}"\nheld_out = "{}"\n[warmup]\nsteps = 0\n[model]\npath = "x"'
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = 'maths'", r'task.name must be "calculator" or "math" or .*, got \'maths\''),
        ("name = 'math'\ntrain = 'a.jsonl'", r"must both be files, or both be \"made up\", got"),
        ("train = 'a'\nheld_out = 'b'", r'calculator are made up; .* got train = "a"'),
        ("name = 'math'\ntrain = 'a'\nheld_out = 'b'", r'model.path = "tiny" knows only the'),
        ("name = 'math'\n[tool]\ntimeout = 0", r"tool.timeout must be a number greater than 0"),
        ("name = 'math'\n[tool]\nisolation = 'none'", r'must be "bubblewrap" or "process", got'),
        ("[tool]\ntopk = 0", r"tool.topk must be an integer from 1 to 100, got 0"),
        ("[tool]\ntop_k = 3", r"unknown key tool.top_k; did you mean 'topk'\?"),
        ("[tool]\ncorpus = 'c'\nsearch_url = 'u'", "must not both be given: .* search_url = "),
    ],
)
def test_contradictions_are_refused_when_the_file_is_read(text, message):
    with pytest.raises(ConfigError, match=message):
        loads(f"[task]\n{text}")


def test_file_tasks_have_no_traces_and_need_a_search_server():
    given = "train = 'a'\nheld_out = 'b'\n[model]\npath = 'x'\n"
    with pytest.raises(ConfigError, match=r"warmup.steps must be 0 with task.train: .* = 350"):
        loads(f"[task]\nname = 'math'\n{given}")
    with pytest.raises(ConfigError, match=r"needs tool.search_url, .* or tool.corpus"):
        loads(f"[task]\nname = 'multihop'\n{given}[warmup]\nsteps = 0")
    loads(f"[task]\nname = 'multihop'\n{given}[warmup]\nsteps = 0\n[tool]\ncorpus = 'c'")


def test_the_name_chooses_the_task():
    kinds = {"calculator": CalculatorTask, "math": MadeUpMath, "multihop": MadeUpMultihop}
    for name, kind in kinds.items():
        task = make_task(loads(f'[task]\nname = "{name}"\nprompts = 30\n[evaluation]\nprompts = 9'))
        assert isinstance(task, kind)
        assert (len(task.training), len(task.held_out)) == (30, 9)
        asked = list(task.schedule(steps=10, per_step=6))
        assert sorted(q.text for q in asked[:30]) == sorted(q.text for q in task.training)
        prompt = task.prompt(task.training[0])
        assert (prompt == task.training[0].text) == (name == "math")
        assert bool(task.functions) == (name == "calculator")


def test_a_price_brings_the_solver():
    task = make_task(loads("[tool]\nsolver_price = 0.01"))
    assert [tool.__name__ for tool in task.functions] == ["calculator", "solver"]
    assert [tool.__name__ for tool in make_task(loads("")).functions] == ["calculator"]
    with open_environment(loads("[tool]\nsolver_price = 0.01")) as environment:
        assert environment.prices == {"solver": 0.01}
    with open_environment(loads("")) as environment:
        assert environment.prices == {}
    with pytest.raises(ConfigError, match=r"tool.solver_price is for task.name = \"calculator\""):
        loads('[task]\nname = "math"\n[tool]\nsolver_price = 0.01')


def write(path, rows):
    lines = [
        {"id": str(i), "datasource": "d", "question": q, "prompt": f"{q} =", "label": {"answer": a}}
        for i, (q, a) in enumerate(rows)
    ]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


def test_questions_come_from_files(tmp_path):
    train = write(tmp_path / "train.jsonl", [(f"{i}+1", str(i + 1)) for i in range(20)])
    held_out = write(tmp_path / "held.jsonl", [(f"{i}+2", [str(i + 2), "?"]) for i in range(9)])
    config = loads(FILES.format(train, held_out) + "\n[evaluation]\nprompts = 4")
    task = make_task(config)
    assert [q.text for q in task.training] == [f"{i}+1 =" for i in range(20)]
    assert task.training[3].answer == ["4"]
    assert {q.kind for q in task.training} == {"d"}
    assert len(task.held_out) == 4
    assert task.held_out == make_task(config).held_out
    assert all(q.answer[1] == "?" for q in task.held_out)
    with pytest.raises(ConfigError, match="no traces"):
        task.traces(0, 1, 0, 0.0)


def test_bad_files_are_named(tmp_path):
    train = write(tmp_path / "train.jsonl", [("1+1", "2")])
    with pytest.raises(ConfigError, match=r"task.held_out: cannot read .*nothing.jsonl"):
        make_task(loads(FILES.format(train, tmp_path / "nothing.jsonl")))
    with pytest.raises(ConfigError, match=r"task.held_out: 1 of its questions are trained on"):
        make_task(loads(FILES.format(train, train)))
    (tmp_path / "bad.jsonl").write_text('{"prompt": "x"}', encoding="utf-8")
    with pytest.raises(
        ConfigError, match=r"task.train: .*bad.jsonl, line 1: expected a row of pare"
    ):
        make_task(loads(FILES.format(tmp_path / "bad.jsonl", train)))


def test_a_corpus_that_is_not_there_is_named(tmp_path):
    text = '[task]\nname = "multihop"\n[tool]\ncorpus = "no/such.jsonl"'
    with pytest.raises(ConfigError, match=r"tool.corpus: .*no/such.jsonl"):
        with ensure_search_server(loads(text), tmp_path):
            pass


def test_a_corpus_of_ones_own_is_served(tmp_path):
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"id": "1", "contents": "\\"Oslo\\"\\nCapital of Norway."}\n', "utf-8")
    text = f'[task]\nname = "multihop"\n[tool]\ncorpus = "{corpus}"\ntopk = 1'
    with (
        ensure_search_server(loads(text), tmp_path) as config,
        open_environment(config) as environment,
    ):
        episode = environment.new_episode()
        assert isinstance(episode, SearchR1Episode)
        turn = asyncio.run(episode.step("<search> capital of Norway </search>"))
        assert 'Doc 1(Title: "Oslo") Capital of Norway.' in turn.feedback
        assert environment.grade("<answer> oslo </answer>", ["Oslo", "x"]) == 1.0
        assert environment.grade("<answer> Rome </answer>", "Oslo") == 0.0


@pytest.mark.sandbox
def test_mathematics_runs_programs_and_grades_boxes():
    text = (
        '[task]\nname = "math"\n[tool]\nworkers = 1\ntimeout = 30\n[optimiser]\nmax_tool_calls = 1'
    )
    with open_environment(loads(text)) as environment:
        episode = environment.new_episode()
        assert isinstance(episode, TorlEpisode)
        turn = asyncio.run(episode.step("```python\nprint(6 * 7)\n```\n```output"))
        assert turn.feedback == "\n42\n```\n"
        assert episode.stop == ()  # optimiser.max_tool_calls are used up
        assert environment.grade("\\boxed{42}", "42") == 1.0
        assert environment.grade("\\boxed{42}", ["41", "\\frac{84}{2}"]) == 1.0
        assert environment.grade("42", "42") == 0.0


def test_missing_sandbox_names_the_key(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ConfigError, match=r"tool.isolation: .*bubblewrap"):
        with open_environment(loads('[task]\nname = "math"')):
            pass


def test_a_written_rollout_has_no_time_to_wait():
    class Slow:
        async def search_async(self, query):
            await asyncio.sleep(0)
            return []

    with pytest.raises(RuntimeError, match="must answer at once"):
        make_text_trace("q", SearchR1Episode(Slow()), ["<search> x </search>"])
