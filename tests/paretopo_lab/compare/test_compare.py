"""paretopo compare: from files of any columns to a front with its uncertainty."""

import csv
import json
import re

import numpy as np
import pytest

from paretopo.cli import main

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


@pytest.fixture
def compare(tmp_path, capsys):
    """Return a function: rows of a file, and options → the report as JSON."""

    def run_on(rows, *options, header=HEADER, objectives=OBJECTIVES):
        path = write_csv(tmp_path / "a.csv", rows, header)
        return run_json(capsys, path, *objectives, *options)

    return run_on


def refused(capsys, *arguments):
    """Return the error of a command that fails."""
    status, out, error = run(capsys, *arguments)
    assert (status, out) == (2, "")
    return error


def test_means_errors_front_and_volume_of_a_file(compare):
    rows = [
        ["a", "q1", 1, 10], ["a", "q2", 0, 30],
        ["b", "q1", 1, 40], ["b", "q2", 1, 60],
        ["c", "q1", 0, 50], ["c", "q2", 1, 70],
    ]  # fmt: skip
    found = compare(rows, "--ref", "0,100")
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


def test_dominance_of_a_draw_of_two_questions(compare):
    # Draws: q1 twice (1/4): equal accuracy, fewer tokens; q2 twice (1/4) and both (1/2): fewer
    # tokens, but less accurate.
    rows = [["a", "q1", 1, 10], ["a", "q2", 0, 10], ["b", "q1", 1, 20], ["b", "q2", 1, 20]]
    a, b = compare(rows)["models"]
    assert b["dominated_by"]["a"] == pytest.approx(0.25, abs=0.02)
    assert a["dominated_by"] == {}
    assert b["on_front_probability"] == pytest.approx(0.75, abs=0.02)
    assert a["on_front_probability"] == 1.0


@pytest.mark.parametrize(
    ("models", "kinds", "pairs", "told"),
    [
        (2, 5, 5, ""),
        (4, 1, 6, ""),
        (5, 1, 4, "against the first"),
        (4, 4, 12, "against the first"),
        (17, 1, 0, "none is tested"),
    ],
)
def test_many_models_are_tested_against_the_first(compare, models, kinds, pairs, told):
    rows = make_rows({f"m{at}": (0.5, 10) for at in range(models)}, questions=2 * kinds)
    rows = [[*row, f"kind {int(row[1][1:]) % kinds}"] for row in rows]
    found = compare(rows, "--by", "model", "--by", "kind", header=[*HEADER, "kind"])
    assert len(found["tests"]) == 2 * pairs
    [*notes] = [note for note in found["notes"] if "share questions" in note]
    assert [told in note for note in notes] == [True] * bool(told)


def test_several_answers_to_a_question_count_as_their_mean(compare):
    rows = [["a", "q1", 1, 10], ["a", "q1", 0, 20], ["a", "q1", 0, 30], ["a", "q2", 1, 40]]
    [a] = compare(rows)["models"]
    assert a["mean"] == {"accuracy": pytest.approx((1 / 3 + 1) / 2), "tokens": 30.0}
    assert (a["questions"], a["answers"]) == (2, 4)


def make_gaps(share, questions=100):
    """Return rows of four models; the last one lacks a share of the answers."""
    rows = make_rows(
        {"a": (0.9, 100), "b": (0.6, 200), "c": (0.6, 300), "d": (0.5, 400)}, questions
    )
    return [row for row in rows if row[0] != "d" or int(row[1][1:]) >= share * questions]


@pytest.mark.parametrize(
    ("missing", "counts", "share"),
    [("pairs", [100, 100, 100, 60], 0.4), ("worst", [100] * 4, 0.4), ("models", [100] * 3, 0.4),
     ("models", [95] * 4, 0.05)],
)  # fmt: skip
def test_missing_answers_are_paired_counted_or_left_out(missing, counts, share, compare):
    rows = make_gaps(share)
    found = compare(rows, "--missing", missing)
    assert [one["questions"] for one in found["models"]] == counts
    notes = " ".join(found["notes"])
    if missing == "worst":
        right = sum(row[2] for row in rows if row[0] == "d")
        assert found["models"][3]["mean"]["accuracy"] == right / 100
        assert found["models"][3]["mean"]["tokens"] > 400
    elif missing == "pairs":
        assert (
            "Warning: all models answered only 60 of 100 questions. Missing most: d (40)" in notes
        )
    assert ("--missing models leaves out d." in notes) == (len(counts) == 3)


