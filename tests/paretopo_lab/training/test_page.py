"""The report as a page: its content, and its behaviour in a browser."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from support.objective_stories import measure_at, names_of, tell_objectives
from support.pages import check_self_contained, choose, read_data, texts
from support.sessions import group, score

from paretopo.config import loads
from paretopo.records.folder import RunFolder
from paretopo.session import Session
from paretopo_lab.document.page import render_report
from paretopo_lab.read.history import read_history
from paretopo_lab.training.report import describe, label_runs, write_report


def render(*runs):
    return render_report(
        describe({label: read_history(run) for label, run in label_runs(runs).items()})
    )


def points_of(text):
    """Return the points of the only run of a page, by step."""
    [group] = read_data(text)["front"]["groups"]
    return {point["step"]: point for point in group["points"]}


# ---- the file ------------------------------------------------------------------------------------


def test_table_links_to_the_page(tmp_path):
    path = write_report([tell_objectives(tmp_path, names_of(3))])
    assert "[The same as a page](report.html)" in path.read_text(encoding="utf-8")
    check_self_contained(path.with_name("report.html").read_text(encoding="utf-8"))


def test_every_evaluation_is_in_the_data(tmp_path):
    shown = read_data(render(tell_objectives(tmp_path, names_of(3))))
    assert [one["label"] for one in shown["front"]["spaces"][0]["axes"]] == [
        "correct (%), more is better",
        "calls per question, fewer is better",
        "tokens per question, fewer is better",
    ]
    [run] = shown["front"]["groups"]
    volumes = {0: "0", 2: "0.3333", 4: "0.6667", 6: "1"}
    assert [(one["step"], one["name"]) for one in run["points"]] == [
        (step, f"step {step}, hypervolume {volume}") for step, volume in volumes.items()
    ]
    for one in run["points"]:
        measured = measure_at(one["step"] / 6, names_of(3))
        expected = [100 * measured["correct"], measured["calls"], measured["tokens"]]
        np.testing.assert_allclose(one["values"][0], expected)
        rewards = [measured["correct"], -measured["calls"], -measured["tokens"]]
        np.testing.assert_allclose(one["values"][1], rewards)
    assert shown["curves"]["runs"][0]["boundary"] == 3.5
    [table] = [part for part in shown["parts"] if "rows" in part]
    assert [*table["rows"][1][:-1], *table["rows"][1][-1]] == [
        *("calls", "fewer", "per question", "3.00", "1.00", "-67 %", "better"),
    ]


def test_the_front_is_that_of_all_objectives(tmp_path):
    """The first has the fewest calls of no pair that any plot shows, but is on the front."""
    run = tell_objectives(tmp_path, names_of(3))
    for step, calls, tokens in ((7, 2.0, 250.0), (8, 5.0, 900.0)):
        measured = {"correct": 0.5, "calls": calls, "tokens": tokens}
        outcome = {"correct": 0.5, "calls": -calls, "tokens": -tokens}
        run.append_evaluation({"step": step, "measured": measured, "outcome": outcome})
    run.append_evaluation({"step": 9, "measured": {"correct": 1.0}})
    found = {step: point["best"] for step, point in points_of(render(run)).items()}
    history = read_history(run)
    points = history.rewards(history.objectives)
    for at, row in enumerate(history.evaluations):
        beaten = any((other >= points[at]).all() and (other > points[at]).any() for other in points)
        expected = not beaten and not np.isnan(points[at]).any()
        assert found[row["step"]] == [expected, expected]
    assert not found[8][0]
    assert not found[9][0]


def test_learnt_prices_are_curves_by_kind(tmp_path):
    run = RunFolder.create(tmp_path, loads("[optimiser]\nsteps = 2\n"))
    session = Session(run, prompts=8, steps_per_epoch=8)
    session.observe(0, group([1, 5], [1, 0]))
    for step, kinds in ((1, ["one"]), (2, ["one", "two"])):
        groups = [[replace(one, kind=kind) for one in group([2, 4], [1, 1])] for kind in kinds]
        session.advantages([score(session, one) for one in groups])
        session.record_step(step, {})
    curves = read_data(render(run))["curves"]["curves"]
    found = {one["title"]: one["lines"][0]["trained"] for one in curves}
    title = "price of a right answer in calls (kind {})".format
    assert (found[title("one")], found[title("two")]) == ([4.0, 4.0], [None, 4.0])


# ---- in a browser --------------------------------------------------------------------------------


@pytest.fixture
def shown(show_page):
    """A function: runs → the browser with their report open."""

    def show(*runs, **settings):
        page = show_page(render(*runs), **settings)
        page.wait("document.querySelector('#curves svg') !== null")
        return page

    return show


def count(page, selector):
    return page.value(f"document.querySelectorAll({selector!r}).length")


def label(page, selector):
    return page.value(f"document.querySelector({selector!r}).getAttribute('aria-label')")


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
    titles = page.value("[...document.querySelectorAll('figcaption')].map((one) => one.innerText)")
    assert "price of a right answer in calls (kind one)" in titles
    assert "answers within the limit on calls (%)" in titles
    assert "multiplier of the limit on calls" in titles
    assert count(page, ".limit.run-1") == 2  # on the calls, and on their share
    assert count(page, ".limit.run-0") == 0
    assert "dotted: a limit" in texts(page, "#curves-key")[0]
    assert "dotted" not in texts(shown(free), "#curves-key")[0]


@pytest.mark.browser
@pytest.mark.parametrize("objectives", [1, 2, 3, 8])
@pytest.mark.parametrize("width", [360, 1280])
def test_the_page_has_the_plots_that_the_objectives_need(shown, tmp_path, objectives, width):
    page = shown(tell_objectives(tmp_path, names_of(objectives)), width=width)
    assert count(page, "#front-chart svg") == (objectives > 1)
    assert count(page, "#pairs .pair") == (
        objectives * (objectives - 1) // 2 if objectives > 2 else 0
    )
    assert count(page, "#axes select") == {1: 1, 2: 1}.get(objectives, 3)
    beside = objectives < 3  # the length of responses
    assert count(page, "#curves figure") == objectives + beside + 2
    kinds = 2  # without the length of responses
    assert count(page, "#parts tbody tr") == (1 + kinds) * objectives + beside
    assert page.value("document.documentElement.scrollWidth <= innerWidth")
    if objectives > 1:
        assert count(page, "#front-chart .mark") == 4
        described = label(page, "#front-chart svg")
        assert "correct (%), more is better, against calls per question, fewer" in described


def at_mark(page, number):
    """Where a mark of the front is on the screen."""
    return page.value(
        "(() => { const box = document.querySelectorAll('#front-chart .mark')"
        f"[{number}].getBoundingClientRect();"
        " return [(box.left + box.right) / 2, (box.top + box.bottom) / 2]; })()"
    )


@pytest.mark.browser
def test_the_pointer_shows_step_hypervolume_and_numbers(shown, tmp_path):
    page = shown(tell_objectives(tmp_path, names_of(3)))
    assert texts(page, "#selected") == ["step 6, hypervolume 1"]
    x, y = at_mark(page, 1)
    page.command("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    assert texts(page, "#selected") == ["step 2, hypervolume 0.3333"]
    assert page.value("document.querySelector('.tip').textContent") == "step 2, hypervolume 0.3333"
    assert texts(page, "#about dt") == ["correct (%)", "calls per question", "tokens per question"]
    assert page.value("document.getElementById('point').value") == "0 1"


@pytest.mark.browser
def test_a_tap_does_the_same(shown, tmp_path):
    page = shown(tell_objectives(tmp_path, names_of(2)), width=360)
    x, y = at_mark(page, 0)
    page.command("Emulation.setTouchEmulationEnabled", enabled=True)
    points = [{"x": x, "y": y}]
    page.command("Input.dispatchTouchEvent", type="touchStart", touchPoints=points)
    page.command("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    page.command("Emulation.setTouchEmulationEnabled", enabled=False)
    page.wait("document.getElementById('selected').innerText === 'step 0, hypervolume 0'")


@pytest.mark.browser
def test_keys_go_through_the_evaluations_of_every_chart(shown, tmp_path):
    runs = [tell_objectives(tmp_path, names_of(3), seed=seed) for seed in (0, 1)]
    page = shown(*runs)
    for selector in ("#front-chart svg", "#curves figure:last-child svg"):
        page.value(f"document.querySelector({selector!r}).focus()")
        lines = []
        for key in ("Home", "ArrowLeft", "ArrowRight", "ArrowDown", "ArrowUp", "End"):
            page.press(key)
            lines += texts(page, "#selected")
        assert [one.removeprefix("recommended, seed ") for one in lines] == [
            "0: step 0, hypervolume 0",
            "0: step 0, hypervolume 0",
            "0: step 2, hypervolume 0.3333",
            "1: step 2, hypervolume 0.3333",
            "0: step 2, hypervolume 0.3333",
            "0: step 6, hypervolume 1",
        ]
    reached = page.value(
        "[...document.querySelectorAll('svg[tabindex], button, select, input')].length"
    )
    assert reached == 1 + 5 + 3 + 3 + 2 + 1  # charts, pairs, choices of axes, runs, evaluation


@pytest.mark.browser
def test_two_axes_are_chosen_from_three_on(shown, tmp_path):
    page = shown(tell_objectives(tmp_path, names_of(4)))
    choose(page, along="2")
    assert "correct (%), more is better, against tokens" in label(page, "#front-chart svg")
    choose(page, up="2")  # the same for both: they change places
    assert "tokens per question, fewer is better, against correct" in label(
        page, "#front-chart svg"
    )
    page.value("document.querySelectorAll('.pair')[5].click()")
    assert "tokens per question, fewer is better, against polite" in label(page, "#front-chart svg")
    assert count(page, ".pair[aria-pressed=true]") == 1
    assert page.value("document.getElementById('up').value") == "2"
    choose(page, space="1")
    described = label(page, "#front-chart svg")
    assert "tokens as a reward, more is better, against polite as a reward" in described
    assert page.value("document.getElementById('along').value") == "3"


@pytest.mark.browser
def test_the_edge_goes_through_the_outcomes_that_are_best(shown, tmp_path):
    """Few calls and much right."""
    page = shown(tell_objectives(tmp_path, names_of(2)))
    corners = page.value(
        "document.querySelector('.edge').getAttribute('d').slice(1).split('L')"
        ".map((place) => place.split(' ').map(Number))"
    )
    assert len(corners) >= 3
    # From the fewest calls on, which are at the left, to the right and upwards.
    assert all(x <= next_x and y >= next_y for (x, y), (next_x, next_y) in pairwise(corners))


@pytest.mark.browser
def test_runs_are_laid_over_each_other_and_put_away(shown, tmp_path):
    runs = [tell_objectives(tmp_path, names_of(3), seed=seed) for seed in range(3)]
    page = shown(*runs)
    assert texts(page, "#groups label") == [f"recommended, seed {seed}" for seed in range(3)]
    assert count(page, "#front-chart .mark") == 12
    outlines = page.value(
        "[...document.querySelectorAll('.sample path')].map((one) => one.getAttribute('d'))"
    )
    assert len(set(outlines)) == 3  # shapes tell them apart, too
    page.value("document.querySelectorAll('#groups input')[0].click()")
    assert count(page, "#front-chart .mark") == 8
    assert texts(page, "#selected")[0].startswith("recommended, seed 1: ")
    for number in (1, 2):
        page.value(f"document.querySelectorAll('#groups input')[{number}].click()")
    assert count(page, "#front-chart .mark") == 4  # one always stays
    choose(page, point="1 2")
    assert texts(page, "#selected") == ["recommended, seed 1: step 4, hypervolume 0.6667"]


@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 1280])
def test_runs_and_methods_share_a_table(shown, tmp_path, width):
    runs = [tell_objectives(tmp_path, names_of(3), seed=seed) for seed in range(3)]
    runs[2].update_manifest(method="gdpo")
    page = shown(*runs, width=width)
    heads = texts(page, "#parts > div:nth-of-type(1) thead th")
    assert heads[:3] == ["run", "seeds", "correct (%), more is better"]
    assert heads[3:] == [
        "calls per question, fewer is better",
        "tokens per question, fewer is better",
    ]
    assert texts(page, "#parts > div:nth-of-type(1) tbody th") == [
        *("recommended, seed 0", "recommended, seed 1", "gdpo, seed 2", "recommended", "gdpo"),
    ]
    assert count(page, "#parts > div:nth-of-type(1) th.strong") == 2
    cells = texts(page, "#parts > div:nth-of-type(1) tr:nth-child(4) td")[:2]
    assert [" ".join(one.split()) for one in cells] == [
        *("2", "50.0 ± 0.0 → 90.2 ± 0.3 (+40.2 points) better"),
    ]
    assert count(page, "#parts > div:nth-of-type(1) td.better") == 15
    assert page.value("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.browser
def test_missing_values_leave_gaps(shown, tmp_path):
    run = tell_objectives(tmp_path, names_of(3))
    run.append_evaluation({"step": 8, "measured": {"correct": 0.7, "calls": None}})
    page = shown(run)
    assert texts(page, "#selected") == ["step 8"]
    assert texts(page, "#about dd") == ["70.0", "unknown", "unknown"]
    assert page.value("document.querySelector('.ring').classList.contains('hidden')")
    assert "NaN" not in page.value("document.querySelector('main').innerHTML")
