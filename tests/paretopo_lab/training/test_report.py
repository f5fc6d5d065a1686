import base64
import html
import math
import re
import shutil

import numpy as np
import pytest
from support.objective_stories import names_of, tell_objectives
from support.run_stories import evaluate, tell

from paretopo.config import loads
from paretopo.records.folder import RunFolder
from paretopo.records.measures import Measure
from paretopo_lab.read.history import (
    Change,
    compare_ends,
    find_front,
    merge_objectives,
    read_history,
)
from paretopo_lab.statistics.regions import trace_front
from paretopo_lab.training.report import label_runs, write_report


def report(*runs):
    return write_report(runs).read_text(encoding="utf-8")


def picture(path):
    from matplotlib.image import imread

    pixels = imread(path)
    assert pixels.shape[0] > 500
    assert pixels.shape[1] > 500
    assert len(np.unique(pixels[::4, ::4].sum(axis=-1))) > 50  # not blank
    return pixels


def test_report_has_a_table_and_a_picture(tmp_path):
    run = tell(tmp_path)
    path = write_report([run])
    assert path == run.report / "report.md"
    text = path.read_text(encoding="utf-8")
    for part in (
        "| objective | better | unit | after warm-up (step 0) | end (step 6) | change |",
        "| correct | more | % | 50.0 | 90.0 | +40.0 points |",
        "| calls | fewer | per question | 2.00 | 1.00 | -50 % |",
        "| response length |  | tokens | 60.0 | 40.0 | -33 % |",
        "| two calls: calls | fewer | per question | 3.00 | 1.50 | -50 % |",
        "status: finished",
        "Archive at the end: 2 outcomes, hypervolume 0.8100.",
    ):
        assert part in text
    assert "(front.png)" in text
    first = picture(run.report / "front.png")
    write_report([run])
    np.testing.assert_array_equal(picture(run.report / "front.png"), first)


def test_names_of_strangers_have_no_effect_in_markdown(tmp_path):
    run = tell(tmp_path)
    records = run.path / "evaluations.jsonl"
    text = records.read_text(encoding="utf-8").replace("two calls", "<b>two|`calls`</b> [x](y)")
    records.write_text(text, encoding="utf-8")
    run.update_manifest(method="<i>m", status="<img src=x>")
    lines = report(run).splitlines()
    assert r"## \<i>m, seed 0" in lines
    assert rf"Run folder: {run.path.name}; status: \<img src=x>." in lines
    row = next(line for line in lines if "two" in line)
    assert row.startswith(r"| \<b>two\|\`calls\`\</b> [x]\(y): correct | more |")


def test_a_notebook_shows_table_and_front(tmp_path):
    run = tell(tmp_path)
    written = write_report([run])
    shown = written._repr_html_()
    number = '<td class="number">'
    assert f"<td>more</td><td>%</td>{number}50.0</td>{number}90.0</td>" in shown
    assert shown.count("<tr>") == len(written.list_rows())
    front = re.search(r"data:image/png;base64,([^\"]+)", shown)[1]
    assert base64.b64decode(front) == (run.report / "front.png").read_bytes()
    several = write_report([run, tell(tmp_path, seed=1)])._repr_html_()
    assert several.index("<h2>recommended, seed 0</h2><div") < several.index("seed 1</h2><div")


def test_report_needs_only_the_records(tmp_path):
    """Only config, manifest and the two record files travel; nothing is evaluated again."""
    run = tell(tmp_path / "there")
    expected = report(run)
    here = tmp_path / "here" / run.path.name
    here.mkdir(parents=True)
    for name in ("config.toml", "manifest.json", "steps.jsonl", "evaluations.jsonl"):
        shutil.copy(run.path / name, here / name)
    assert report(RunFolder.open(here)) == expected


def test_several_runs_share_a_report(tmp_path):
    runs = [tell(tmp_path, seed=0), tell(tmp_path, seed=1, steps=8), tell(tmp_path, recipe="paper")]
    path = write_report(runs)
    assert path == tmp_path / "comparison" / "report.md"
    text = path.read_text(encoding="utf-8")
    for name in ("recommended, seed 0", "recommended, seed 1", "paper, seed 0"):
        assert f"## {name}" in text
    assert text.count("| calls | fewer | per question | 2.00 | 1.00 | -50 % |") == 3
    picture(path.parent / "front.png")
    assert not (runs[0].report / "report.md").exists()
    elsewhere = write_report(runs, tmp_path / "figures")
    assert elsewhere.parent == tmp_path / "figures"