@pytest.mark.parametrize(("missing", "counts"), [("pairs", [1, 3]), ("worst", [2, 3])])
def test_missing_values_of_unnamed_questions_count(missing, counts, compare):
    rows = [["a", 1, 10], ["a", 0, ""], ["b", 1, 30], ["b", 1, 40], ["b", 0, 20]]
    header = ["model", "accuracy", "tokens"]
    found = compare(rows, "--missing", missing, header=header)
    assert [one["questions"] for one in found["models"]] == counts
    assert found["models"][0]["mean"]["tokens"] == (10 if missing == "pairs" else 25)


def test_a_pair_is_compared_on_the_questions_that_both_answered(compare):
    # On the shared questions, a is better and cheaper; b answered only the easy half.
    rows = [["a", at, int(at < 20), 10 + at % 3] for at in range(40)]
    rows += [["b", at, int(at % 2), 20 + at % 3] for at in range(20)]
    assert compare(rows)["models"][1]["dominated_by"]["a"] > 0.99
    for at in range(20):
        rows[at][2], rows[at + 40][2] = 0, 1
    assert compare(rows)["models"][1]["dominated_by"] == {}


def test_a_model_on_other_questions_is_named_and_the_others_stay_paired(compare):
    rows = [[name, f"q{at}", at % 2, 10 * at] for name in "abc" for at in range(30)]
    rows += [["odd", f"z{at}", at % 2, at] for at in range(30)]
    found = compare(rows)
    [note] = [one for one in found["notes"] if one.startswith("odd shares no question")]
    assert "with a, b, c: it has 30, such as 'z0'. It is compared without pairs." in note
    assert [one["p"] for one in found["tests"] if "odd" not in (one["first"], one["second"])]


def test_answers_of_several_seeds_are_averaged_and_drawn_within_questions(compare):
    once = [["a", f"q{at}", 0.5, 10 + at] for at in range(50)]
    twice = [
        [name, question, right + step, tokens]
        for name, question, right, tokens in once
        for step in (-0.5, 0.5)
    ]
    found = [
        compare([*rows, *others])
        for rows, others in ((once, []), (twice, [["b", f"q{at}", 0.5, 90] for at in range(50)]))
    ]
    assert found[0]["models"][0]["mean"] == found[1]["models"][0]["mean"]
    assert not any("averag" in note or "up to" in note for note in found[0]["notes"])
    assert any(note.startswith("Models answered a question up to 2") for note in found[1]["notes"])
    # Only draws within questions move the accuracy of a.
    assert 0.3 < found[1]["models"][1]["on_front_probability"] < 0.7


@pytest.mark.parametrize(
    ("objective", "warned"),
    [("tokens:max", True), ("tokens:min", False), ("cost=tokens:max", True), ("right:max", False)],
)
def test_a_cost_that_is_maximised_is_noted(objective, warned, compare):
    objectives = ("--objective", "accuracy:max", "--objective", objective)
    header = ["model", "accuracy", "tokens", "right"]
    notes = compare([["a", 1, 5, 1]], header=header, objectives=objectives)["notes"]
    assert any("write tokens:min if fewer are" in note for note in notes) == warned


def test_tables_fit_80_columns_and_dominated_models_are_counted(tmp_path, capsys):
    models = {f"a-model-with-a-name-{at:02d}": (0.9 - 0.01 * at, 100 + 5 * at) for at in range(25)}
    path = write_csv(tmp_path / "a.csv", make_rows(models | {"bad": (0.2, 300)}, 200))
    objectives = (*OBJECTIVES, "--objective", "len(model):max")
    status, out, _ = run(capsys, path, *objectives)
    assert status == 0
    assert "Models: 26. Questions compared: 200 of each, the same for all." in out
    assert max(len(line) for line in out.splitlines() if line.startswith("|")) <= 80
    [note] = [line for line in out.splitlines() if "dominated models are not listed" in line]
    every = run(capsys, path, *objectives, "--all")[1]
    assert re.search(r"^\| bad .*a-model-with-a-name-\d\d \(>0.99\)", every, re.MULTILINE)
    shown = [set(re.findall(r"^\| (a-model\S+|bad )", text, re.MULTILINE)) for text in (out, every)]
    assert list(map(len, shown)) == [26 - int(note.split()[0]), 26]


