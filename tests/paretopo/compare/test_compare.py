"""paretopo compare: from files of any columns to a front with its uncertainty."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from paretopo.cli import main
from paretopo.compare.analysis import analyse
from paretopo.compare.columns import parse_objective
from paretopo.compare.logs import read_logs
from paretopo.compare.scores import collect_scores

OBJECTIVES = ("--objective", "accuracy:max", "--objective", "tokens:min")
HEADER = ["model", "question", "accuracy", "tokens"]


def write_csv(path, rows, header=HEADER):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return str(path)


def make_rows(models, questions=40, seed=0):
    """Return rows of models whose accuracy and tokens are given."""
    rng = np.random.default_rng(seed)
    return [
        [name, f"q{at}", int(rng.random() < accuracy), int(tokens * rng.uniform(0.8, 1.2))]
        for name, (accuracy, tokens) in models.items()
        for at in range(questions)
    ]


def run(capsys, *arguments):
    """Return status, output and errors of a command."""
    status = main(["compare", *arguments])
    return (status, *capsys.readouterr())


def run_json(capsys, *arguments):
    status, out, error = run(capsys, *arguments, "--json")
    assert status == 0, error
    return json.loads(out)


def refused(capsys, *arguments):
    """Return the error of a command that fails."""
    status, out, error = run(capsys, *arguments)
    assert (status, out) == (2, "")
    return error


def test_means_errors_front_and_volume_of_a_file(tmp_path, capsys):
    rows = [
        ["a", "q1", 1, 10], ["a", "q2", 0, 30],
        ["b", "q1", 1, 40], ["b", "q2", 1, 60],
        ["c", "q1", 0, 50], ["c", "q2", 1, 70],
    ]  # fmt: skip
    found = run_json(capsys, write_csv(tmp_path / "a.csv", rows), *OBJECTIVES, "--ref", "0,100")
    a, b, c = found["models"]
    assert (a["mean"], a["questions"], a["answers"]) == ({"accuracy": 0.5, "tokens": 20.0}, 2, 2)
    assert a["standard_error"] == {"accuracy": 0.5, "tokens": 10.0}
    assert [one["on_front"] for one in (a, b, c)] == [True, True, False]
    [front] = found["fronts"]
    assert front["models"] == ["b", "a"]
    assert front["hypervolume"] == pytest.approx(1.0 * 50 + 0.5 * 30)
    assert found["paired"]
    assert not found["reference_guessed"]
    assert found["reference"] == {"accuracy": 0.0, "tokens": 100.0}


def test_dominance_of_a_draw_of_two_questions(tmp_path, capsys):
    # Draws: q1 twice (1/4): equal accuracy, fewer tokens; q2 twice (1/4) and both (1/2): fewer
    # tokens, but less accurate.
    rows = [["a", "q1", 1, 10], ["a", "q2", 0, 10], ["b", "q1", 1, 20], ["b", "q2", 1, 20]]
    found = run_json(capsys, write_csv(tmp_path / "a.csv", rows), *OBJECTIVES)
    a, b = found["models"]
    assert b["dominated_by"]["a"] == pytest.approx(0.25, abs=0.02)
    assert a["dominated_by"] == {}
    assert b["on_front_probability"] == pytest.approx(0.75, abs=0.02)
    assert a["on_front_probability"] == 1.0


def test_the_table_names_the_dominating_model(tmp_path, capsys):
    rows = make_rows({"good": (0.9, 100), "bad": (0.2, 300)})
    status, out, _ = run(capsys, write_csv(tmp_path / "a.csv", rows), *OBJECTIVES)
    assert status == 0
    [line] = [line for line in out.splitlines() if line.startswith("| bad")]
    assert "good (>0.99)" in line
    assert "Models: 2. Questions of each: 40 (all models answered the same)." in out


def test_several_answers_to_a_question_count_as_their_mean(tmp_path, capsys):
    rows = [["a", "q1", 1, 10], ["a", "q1", 0, 20], ["a", "q1", 0, 30], ["a", "q2", 1, 40]]
    found = run_json(capsys, write_csv(tmp_path / "a.csv", rows), *OBJECTIVES)
    [a] = found["models"]
    assert a["mean"] == {"accuracy": pytest.approx((1 / 3 + 1) / 2), "tokens": 30.0}
    assert (a["questions"], a["answers"]) == (2, 4)


def test_different_questions_are_paired_on_the_common_ones(tmp_path, capsys):
    rows = make_rows({"a": (0.5, 100), "b": (0.5, 200)})
    path = write_csv(tmp_path / "a.csv", [*rows, ["b", "more", 1, 5]])
    found = run_json(capsys, path, *OBJECTIVES)
    assert [one["questions"] for one in found["models"]] == [40, 40]
    assert (
        "Models answered different questions (b 41): all are compared on the 40 that they share."
        in found["notes"]
    )


def test_rows_without_questions_are_independent(tmp_path, capsys):
    rows = [row for row in make_rows({"a": (0.5, 100), "b": (0.5, 200)}) if row[1] != "q0"]
    path = write_csv(tmp_path / "a.csv", rows)
    assert not run_json(capsys, path, *OBJECTIVES, "--question", "none")["paired"]


def test_unshared_questions_that_were_guessed_are_noted(tmp_path, capsys):
    path = write_csv(
        tmp_path / "a.csv", [["a", 1, 1, 10], ["a", 2, 0, 9], ["b", 3, 1, 9], ["b", 4, 1, 8]]
    )
    found = run_json(capsys, path, *OBJECTIVES)
    assert not found["paired"]
    assert any(
        note.startswith("Not paired: the 2 models share no question") for note in found["notes"]
    )
    error = refused(capsys, path, *OBJECTIVES, "--question", "question")
    assert "name another column, or --question none" in error


def test_a_leaderboard_has_no_intervals(tmp_path, capsys):
    path = write_csv(
        tmp_path / "a.csv", [["a", 0.8, 10], ["b", 0.9, 20]], ["model", "accuracy", "tokens"]
    )
    found = run_json(capsys, path, *OBJECTIVES)
    assert found["replicates"] == 0
    assert found["fronts"][0]["interval"] == [None, None]
    assert found["models"][0]["on_front_probability"] is None
    status, out, _ = run(capsys, path, *OBJECTIVES)
    assert status == 0
    assert "there are no intervals and no shares" in out


def test_incomplete_rows_are_counted_and_left_out(tmp_path, capsys):
    rows = make_rows({"a": (0.5, 100)})
    path = write_csv(tmp_path / "a.csv", [*rows, ["a", "q40", "", 5], ["a", "q41", 1, "NaN"]])
    found = run_json(capsys, path, *OBJECTIVES)
    assert found["models"][0]["questions"] == 40
    assert f"{path}: 2 of 42 rows lack a value of an objective and are left out." in found["notes"]


def test_long_texts_and_tabs_in_a_table(tmp_path, capsys):
    (tmp_path / "a.tsv").write_text(f"accuracy\ttext\n1\t{'x' * 200_000}\n")
    found = run_json(
        capsys, str(tmp_path / "a.tsv"), "--objective", "accuracy:max",
        "--objective", "len(text):min",
    )  # fmt: skip
    assert found["models"][0]["mean"] == {"accuracy": 1.0, "len(text)": 200_000.0}


def test_nested_columns_names_and_lengths_in_json_lines(tmp_path, capsys):
    path = tmp_path / "small.jsonl"
    rows = [
        {"grade": {"right": at % 2 == 0}, "usage": {"dollars": 0.5 * at}, "text": "x" * at}
        for at in range(4)
    ]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n\n")
    found = run_json(
        capsys, str(path), "--objective", "right=grade.right:max",
        "--objective", "usage.dollars:min", "--objective", "length=len(text):min",
    )  # fmt: skip
    [model] = found["models"]
    assert model["name"] == "small.jsonl"
    assert model["mean"] == {"right": 0.5, "usage.dollars": 0.75, "length": 1.5}


def test_one_model_for_each_file_or_combination(tmp_path, capsys):
    first = write_csv(tmp_path / "a.csv", [["q1", 1, 5], ["q2", 1, 6]], HEADER[1:])
    second = write_csv(tmp_path / "b.csv", [["q1", 0, 4], ["q2", 1, 3]], HEADER[1:])
    found = run_json(capsys, first, second, *OBJECTIVES)
    assert [one["name"] for one in found["models"]] == ["a.csv", "b.csv"]
    found = run_json(capsys, first, second, *OBJECTIVES, "--by", "file", "--by", "question")
    assert [one["name"] for one in found["models"]][:2] == ["a.csv, q1", "a.csv, q2"]


def test_families_have_fronts_and_a_difference(tmp_path, capsys):
    models = {"a1": (0.9, 300), "a2": (0.6, 100), "b1": (0.5, 320), "b2": (0.2, 150)}
    rows = [[row[0][0], *row] for row in make_rows(models, questions=60)]
    path = write_csv(tmp_path / "a.csv", rows, ["family", *HEADER])
    found = run_json(capsys, path, *OBJECTIVES, "--front", "family", "--ref", "0,400")
    assert [one["name"] for one in found["fronts"]] == ["a", "b"]
    [gap] = found["gaps"]
    volumes = [one["hypervolume"] for one in found["fronts"]]
    assert gap["difference"] == pytest.approx(volumes[0] - volumes[1])
    assert gap["interval"][0] > 0
    assert gap["first_larger_probability"] == 1.0
    error = refused(capsys, path, *OBJECTIVES, "--front", "model", "--by", "family")
    assert "a model belongs to one front, but a has rows of a1 and a2" in error


def test_the_cover_is_the_smallest_subset(tmp_path):
    # Volumes above (0, 10): a 9 x 1, b 8 x 5, c 1 x 9; b has 40 of 1 + 40 + 4 = 45.
    rows = [
        [name, "q", right, spent] for name, right, spent in (("a", 9, 9), ("b", 8, 5), ("c", 1, 1))
    ]
    log = read_log_of(tmp_path, rows)
    for share, names in ((0.8, ["b"]), (0.9, ["b", "c"]), (1.0, ["a", "b", "c"])):
        found = analyse(collect_scores([log], objectives()), reference=[0, 10], cover=share)
        assert [found.scores.models[at] for at in sorted(found.fronts[0].cover)] == names


def read_log_of(tmp_path, rows):
    [log] = read_logs([Path(write_csv(tmp_path / "a.csv", rows))])
    return log


def objectives():
    return [parse_objective("accuracy:max"), parse_objective("tokens:min")]


def test_the_same_seed_gives_the_same_report(tmp_path, capsys):
    path = write_csv(tmp_path / "a.csv", make_rows({"a": (0.5, 100), "b": (0.6, 110)}))
    first, again = (run_json(capsys, path, *OBJECTIVES) for _ in range(2))
    other = run_json(capsys, path, *OBJECTIVES, "--seed", "1")
    assert first == again != other


# ---- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--objective", "accuracy"], "write accuracy:max if larger is better, or accuracy:min"),
        (["--objective", "accuracy:more"], "must be COLUMN:max or COLUMN:min, got 'accuracy:more'"),
        (["--objective", "accuracy:max"], "a front needs two objectives or more, got 1"),
        ([*OBJECTIVES, "--objective", "tokens:min"], "--objective tokens is given twice"),
        ([*OBJECTIVES, "--ref", "1"], "--ref must have one number for each of the 2 objectives"),
        ([*OBJECTIVES, "--ref", "1,inf"], "--ref must be finite"),
        ([*OBJECTIVES, "--ref", "1;2"], "--ref must be numbers with commas between them"),
        ([*OBJECTIVES, "--cover", "0"], "--cover must be a share above 0 and at most 1, got 0"),
        ([*OBJECTIVES, "--replicates", "1"], "--replicates must be at least 100, got 1"),
        (
            ["--objective", "accuracy:max", "--objective", "token:min"],
            "has no column 'token': did you mean tokens? its columns are accuracy, tokens, file",
        ),
        ([*OBJECTIVES, "--by", "name"], "has no column 'name': its columns are"),
        ([*OBJECTIVES, "--question", "id"], "has no column 'id'"),
        (
            ["--objective", "accuracy:max", "--objective", "model:min"],
            "a.csv line 2: column model must hold finite numbers, got 'a'",
        ),
    ],
)  # fmt: skip
def test_wrong_options_are_explained(tmp_path, capsys, arguments, message):
    path = write_csv(tmp_path / "a.csv", make_rows({"a": (0.5, 100)}))
    assert message in refused(capsys, path, *arguments)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "", "a.csv has no rows"),
        ("a.csv", "model,accuracy,tokens\n", "a.csv has no rows"),
        ("a.csv", "model,tokens,tokens\na,1,2\n", "a.csv line 1 names a column twice: tokens"),
        ("a.csv", "model,accuracy,tokens\na,1\n", "line 2 must have 3 cells, as the header has"),
        ("a.csv", "accuracy,tokens\n1,2\n0,n/a\n", "must hold finite numbers, got 'n/a'"),
        ("a.csv", "accuracy,tokens\n1,2\n0,inf\n", "line 3: column tokens must hold"),
        ("a.csv", "accuracy,tokens\n1,\n0,\n", "no row of"),
        ("a.csv", 'accuracy,tokens\n1,"2\n', "a.csv, after line 2: no CSV: unexpected end of data"),
        ("a.jsonl", '{"accuracy": 1}\n[1]\n', "a.jsonl line 2 must be a JSON object, got '[1]'"),
        ("a.jsonl", '{"accuracy": 1}\n{"acc\n', "line 2 must be a JSON object, got '{\"acc'"),
        ("a.jsonl", "[" * 100_000 + "\n", "no JSON (maximum recursion depth"),
        ("a.jsonl", r'{"accuracy": "\ud800"}', r"'\ud800' is half of a surrogate pair"),
        ("a.json", r'{"accuracy": "\ud800"}', r"a.json: '\ud800' is half of a surrogate pair"),
        ("a.json", "[1, 2]", "a.json must hold an object or a list of objects, got '[1, 2]'"),
        ("a.csv", "model,accuracy,tokens\n,1,2\n", "column model must hold a name or a number"),
    ],
)  # fmt: skip
def test_broken_files_are_named_with_line_and_column(tmp_path, capsys, name, content, message):
    (tmp_path / name).write_text(content)
    assert message in refused(capsys, str(tmp_path / name), *OBJECTIVES)


def test_missing_folders_and_binary_files_are_named(tmp_path, capsys):
    (tmp_path / "a.jsonl").write_bytes(b"\xff\xfe")
    assert "is not a text in UTF-8 (byte 0)" in refused(
        capsys, str(tmp_path / "a.jsonl"), *OBJECTIVES
    )
    assert "is a folder; name files in it" in refused(capsys, str(tmp_path), *OBJECTIVES)
    missing = refused(capsys, str(tmp_path / "none.csv"), *OBJECTIVES)
    assert "none.csv cannot be read: No such file or directory" in missing