def test_a_hypervolume_of_0_has_a_reason(tmp_path):
    run = tell(tmp_path)
    row = run.evaluations()[-1] | {"step": 9, "hypervolume": 0.0}
    run.append_evaluation(row | {"reference": {"correct": 0.0, "calls": 0.95}})
    reason = "No outcome is better than the reference: set a worse key reference of calls (0.2483"
    assert reason in report(run)
    row |= {"step": 10, "reference": {"correct": 0.0, "calls": 0.0}}
    run.append_evaluation(row)
    assert "No outcome is better" not in report(run)


def test_other_questions_at_the_end_are_named(tmp_path):
    run = tell(tmp_path / "run")
    for step, names in ((0, "ab"), (9, "bc")):
        run.write_questions(step, {name: {"correct": 1.0} for name in names})
    assert "1 of the first 2 were in the last" in write_report([run]).read_text()


@pytest.mark.parametrize(
    ("other", "reference", "named"),
    [
        ({"seed": 1}, 0.0, "of the mean rewards after the gate 'correct', above the reference c"),
        ({"recipe": "paper"}, 0.0, "paper, seed 0: mean rewards without a gate, above the refer"),
        ({"seed": 1}, -1.0, "recommended, seed 1: mean rewards after the gate 'correct', above "),
    ],
)
def test_runs_with_other_gates_or_references_have_other_volumes(tmp_path, other, reference, named):
    runs = [tell(tmp_path), tell(tmp_path, **other)]
    for run, calls in zip(runs, (0.0, reference), strict=True):
        row = run.evaluations()[-1] | {"reference": {"correct": 0.0, "calls": calls}}
        run.append_evaluation(row | {"step": 9})
    path = write_report(runs)
    page = html.unescape(path.with_suffix(".html").read_text(encoding="utf-8"))
    for text in (path.read_text(encoding="utf-8"), page):
        assert named in text
        assert ("Hypervolumes are not comparable: " in text) == (
            other != {"seed": 1} or reference < 0
        )


def answer(run, values):
    """Add a last evaluation that says each question's calls."""
    errors = {"correct": 0.0, "calls": float(np.std(values, ddof=1) / len(values) ** 0.5)}
    row = {"step": 9, "rollouts": len(values), "applies": {"correct": 8, "calls": len(values)}}
    row |= {"measured": {"correct": 1.0, "calls": float(np.mean(values))}, "error": errors}
    run.append_evaluation(row)
    measured = {str(at): {"correct": 1.0, "calls": one} for at, one in enumerate(values)}
    run.write_questions(9, measured)


def test_means_have_a_number_and_an_error_and_noise_is_no_change(tmp_path):
    run = tell(tmp_path)
    answer(run, [1.0, 3.0, 1.0, 3.0])
    assert "| calls | fewer | per question | 4 | 2.00 | 2.00 ± 0.58 |" in report(run)
    calls = Measure("calls", "calls", better="fewer")
    for change, verdict in ((-0.5, ""), (-1.0, "better"), (1.0, "worse")):
        one = Change(calls, "", 2.0, 2.0 + change, (0.3, 0.3))
        assert one.verdict == verdict
    assert Change(calls, "", 2.0, 1.5).verdict == "better"  # old records have no errors