def test_questions_until_settled_shrink_with_the_gap(tmp_path, capsys):
    needed = []
    for accuracy in (0.62, 0.7):
        rows = make_rows({"a": (0.6, 100), "b": (accuracy, 100)}, 60, seed=3)
        path = write_csv(tmp_path / "a.csv", rows)
        found = run_json(capsys, path, *OBJECTIVES, "--until", "settled")
        needed.append(found["models"][1]["questions_until_settled"])
        assert found["models"][1]["on_front_surely"] == "open"
        assert "questions to go" in run(capsys, path, *OBJECTIVES, "--until", "settled")[1]
    assert "questions to go" not in run(capsys, path, *OBJECTIVES)[1]
    assert needed[0] > needed[1] > 0


@pytest.mark.parametrize(
    ("name", "options", "paired"),
    [("qid", (), True), ("part", (), False), ("question", ("--question", "none"), False)],
)
def test_rows_without_questions_are_independent(name, options, paired, compare):
    rows = make_rows({"a": (0.5, 100), "b": (0.5, 200)})
    found = compare(rows, *options, header=["model", name, *HEADER[2:]])
    assert found["paired"] == paired
    said = any("--question names it, of part, accuracy" in note for note in found["notes"])
    assert said == (name == "part")


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


def test_a_reference_that_no_model_exceeds_is_refused(tmp_path, capsys):
    path = write_csv(tmp_path / "a.csv", make_rows({"a": (0.5, 100), "b": (0.5, 200)}))
    error = refused(capsys, path, *OBJECTIVES, "--ref", "1,50")
    assert "--ref must be worse than a model in every objective" in error
    assert "accuracy 1, best 0." in error


@pytest.mark.parametrize("name", ["Model", "design"])
def test_a_leaderboard_has_no_intervals(name, tmp_path, capsys):
    rows = [["a", "85 %", "$1.41"], ["b", "90 %", "$1,234.50"], ["c", "80 %", "$2"]]
    path = write_csv(tmp_path / "a.csv", rows, [name, "Pass rate", " Cost per task"])
    objectives = ("--objective", "Pass rate:max", "--objective", "Cost per task:min")
    found = run_json(capsys, path, *objectives)
    assert found["models"][1]["mean"] == {"Pass rate": 90.0, "Cost per task": 1234.5}
    assert found["replicates"] == 0
    assert found["fronts"][0]["interval"] == [None, None]
    assert found["models"][0]["on_front_probability"] is None
    status, out, _ = run(capsys, path, *objectives)
    assert status == 0
    assert "Models: 3. One row of each.\n" in out
    guessed = "Each row counts as one model, named by design; --by file joins them."
    assert (guessed in out) == (name == "design")
    assert "made worse by 10 % of the range" in out
    assert "| model | on the front | dominated by | Pass rate:max | Cost per task:min |" in out


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


def test_a_leaderboard_names_models_with_several_rows(tmp_path, capsys):
    rows = [["o9", "high", 85.2, "$12.50"], ["o9", "low", 78.1, "$2.10"], ["z", "", 81.0, "$3.50"]]
    path = write_csv(tmp_path / "board.csv", rows, ["Model", "Effort", "GPQA", "Price"])
    objectives = ("--objective", "GPQA:max", "--objective", "Price:min")
    _, out, _ = run(capsys, path, *objectives, "--by", "Model")
    way = "Rows of one model are averaged: o9 (2); --by Model --by Effort tells them apart."
    assert way in " ".join(out.split())
    report = run_json(capsys, path, *objectives, "--by", "Model", "--by", "Effort")
    names = [one["name"] for one in report["models"]]
    assert sorted(names) == ["o9 Effort=high", "o9 Effort=low", "z"]


def test_ranks_and_seeds_are_no_objectives_of_the_example(tmp_path, capsys):
    path = write_csv(
        tmp_path / "a.csv", [["q", 1, 0, 5, 2]], ["question", "Rank", "seed", "f1", "cost"]
    )
    status, _, error = run(capsys, path)
    assert status == 2
    assert "For example: --objective f1:max --objective cost:min" in error


def test_the_last_evaluation_of_a_training_counts(tmp_path, capsys):
    rollout = {"solved": True, "tokens": 9, "reward_components": {}, "gated": [], "segments": []}
    rows = [
        {"id": f"q{step}", "step": step, "held_out": held_out, "rollouts": [rollout]}
        for step, held_out in ((0, True), (9, True), (9, False), (10, False))
    ]
    path = tmp_path / "trajectories.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    objectives = ("--objective", "solved:max", "--objective", "tokens:min")
    assert run_json(capsys, str(path), *objectives)["models"][0]["answers"] == 1
    path.write_text(json.dumps(rows[-1]) + "\n")
    status, _, error = run(capsys, str(path), *objectives)
    assert status == 2
    assert "holds training questions only: ask the policy with paretopo evaluate" in error


