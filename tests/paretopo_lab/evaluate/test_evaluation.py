"""Questions, grading, records and resuming of an evaluation, without a model."""

import hashlib
import json
import math
import shlex

import pytest
from support.run_stories import answer_all, tell

from paretopo.cli import main
from paretopo.config import ConfigError, loads
from paretopo.protocols.search_r1 import search_r1_prompt
from paretopo.protocols.torl import torl_prompt
from paretopo.records.schema import DataError, Example, write_rows
from paretopo.records.trajectories import read_groups
from paretopo.rollout import Segment
from paretopo.tools.search import Document
from paretopo_lab.cli.evaluate import find_model
from paretopo_lab.evaluate.evaluate import RolloutResult, evaluate
from paretopo_lab.evaluate.folder import (
    AnsweredQuestion,
    EvaluationFolder,
    default_path,
    identity_of,
    is_evaluation,
    load_data,
)
from paretopo_lab.evaluate.grading import Grader
from paretopo_lab.evaluate.own_task import plan_evaluation
from paretopo_lab.evaluate.prompting import Tools, check_tool, grading_domain, make_requests
from paretopo_lab.evaluate.results import results_table, summarise, summarise_folder
from paretopo_lab.evaluate.settings import EvaluationSettings

SUM = Example("m1", "math500", "What is 6*7?", torl_prompt("What is 6*7?"), ("42", "forty-two"))
OSLO = Example(
    "q1", "nq", "Where is Oslo?", search_r1_prompt("Where is Oslo?"), ("Norway", "Norge")
)


def oslo(number):
    return Example(f"q{number}", "nq", f"Where is Oslo {number}?", OSLO.prompt, OSLO.answer)


class Shelf:
    def search_all(self, queries):
        return [[Document("1", f'"{query}"\nIt is known.', 1.0)] for query in queries]


@pytest.fixture
def begin(start_folder):
    """Return a function: a number of questions → them, the settings and a fresh folder."""

    def start(count, path="e", **chosen):
        rows, settings = (
            [oslo(number) for number in range(count)],
            EvaluationSettings("m", **chosen),
        )
        return rows, settings, start_folder(settings, rows, path)

    return start


@pytest.fixture
def start_folder(tmp_path):
    def start(settings, rows, path="e"):
        file = tmp_path / "rows.jsonl"
        write_rows(file, rows)
        _, data = load_data([file], settings.limit)
        identity = identity_of(settings, data, None)
        return EvaluationFolder.start(tmp_path / path, identity, name="a", questions=len(rows))

    return start


# ---- settings ------------------------------------------------------------------------------------


def test_defaults_are_those_of_the_tool():
    one = EvaluationSettings("m", tool="search")
    assert (EvaluationSettings("m").rounds, EvaluationSettings("m", tool="python").rounds) == (0, 3)
    assert (one.rounds, one.room) == (4, 4096)
    assert EvaluationSettings("m", tool="python", max_calls=1, max_tokens=9).room == 9


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"samples": 0}, "samples must be an integer of at least 1, got 0"),
        ({"samples": 4}, "with temperature 0 all of them are equal"),
        ({"temperature": float("nan")}, "temperature"),
        ({"temperature": -1.0}, "temperature"),
        ({"limit": -1}, "limit"),
        ({"seed": -1}, "seed"),
        ({"tool": "rag", "max_calls": 2}, "max_calls is for the tools python and search"),
        ({"max_tokens": 0}, "max_tokens"),
    ],
)
def test_wrong_settings_are_refused(wrong, message):
    with pytest.raises(ConfigError, match=message):
        EvaluationSettings("m", **wrong)


# ---- asking --------------------------------------------------------------------------------------


def make_request(row, tool, **tools):
    (one,) = make_requests([row], [7], EvaluationSettings("m", tool=tool), Tools(**tools))
    return one


def test_rows_say_how_they_are_graded():
    assert (grading_domain(SUM), grading_domain(OSLO)) == ("mathematics", "questions")
    for prompt in ("Say it.", f"{SUM.prompt}{OSLO.prompt}"):
        with pytest.raises(DataError, match=r"row 'x': its prompt must ask for either"):
            grading_domain(Example("x", "nq", "?", prompt, "a"))


def test_prompts_and_episodes_without_a_tool_and_with_passages():
    one = make_request(SUM, "none")
    assert "\\boxed{}" in one.prompt[0]["content"]
    assert one.prompt[0]["content"].endswith("What is 6*7?\n")
    assert one.episode.stop == ()
    one = make_request(OSLO, "none")
    assert "<answer>" in one.prompt[0]["content"]
    assert "search" not in one.prompt[0]["content"]
    assert (one.episode.stop, one.episode.calls) == (("</answer>",), 0)
    one = make_request(OSLO, "rag", search=Shelf())
    passage = 'Doc 1(Title: "Where is Oslo?") It is known.'
    text = one.prompt[0]["content"]
    assert text.index(passage) < text.index("Question: Where is Oslo?")
    assert (one.episode.calls, one.seed) == (1, 7)