def test_equal_names_are_distinguished_by_folder_or_path(tmp_path):
    runs = [tell(tmp_path), tell(tmp_path)]
    assert list(label_runs(runs)) == [f"recommended, seed 0 ({run.path.name})" for run in runs]
    run = runs[0]
    copy = RunFolder.open(shutil.copytree(run.path, tmp_path / "copied" / run.path.name))
    runs = [run, copy, tell(tmp_path, seed=1)]
    names = [*(f"recommended, seed 0 ({run.path})" for run in (run, copy)), "recommended, seed 1"]
    assert label_runs(runs) == dict(zip(names, runs, strict=True))
    with pytest.raises(ValueError, match=r"needs different runs, got .* twice"):
        write_report([run, RunFolder.open(run.path)], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_current_folder_has_a_name_and_neighbours(tmp_path, monkeypatch):
    run, other = tell(tmp_path), tell(tmp_path, seed=1)
    monkeypatch.chdir(run.path)
    here = RunFolder.open(".")
    assert f"Run folder: {run.path.name};" in report(here)
    assert write_report([here, other]) == tmp_path / "comparison" / "report.md"


def test_an_interrupted_run_without_steps_still_reports(tmp_path):
    run = RunFolder.create(tmp_path, tell(tmp_path / "x").config)
    evaluate(run, 0, "warmup", 0.5, 2.0, 60.0)
    run.finish("interrupted")
    text = report(run)
    assert "| correct | more | % | 50.0 |\n" in text
    assert "status: interrupted" in text


def test_missing_values_do_not_break_it(tmp_path):
    run = tell(tmp_path)
    run.append_evaluation(
        {"step": 7, "phase": "train", "measured": {"correct": None, "calls": 0.0}, "outcome": {}}
    )
    text = report(run)
    assert "| correct | more | % | 50.0 | unknown |  |" in text
    assert "evaluation (step 7)" in text


@pytest.mark.parametrize("stage_1", [0, 99])
def test_a_run_of_one_stage_has_no_boundary(tmp_path, stage_1):
    run = tell(tmp_path, stage_1=stage_1)
    assert read_history(run).boundary() is None
    write_report([run])


def test_without_warmup_the_policy_as_it_came_counts(tmp_path):
    warmed = RunFolder.create(tmp_path, tell(tmp_path / "x").config)
    for step, phase, right in ((0, "warmup", 0.2), (0, "warmup", 0.5), (1, "final", 0.6)):
        evaluate(warmed, step, phase, right, 1.5, 50.0)
    assert compare_ends(read_history(warmed))[0].before == 50.0  # the end of the warm-up
    run = RunFolder.create(tmp_path, warmed.config)
    evaluate(run, 0, "pretrained", 0.2, 2.0, 60.0)
    evaluate(run, 1, "train", 0.3, 1.5, 50.0)
    evaluate(run, 2, "final", 0.4, 1.0, 40.0)
    assert [row["step"] for row in read_history(run).evaluations] == [0, 1, 2]
    assert "| before training (step 0) | end (step 2) | change |" in report(run)


def test_empty_report_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"a report needs at least one run"):
        write_report([])
    run = RunFolder.create(tmp_path, tell(tmp_path / "x").config)
    with pytest.raises(ValueError, match=r"has no evaluations yet: there is nothing to report"):
        write_report([run])


@pytest.mark.parametrize("senses", [(1, 1), (-1, 1), (1, -1), (-1, -1)])
def test_staircase_bounds_the_dominated_region(senses):
    rng = np.random.default_rng(0)
    points = rng.integers(0, 8, (20, 2)) / 8
    x, y = points.T
    edge_x, edge_y = trace_front(x, y, senses)
    best = find_front(points, senses)
    for i in range(len(x)):
        on_a_corner = ((edge_x == x[i]) & (edge_y == y[i])).any()
        assert on_a_corner or not best[i]
    assert (np.diff(senses[1] * edge_y) >= 0).all()
    assert (np.diff(senses[0] * edge_x) <= 0).all()
    nothing = np.array([np.nan])
    assert [len(edge) for edge in trace_front(nothing, nothing, senses)] == [0, 0]


# ---- any number of objectives --------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_a_report_has_every_objective_with_direction_and_unit(tmp_path, count):
    path = write_report([tell_objectives(tmp_path, names_of(count))])
    lines = path.read_text(encoding="utf-8").splitlines()
    expected = [
        "| correct | more | % | 50.0 | 90.0 | +40.0 points |",
        "| calls | fewer | per question | 3.00 | 1.00 | -67 % |",
        "| tokens | fewer | per question | 400.0 | 200.0 | -50 % |",
        "| polite | more |  | 0.75 | 0.25 | -0.5 |",
        "| seconds | fewer | per question | 6.00 | 2.00 | -67 % |",
        "| grounded | more |  | -1 | 2 | +3 |",
        "| dollars | fewer | per question | 0.01200 | 0.00400 | -67 % |",
        "| turns | fewer | per question | 4.00 | 2.00 | -50 % |",
    ]
    assert [line for line in lines if line in expected] == expected[:count]
    assert ("| response length |  | tokens | 100.0 | 94.0 | -6 % |" in lines) == (count < 3)
    assert "| easy: correct | more | % | 50.0 | 90.0 | +40.0 points |" in lines
    assert path.with_name("front.png").exists() == (count > 1)
    if count > 1:
        front = picture(path.with_name("front.png"))
        assert max(front.shape) < 2400  # 28 pairs would be too small to read


def test_stale_front_picture_is_removed(tmp_path):
    out = tmp_path / "out"
    write_report([tell_objectives(tmp_path, names_of(2))], out)
    assert (out / "front.png").exists()
    write_report([tell_objectives(tmp_path, names_of(1), seed=1)], out)
    assert sorted(path.name for path in out.iterdir()) == ["report.html", "report.md"]


def test_a_correct_of_another_range_is_no_percentage(tmp_path):
    table = (
        '[paretopo]\nstage2_estimator = "gd2po"\n'
        '[[objectives]]\nname = "correct"\nlow = 0.0\nhigh = 10.0\n'
    )
    run = RunFolder.create(tmp_path, loads(table))
    run.append_evaluation({"step": 0, "measured": {"correct": 7.5}})
    assert "| correct | more |  | 7.5 |\n" in report(run)
    # Runs that are compared share a unit.
    assert "| correct | more |  | 0.5 | 0.9 | +0.4 |" in report(run, tell(tmp_path, seed=1))