def test_one_model_for_each_file_or_combination(tmp_path, capsys):
    first = write_csv(tmp_path / "a.csv", [["q1", 1, 5], ["q2", 1, 6]], HEADER[1:])
    second = write_csv(tmp_path / "b.csv", [["q1", 0, 4], ["q2", 1, 3]], HEADER[1:])
    found = run_json(capsys, first, second, *OBJECTIVES)
    assert [one["name"] for one in found["models"]] == ["a.csv", "b.csv"]
    said = (
        "Each file counts as one model; --by names its column, of question, accuracy, tokens, file."
    )
    assert said in found["notes"]
    found = run_json(capsys, first, second, *OBJECTIVES, "--by", "file", "--by", "question")
    assert [one["name"] for one in found["models"]][:2] == [
        "a.csv question=q1",
        "a.csv question=q2",
    ]


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


def test_the_cover_is_the_smallest_subset(tmp_path, capsys):
    # Volumes above (0, 10): a 9 x 1, b 8 x 5, c 1 x 9; b has 40 of 1 + 40 + 4 = 45.
    rows = [["a", "q", 9, 9], ["b", "q", 8, 5], ["c", "q", 1, 1]]
    path = write_csv(tmp_path / "a.csv", rows)
    for share, names in (("0.8", ["b"]), ("0.9", ["b", "c"]), ("1.0", ["a", "b", "c"])):
        found = run_json(capsys, path, *OBJECTIVES, "--ref", "0,10", "--cover", share)
        assert sorted(found["fronts"][0]["cover"]) == names


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
        ([], "\n  tokens                   "),
        ([], "For example: --objective accuracy:max --objective tokens:min"),
        ([*OBJECTIVES, "--objective", "tokens:min"], "--objective tokens is given twice"),
        ([*OBJECTIVES, "--ref", "1"], "--ref must have one number for each of the 2 objectives"),
        ([*OBJECTIVES, "--ref", "1,inf"], "--ref must be finite"),
        ([*OBJECTIVES, "--ref", "1;2"], "--ref must be numbers with commas between them"),
        ([*OBJECTIVES, "--cover", "0"], "--cover must be a share above 0 and at most 1, got 0"),
        ([*OBJECTIVES, "--replicates", "1"], "--replicates must be at least 100, got 1"),
        (
            ["--objective", "accuracy:max", "--objective", "token:min"],
            "has no column 'token': did you mean tokens? its columns are model, question, "
            "accuracy, tokens, file (added by paretopo)",
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
        ("a.jsonl", '{"accuracy": 1}\n[1]\n', "a.jsonl line 2 must be an object, got list"),
        ("a.jsonl", '{"accuracy": 1}\n{"acc\n', "a.jsonl, line 2: no JSON (Invalid control"),
        ("a.jsonl", "[" * 100_000 + "\n", "no JSON (maximum recursion depth"),
        ("a.jsonl", r'{"accuracy": "\ud800"}', r"'\ud800' is half of a surrogate pair"),
        ("a.json", r'{"accuracy": "\ud800"}', r"a.json: '\ud800' is half of a surrogate pair"),
        ("a.json", "[1, 2]", "a.json object 1 must be an object, got int"),
        ("a.csv", "model,accuracy,tokens\n,1,2\n", "column model must hold a name or a number"),
    ],
)  # fmt: skip
def test_broken_files_are_named_with_line_and_column(tmp_path, capsys, name, content, message):
    (tmp_path / name).write_text(content)
    assert message in refused(capsys, str(tmp_path / name), *OBJECTIVES)


def test_missing_folders_and_binary_files_are_named(tmp_path, capsys):
    for name in ("a.jsonl", "a.json", "a.xlsx"):
        (tmp_path / name).write_bytes(b"\xff\xfe")
        binary = refused(capsys, str(tmp_path / name), *OBJECTIVES)
        assert f"{name}, line 1: no JSON in UTF-8 (byte 0); export the file as JSONL" in binary
    assert "is a folder; name files in it" in refused(capsys, str(tmp_path), *OBJECTIVES)
    missing = refused(capsys, str(tmp_path / "none.csv"), *OBJECTIVES)
    assert "none.csv cannot be read: No such file or directory" in missing