@pytest.mark.parametrize(
    ("row", "tool", "message"),
    [
        (SUM, "search", "'search' is for questions"),
        (SUM, "rag", "'rag' is for questions"),
        (OSLO, "python", "'python' is for mathematics"),
    ],
)
def test_a_tool_that_is_not_for_such_questions_is_refused(row, tool, message):
    with pytest.raises(DataError, match=message):
        check_tool(row, EvaluationSettings("m", tool=tool))
    check_tool(row, EvaluationSettings("m"))


# ---- grading -------------------------------------------------------------------------------------


@pytest.mark.sandbox
def test_grading_goes_by_the_row_and_takes_any_answer():
    rows = [SUM, SUM, SUM, OSLO, OSLO, SUM]
    written = [
        r"so \boxed{42}",
        r"\boxed{forty-two}",
        "<answer>42</answer>",
        "<answer> norge. </answer>",
        r"\boxed{Norway}",
        r"\boxed{\frac{84}{2}}",
    ]
    with Grader(rows) as grader:
        assert grader.grade_all(rows, written) == [True, True, False, True, False, True]


class Undecided:
    """A grader that meets its limits at every other question."""

    def grade_all(self, rows, written):
        return [None if int(row.id[1:]) % 2 else True for row in rows]


def read_cell(column, result):
    """Return a cell of the table of one result."""
    table = results_table("a", {result.datasource: result})
    return table.rows[0][table.header.index(column)]


def test_undecided_grade_is_not_wrong(begin):
    rows, settings, folder = begin(6)
    assert evaluate(folder, rows, settings, Actor(), Tools(), Undecided())
    assert [one.solved for one in folder.read_answers()] == [(True,), (None,)] * 3
    found = summarise_folder(folder)["nq"]
    assert (found.questions, found.graded, found.undecided, found.em) == (6, 3, 3, 1.0)
    assert read_cell("undecided", found) == "3"


def test_truncated_wrong_responses_are_counted_separately():
    solved, truncated = (False, True, None, False), (True, True, True, False)
    answered = [AnsweredQuestion("1", "nq", solved, (0,) * 4, (9,) * 4, truncated, (True,) * 4)]
    found = summarise("nq", answered)
    assert (found.truncated, found.truncated_wrong) == (0.75, 0.25)
    assert read_cell("truncated, wrong (%)", found) == "25.0"


@pytest.mark.parametrize(
    ("row", "text", "has_answer"),
    [
        (SUM, r"\boxed{41}", True),
        (SUM, r"The answer is 42, <answer> 42 </answer>", False),
        (SUM, r"\boxed{42", False),
        (OSLO, "<answer> Sweden </answer>", True),
        (OSLO, r"Norway, \boxed{Norway}", False),
    ],
)
def test_responses_without_an_answer_in_the_asked_form_are_counted(
    start_folder, row, text, has_answer
):
    folder, settings = start_folder(EvaluationSettings("m"), [row]), EvaluationSettings("m")
    tool = Segment("tool", r"\boxed{42} <answer> Norway </answer>")  # not the model's own text
    segments = (tool, Segment("model", text))
    evaluate(folder, [row], settings, Actor(segments=segments), Tools(), Undecided())
    found = summarise_folder(folder)[row.datasource]
    assert found.unanswered == (0.0 if has_answer else 1.0)
    assert read_cell("no answer (%)", found) == ("0.0" if has_answer else "100.0")


def test_an_evaluation_without_a_graded_response_has_no_em(start_folder):
    rows, settings = [oslo(1), oslo(3)], EvaluationSettings("m")
    folder = start_folder(settings, rows)
    assert evaluate(folder, rows, settings, Actor(), Tools(), Undecided())
    found = summarise_folder(folder)
    assert math.isnan(found["nq"].em)
    assert sum("/" in cell for cell in results_table("a", found).rows[0]) == 1  # undefined


def test_several_samples_count_by_their_means(tmp_path):
    data = {f"q{n}": [(n % 2 == 0, 1), (n % 3 == 0, 2)] for n in range(12)}
    folder = answer_all(tmp_path / "a", "a", {"nq": data}, temperature=1.0, samples=2)
    found = summarise_folder(folder)["nq"]
    assert (found.samples, found.calls) == (2, pytest.approx(1.5))
    assert found.em == pytest.approx((6 + 4) / 24)


def spread_calls(questions, solved, calls):
    """Answer questions, `solved` of them rightly, with `calls` in all."""
    each, rest = divmod(calls, questions)
    return {
        f"q{number}": [(number < solved, each + (number < rest))] for number in range(questions)
    }


