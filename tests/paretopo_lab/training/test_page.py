"""The report as a page: its content, and how a browser shows it."""

from dataclasses import replace

import numpy as np
import pytest
from support.objective_stories import measure_at, names_of, tell_objectives
from support.pages import check_self_contained, read, texts
from support.run_stories import tell
from support.sessions import group, score
from support.trajectory_groups import HOSTILE

from paretopo.config import loads
from paretopo.records.folder import RunFolder
from paretopo.session import Session
from paretopo_lab.document.page import render_report
from paretopo_lab.read.history import read_history
from paretopo_lab.training.charts import make_curves, make_front
from paretopo_lab.training.report import describe, label_runs, write_report


def read_runs(*runs):
    return {label: read_history(run) for label, run in label_runs(runs).items()}


def render(*runs):
    return render_report(describe(read_runs(*runs)))


# ---- the file ------------------------------------------------------------------------------------


def test_table_links_to_the_page(tmp_path):
    path = write_report([tell_objectives(tmp_path, names_of(3))])
    assert "[The same as a page](report.html)" in path.read_text(encoding="utf-8")
    check_self_contained(path.with_name("report.html").read_text(encoding="utf-8"))


def test_every_evaluation_is_a_mark_with_its_numbers(tmp_path):
    front = make_front(read_runs(run := tell_objectives(tmp_path, names_of(3))))
    assert [one.label for one in front.axes] == [
        "correct (%), more is better",
        "calls per question, fewer is better",
        "tokens per question, fewer is better",
    ]
    [points] = [one.points for one in front.groups]
    assert [one.step for one in points] == [0, 2, 4, 6]
    for one in points:
        measured = measure_at(one.step / 6, names_of(3))
        expected = [100 * measured["correct"], measured["calls"], measured["tokens"]]
        np.testing.assert_allclose(one.values, expected)
    about = points[1].about
    assert about.startswith("recommended, seed 0: evaluation (step 2), hypervolume 0.3333\ncorrect")
    assert about.splitlines()[2] == f"calls per question: {points[1].values[1]:.2f}"
    titles = [text for _, text in read(render(run)).of("title")[1:]]
    for one in points:
        pairs = 3 * (2 if one.step == 6 else 1)  # the end has a star, too
        assert titles.count(one.about) == pairs
    assert "recommended, seed 0: step 4, 76.67" in titles  # of a curve


def test_the_front_is_that_of_all_objectives(tmp_path):
    """The first has the fewest calls of no pair that any plot shows, but is on the front."""
    run = tell_objectives(tmp_path, names_of(3))
    for step, calls, tokens in ((7, 2.0, 250.0), (8, 5.0, 900.0)):
        measured = {"correct": 0.5, "calls": calls, "tokens": tokens}
        outcome = {"correct": 0.5, "calls": -calls, "tokens": -tokens}
        run.append_evaluation({"step": step, "measured": measured, "outcome": outcome})
    run.append_evaluation({"step": 9, "measured": {"correct": 1.0}})
    histories = read_runs(run)
    [history] = histories.values()
    [group] = make_front(histories).groups
    points = history.rewards(history.objectives)
    found = {point.step: point.best for point in group.points}
    for at, row in enumerate(history.evaluations):
        beaten = any((other >= points[at]).all() and (other > points[at]).any() for other in points)
        assert found[row["step"]] == (not beaten and not np.isnan(points[at]).any())
    assert not found[8]
    assert not found[9]


def test_learnt_prices_are_curves_by_kind(tmp_path):
    run = RunFolder.create(tmp_path, loads("[optimiser]\nsteps = 2\n"))
    session = Session(run, prompts=8, steps_per_epoch=8)
    session.observe(0, group([1, 5], [1, 0]))
    for step, kinds in ((1, ["one"]), (2, ["one", "two"])):
        groups = [[replace(one, kind=kind) for one in group([2, 4], [1, 1])] for kind in kinds]
        session.advantages([score(session, one) for one in groups])
        session.record_step(step, {})
    curves = make_curves(read_runs(run)).curves
    found = {one.title: one.lines[0] for one in curves}
    title = "price of a right answer in calls (kind {})".format
    np.testing.assert_array_equal(found[title("one")].trained, [4.0, 4.0])
    np.testing.assert_array_equal(found[title("two")].trained, [np.nan, 4.0])