def test_runs_with_different_objectives_share_plots(tmp_path):
    runs = [
        tell_objectives(tmp_path, ["correct", "calls"], seed=1),
        tell_objectives(tmp_path, ["correct", "tokens"], seed=2),
    ]
    path = write_report(runs)
    history = read_history(runs[0])
    merged = merge_objectives([history, read_history(runs[1])])
    assert [one.key for one in merged] == ["correct", "calls", "tokens"]
    assert np.isnan(history.measured(merged)[:, 2]).all()
    picture(path.with_name("front.png"))


def test_runs_that_disagree_on_a_direction_are_refused(tmp_path):
    runs = [tell_objectives(tmp_path, ["correct", "polite"])]
    table = '[[objectives]]\nname = "correct"\n[[objectives]]\nname = "polite"\nbetter = "fewer"\n'
    runs.append(RunFolder.create(tmp_path, loads(f"seed = 1\n{table}")))
    runs[1].append_evaluation({"step": 0, "measured": {"correct": 1.0, "polite": 1.0}})
    with pytest.raises(ValueError, match=r"disagree on 'polite': fewer is better in"):
        write_report(runs, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_old_records_without_objectives_are_unknown_not_an_error(tmp_path):
    """Neither means by objective, nor an outcome by name, nor rollouts of this shape."""
    run = RunFolder.create(tmp_path, loads(""))
    run.append_step({"step": 1, "stage": 1, "accuracy": 0.5, "calls": 2.0})
    for step in (0, 1):
        row = {"step": step, "accuracy": 0.5, "calls": 2.0, "outcome": [0.5, 0.5]}
        run.append_evaluation(row | {"response_tokens": 50.0 - step, "seconds": 3.0})
    (run.path / "trajectories.jsonl").write_text('{"step": 0}\n')
    text = report(run)
    assert "| response length |  | tokens | 50.0 | 49.0 | -2 % |" in text
    assert "calls" not in text.split("| objective")[1]
    picture(run.report / "front.png")


def test_evaluation_time_differs_from_rollout_time(tmp_path):
    run = RunFolder.create(tmp_path, tell_objectives(tmp_path, ["correct", "seconds"]).config)
    run.append_evaluation({"step": 0, "seconds": 3.0, "measured": {"correct": 1.0}})
    history = read_history(run)
    assert np.isnan(history.measured(history.objectives)[0, 1])


def test_share_solved_is_added_if_no_objective_has_it(tmp_path):
    run = tell_objectives(tmp_path, ["correct", "calls"])
    assert [one.key for one in read_history(run).other_measures()] == ["response_tokens"]
    graded = RunFolder.create(tmp_path, run.config)
    graded.append_evaluation({"step": 0, "solved": 0.75, "measured": {"correct": 0.5}})
    assert "| solved | more | % | 75.0 |\n" in report(graded)
    config = loads('[[objectives]]\nname = "routed"\n[[objectives]]\nname = "tokens"\n')
    run = RunFolder.create(tmp_path, config)
    run.append_evaluation({"step": 0, "solved": 0.75, "measured": {"routed": 0.75, "tokens": 3.0}})
    assert read_history(run).other_measures() == ()


def test_single_kind_is_not_listed(tmp_path):
    run = RunFolder.create(tmp_path, loads(""))
    means = {"solved": 0.5, "measured": {"correct": 0.5, "calls": 2.0}}
    run.append_evaluation({"step": 0, **means, "by_kind": {"all": means}})
    assert {one.kind for one in compare_ends(read_history(run))} == {""}
    run.append_evaluation({"step": 1, **means, "by_kind": {"easy": means, "hard": means}})
    assert {one.kind for one in compare_ends(read_history(run))} == {"", "easy", "hard"}


@pytest.mark.parametrize(
    ("better", "before", "after", "change", "verdict"),
    [
        ("fewer", 2.0, 1.0, "-50 %", "better"),
        ("fewer", 0.0, 1.0, "+1.00", "worse"),
        ("fewer", -2.0, -1.0, "+1.00", "worse"),
        ("more", 2.0, 1.0, "-1.00", "worse"),
        ("more", 1.0, 1.0, "+0.00", ""),
        (None, 2.0, 1.0, "-50 %", ""),
        ("more", math.nan, 1.0, "", ""),
    ],
)
def test_changes_are_described_and_judged(better, before, after, change, verdict):
    measure = Measure("x", "x", better=better, decimals=2)
    assert measure.describe_change(before, after) == change
    assert measure.judge(before, after) == verdict