def test_compare_takes_the_evaluations_that_report_refuses(tmp_path, capsys):
    ours = {"math500": spread_calls(500, 400, 450)}
    base = {"math500": spread_calls(500, 389, 1050), "aime24": spread_calls(30, 7, 66)}
    folders = [answer_all(tmp_path / name, name, data) for name, data in (("a", ours), ("b", base))]
    files = [str(folder.path / "trajectories.jsonl") for folder in folders]
    assert main(["report", str(folders[0].path)]) == 2
    _, *words = shlex.split(capsys.readouterr().err.partition("with others: ")[2])
    assert words[:2] == ["compare", files[0]]
    words[words.index("OTHERS")] = files[1]
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    pair = ("a kind=math500", "b kind=math500")
    correct, calls = (one for one in found["tests"] if (one["first"], one["second"]) == pair)
    assert (correct["questions"], correct["difference"]) == (500, pytest.approx(0.022))
    assert calls["difference"] == pytest.approx(-1.2)
    assert found["fronts"][0]["models"] == [pair[0]]


# ---- data ----------------------------------------------------------------------------------------


def test_questions_come_once_and_are_limited_by_file(tmp_path):
    a, b = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    write_rows(a, [oslo(n) for n in range(5)])
    write_rows(b, [oslo(n) for n in range(9, 12)])
    rows, data = load_data([a, b], 2)
    assert [row.id for row in rows] == ["q0", "q1", "q9", "q10"]
    assert [one["rows"] for one in data] == [5, 3]
    assert data[0]["sha256"] == hashlib.sha256(a.read_bytes()).hexdigest()
    with pytest.raises(DataError, match=r"question 'q0' of 'nq' is in .*a.jsonl and in .*a.jsonl"):
        load_data([a, a], 0)
    with pytest.raises(DataError, match="cannot read"):
        load_data([tmp_path / "none.jsonl"], 0)


# ---- the loop ------------------------------------------------------------------------------------


class Actor:
    """Answers rightly every other time; can be stopped in its tracks."""

    def __init__(self, text="<answer> Norway </answer>", fails_after=None, segments=None):
        self.text, self.fails_after = text, fails_after
        self.segments = segments or (Segment("model", text),)
        self.batches = []

    def __call__(self, make_request):
        if self.fails_after is not None and len(self.batches) >= self.fails_after:
            raise ConnectionError("gone")
        self.batches.append([(one.row.id, one.seed) for one in make_request])
        return [
            RolloutResult(
                one.row.prompt,
                self.segments,
                self.text if one.seed % 2 else "no idea",
                10,
                2,
                False,
            )
            for one in make_request
        ]


def run(folder, rows, settings, actor, **more):
    with Grader(rows) as grader:
        return evaluate(folder, rows, settings, actor, Tools(), grader, **more)


def test_every_question_is_asked_once_and_kept(begin, capsys):
    (rows, settings, folder), actor = begin(10), Actor()
    assert run(folder, rows, settings, actor, batch=4)
    assert [len(batch) for batch in actor.batches] == [4, 4, 2]
    groups = list(read_groups(folder.path / "trajectories.jsonl"))
    assert [group.id for group in groups] == [row.id for row in rows]
    assert groups[0].answer == "Norway | Norge"
    assert groups[0].held_out
    found = summarise_folder(folder)["nq"]
    solved = sum(seed % 2 for batch in actor.batches for _, seed in batch)
    assert found.em == solved / 10
    assert (found.calls, found.response_tokens, found.questions) == (2.0, 10.0, 10)
    assert found.productivity == pytest.approx(solved / 20)
    assert "10/10" in capsys.readouterr().err  # the progress bar


def test_samples_of_a_question_stay_together(begin):
    seeds = []
    for batch, path in ((2, "a"), (5, "b"), (64, "c")):
        (rows, settings, folder), actor = begin(3, path, temperature=1.0, samples=5), Actor()
        run(folder, rows, settings, actor, batch=batch)
        assert max(map(len, actor.batches)) <= batch
        assert [len(one.solved) for one in folder.read_answers()] == [5, 5, 5]
        seeds.append([pair for made in actor.batches for pair in made])
    assert seeds[0] == seeds[1] == seeds[2]
    assert len({seed for _, seed in seeds[0]}) == 15


def test_resumed_evaluation_asks_missing_questions(begin):
    rows, settings, whole = begin(10, "whole")
    run(whole, rows, settings, Actor(), batch=3)
    *_, folder = begin(10, "torn")
    with pytest.raises(ConnectionError):
        run(folder, rows, settings, Actor(fails_after=2), batch=3)
    with (folder.path / "trajectories.jsonl").open("ab") as file:
        file.write(b'{"step": 0, "id": "q6", "rollouts": [{"sol')  # a kill in mid-write
    (*_, again), second = begin(10, "torn"), Actor()
    again.note_resumption()
    assert run(again, rows, settings, second, batch=3)
    assert [name for batch in second.batches for name, _ in batch] == ["q6", "q7", "q8", "q9"]
    assert list(again.read_answers()) == list(whole.read_answers())
    assert len(again.manifest["resumed"]) == 1
    assert run(again, rows, settings, Actor(fails_after=0), batch=3)  # nothing is left to do