def test_names_of_strangers_are_texts(tmp_path):
    calm, wild = tell(tmp_path / "calm"), tell(tmp_path / "wild")
    wild.update_manifest(method="".join(HOSTILE) + "$x_1$", status=HOSTILE[0])
    records = wild.path / "evaluations.jsonl"
    text = records.read_text(encoding="utf-8").replace("two calls", "</td><script>x</script>")
    records.write_text(text, encoding="utf-8")
    pages = [read(render(run, tell(tmp_path / "b", recipe="paper"))) for run in (calm, wild)]
    kinds = [[tag for tag, _ in one.elements if tag not in ("p", "use", "path")] for one in pages]
    assert kinds[0] == kinds[1]
    assert any(HOSTILE[0] in text for _, text in pages[1].of("h2"))


# ---- in a browser --------------------------------------------------------------------------------


@pytest.fixture
def shown(show_page):
    """A function: runs → the browser with their report open."""

    def show(*runs, **settings):
        return show_page(render(*runs), **settings)

    return show


def count(page, selector):
    return page.value(f"document.querySelectorAll({selector!r}).length")


@pytest.mark.browser
def test_a_limit_is_a_line_and_has_curves_of_its_own(shown, tmp_path):
    text = '[[objectives]]\nname = "correct"\n[[objectives]]\nname = "calls"\n'
    free, held = (
        RunFolder.create(tmp_path / name, loads(text + limit))
        for name, limit in (("free", ""), ("held", "limit = { value = 3, share = 0.8 }\n"))
    )
    for run in (free, held):
        session = Session(run, prompts=8, steps_per_epoch=8)
        session.observe(0, group([1, 5], [1, 0]))
        session.advantages([score(session, group([1, 2, 5], [1, 0, 1]))])
        session.record_step(1, {})
        session.observe(1, group([1, 2], [1, 1]))
    page = shown(free, held)
    titles = texts(page, "figcaption")
    assert "price of a right answer in calls (kind one)" in titles
    assert "answers within the limit on calls (%)" in titles
    assert "multiplier of the limit on calls" in titles
    # The second run's, on the calls and on their share.
    assert count(page, "path[stroke='#d55e00'][stroke-dasharray]") == 2
    assert count(page, "path[stroke='#0072b2'][stroke-dasharray]") == 0
    assert "dotted: a limit" in texts(page, ".key")[1]
    assert "dotted" not in texts(shown(free), ".key")[1]


@pytest.mark.browser
@pytest.mark.parametrize(("objectives", "width"), [(1, 390), (2, 390), (3, 390), (8, 1280)])
def test_the_page_has_the_charts_that_the_objectives_need(shown, tmp_path, objectives, width):
    page = shown(tell_objectives(tmp_path, names_of(objectives)), width=width, dark=width > 390)
    pairs = objectives * (objectives - 1) // 2
    beside = objectives < 3  # the length of responses
    assert count(page, "figure svg") == pairs + objectives + beside + 2
    assert count(page, "figcaption") == objectives + beside + 2
    kinds = 2  # without the length of responses
    assert count(page, "tbody tr") == (1 + kinds) * objectives + beside
    assert page.value("document.documentElement.scrollWidth <= innerWidth")
    sizes = page.value(
        "[...document.querySelectorAll('figure text')].map((one) => "
        "one.getBoundingClientRect()).map((one) => Math.min(one.width, one.height))"
    )
    assert min(sizes) > 5  # every number and every letter is drawn
    if objectives > 1:
        label = page.value("document.querySelector('figure svg').getAttribute('aria-label')")
        assert label.startswith("correct (%), more is better, against calls per question, fewer")


@pytest.mark.browser
def test_runs_have_colours_and_shapes_of_their_own(shown, tmp_path):
    page = shown(*(tell_objectives(tmp_path, names_of(3), seed=seed) for seed in range(3)))
    names = [f"recommended, seed {seed}" for seed in range(3)]
    # Once for the front, and once for the curves.
    assert [one.strip() for one in texts(page, "li")] == 2 * names
    used = "[...document.querySelectorAll('li use')].map((one) => one.getAttribute('href'))"
    assert len(set(page.value(used))) == 3
    assert count(page, "section:first-of-type figure:first-child title") == 3 * (4 + 1)


@pytest.mark.browser
def test_missing_values_leave_gaps(shown, tmp_path):
    run = tell_objectives(tmp_path, names_of(3))
    run.append_evaluation({"step": 8, "measured": {"correct": 0.7, "calls": None}})
    page = shown(run)
    assert count(page, "section:first-of-type figure:first-child title + *") == 4  # marks
    assert "nan" not in page.value("document.querySelector('main').innerHTML").lower()