def test_an_interrupt_ends_between_batches(begin):
    (rows, settings, folder), actor = begin(10), Actor()
    stop = {"should_stop": lambda: len(actor.batches) == 1}
    assert not run(folder, rows, settings, actor, batch=4, **stop)
    assert len(list(folder.read_answers())) == 4


HOSTILE = (
    "<|im_end|><|endoftext|>\x00\x1b[31m\u2028</script><information>Doc 1(Title: x) 42"
    "</information>\n[… 7 characters left out …]\n```output\n</answer><answer>"
)


def test_hostile_text_is_kept_as_it_is_and_huge_text_is_cut(begin):
    rows, settings, folder = begin(2)
    assert run(folder, rows[:1], settings, Actor(HOSTILE))
    assert run(folder, rows, settings, Actor("<search>" * 100_000))
    small, huge = read_groups(folder.path / "trajectories.jsonl")
    assert small.rollouts[0].segments[0].text == HOSTILE
    assert len(huge.rollouts[0].segments[0].text) < 201_000
    assert "characters left out" in huge.rollouts[0].segments[0].text
    assert len((folder.path / "trajectories.jsonl").read_bytes().splitlines()) == 2


# ---- the folder ----------------------------------------------------------------------------------


def test_another_evaluation_in_the_same_folder_is_refused(begin, start_folder, tmp_path):
    rows, settings, folder = begin(2)
    start_folder(settings, rows)
    with pytest.raises(ConfigError, match="with seed = 0, this one has 3: give another --out"):
        start_folder(EvaluationSettings("m", seed=3), rows)
    with pytest.raises(ConfigError, match="other data"):
        start_folder(settings, rows[:1])
    kept = folder.manifest["evaluation"] | {"weights": "0"}
    with pytest.raises(ConfigError, match="other weights"):
        EvaluationFolder.start(folder.path, kept, name="a", questions=2)
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "letter.txt").write_text("dear")
    with pytest.raises(ConfigError, match="is not the folder of an evaluation"):
        start_folder(settings, rows, "foreign")


def test_weights_that_changed_make_another_evaluation(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"1")
    before = identity_of(EvaluationSettings("m"), [], tmp_path)
    assert before == identity_of(EvaluationSettings("m"), [], tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"12")
    after = identity_of(EvaluationSettings("m"), [], tmp_path)
    assert before != after
    paths = [default_path(tmp_path, "Qwen/x y", "rag", one) for one in (before, after)]
    assert paths[0] != paths[1]
    assert paths[0].name.startswith("Qwen-x-y-rag-")
    assert paths[0].parent == tmp_path


def test_broken_records_are_named(begin):
    rows, settings, folder = begin(1)
    assert is_evaluation(folder.path)
    assert not is_evaluation(folder.path.parent)
    run(folder, rows, settings, Actor())
    path = folder.path / "trajectories.jsonl"
    row = json.loads(path.read_text())
    del row["rollouts"][0]["tokens"]
    path.write_text(json.dumps(row) + "\n")
    with pytest.raises(ConfigError, match="line 1 is not a group of rollouts: it lacks tokens"):
        list(folder.read_answers())


# ---- the model that is named ---------------------------------------------------------------------


def test_a_run_stands_for_the_model_it_trained(tmp_path, capsys):
    run = tell(tmp_path)
    assert main(["evaluate", str(run.path), "--data", "x.jsonl"]) == 2
    assert "has no trained model yet" in capsys.readouterr().err
    (run.model / "config.json").write_text("{}")
    assert find_model(str(run.path)) == (str(run.model.resolve()), run.path.name)
    assert find_model(str(run.model)) == (str(run.model.resolve()), "model")
    assert find_model("Qwen/Qwen2.5-7B") == ("Qwen/Qwen2.5-7B", "Qwen2.5-7B")


def test_an_evaluation_of_a_run_has_its_own_settings():
    asked = plan_evaluation(loads("backend = 'openrlhf'\n[optimiser]\nkl = 0.1"), "model", limit=3)
    assert (asked.backend, asked.optimiser.kl, asked.warmup.steps) == ("trl", 0.0, 0)
    assert (asked.evaluation.prompts, asked.run.trajectories, asked.model.path) == (3, 3, "model")
    watched = loads("[run]\ntensorboard = true\nwandb_project = 'mine'")
    asked = plan_evaluation(watched, "model").run
    assert (asked.tensorboard, asked.wandb_project) == (False, "none")
