"""`paretopo show --html`: the content of the page, and its behaviour in a browser."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support.pages import check_self_contained, choose, read, read_data, texts
from support.trajectory_groups import HOSTILE, asked_again, hostile, many_objectives, trained

from paretopo import cli
from paretopo.records.trajectories import append_group
from paretopo_lab.document import page as document
from paretopo_lab.show import page as own
from paretopo_lab.show.page import render_rollouts_page
from paretopo_lab.show.selection import Selection

GROUPS = [
    asked_again(0, solved=False),
    trained(3),
    trained(4, "11*12"),
    asked_again(4, solved=True),
    hostile(),
]

# ---- the file ------------------------------------------------------------------------------------


def test_the_same_elements_whatever_the_model_wrote():
    calm, wild = (
        read(render_rollouts_page("run", groups, Selection())) for groups in ([trained()], GROUPS)
    )
    named = read(render_rollouts_page(HOSTILE[0], [trained()], Selection()))
    assert [tag for tag, _ in calm.elements] == [tag for tag, _ in wild.elements]
    assert [tag for tag, _ in calm.elements] == [tag for tag, _ in named.elements]
    assert HOSTILE[0] in named.of("title")[0][1]


def test_all_that_was_written_is_in_the_data():
    text = render_rollouts_page("run", GROUPS, Selection(sort="calls", only="wrong"))
    shown = read_data(text)
    assert shown["groups"] == json.loads(json.dumps([group.to_row() for group in GROUPS]))
    assert (shown["name"], shown["sort"], shown["only"]) == ("run", "calls", "wrong")


def test_nothing_is_loaded_and_only_our_own_script_may_run():
    check_self_contained(render_rollouts_page("run", GROUPS, Selection()))
    scripts = list(Path(own.__file__).parent.rglob("*.js"))
    assert scripts
    for part in scripts:
        for unsafe in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval("):
            assert unsafe not in part.read_text(encoding="utf-8")


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", [0, 1])
def test_texts_stand_out_from_their_ground(scheme):
    """At least 4.5 : 1, as the Web Content Accessibility Guidelines 2.2 ask (1.4.3, AA)."""
    style = Path(document.__file__).with_name("base.css").read_text()
    schemes = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", schemes[scheme]))
    pairs = [
        (text, ground)
        for text in ("text", "faint", "accent", "right", "wrong")
        for ground in ("ground", "raised")
    ]
    pairs += [(text, f"{name}-ground") for name in ("call", "tool") for text in (name, "text")]
    pairs += [("on-mark", "mark")]
    for text, ground in pairs:
        low, high = sorted((luminance(colours[text]), luminance(colours[ground])))
        assert (high + 0.05) / (low + 0.05) >= 4.5, (text, ground)


def test_the_command_writes_the_page(tmp_path, capsys):
    for group in GROUPS:
        append_group(tmp_path / "trajectories.jsonl", group)
    path = tmp_path / "x.html"
    assert cli.main(["show", str(tmp_path), "--html", str(path)]) == 0
    assert capsys.readouterr().out == f"{path}: 5 prompts\n"
    assert cli.main(["show", str(tmp_path), "--html", str(path), "--groups", "3"]) == 0
    shown = read_data(path.read_text(encoding="utf-8"))
    assert [group["step"] for group in shown["groups"]] == [4, 4, 9]


# ---- in a browser --------------------------------------------------------------------------------


@pytest.fixture
def shown(show_page):
    """A function: groups → the browser with their page open."""

    def show(groups, selection=None, **settings):
        text = render_rollouts_page("a run", groups, selection or Selection())
        return show_page(text, **settings)

    return show


def current(browser):
    return browser.value("document.querySelector('[aria-current] .when').innerText")


@pytest.mark.browser
@pytest.mark.parametrize("dark", [False, True])
def test_a_prompt_is_shown_with_its_rollouts(shown, dark):
    page = shown([trained()], dark=dark)
    assert texts(page, ".rollout h3") == ["#3 ✓ right", "#2 ✓ right", "#1 ✗ wrong cut off"]
    assert texts(page, ".rollout:first-child .label") == ["tool call", "observation", "model"]
    assert texts(page, ".rollout:first-child pre") == [
        'calculator {"expression": "47*38"}',
        "1786",
        "1786",
    ]
    facts = texts(page, ".rollout:last-child .facts div")
    assert facts == [
        "correct\n0",
        "calls\n0 → 0.4, gated 0",
        "rank\n2",
        "advantage\n-0.750",
    ]
    ground = page.value("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(20, 23, 28)" if dark else "rgb(255, 255, 255)")


@pytest.mark.browser
def test_model_output_is_escaped(shown):
    page = shown([hostile()])
    assert page.value("window.broken") is None
    written = page.value("[...document.querySelectorAll('pre')].map((e) => e.textContent)")
    assert len(written) == 3 * len(HOSTILE)
    assert [text for text in written[::3] if "\0" not in text] == list(HOSTILE[:-1])
    assert page.value("document.querySelectorAll('pre *, img, svg style').length") == 0
    assert "nothing written" in texts(page, ".rollout")[1]


@pytest.mark.browser
def test_keys_move_through_prompts_and_steps(shown):
    page = shown(GROUPS[:4])
    assert texts(page, "#groups .when") == [
        "step 4",
        "step 4 held out",
        "step 3",
        "step 0 held out",
    ]
    assert current(page) == "step 4"
    for key, there in (("Down", "step 4 held out"), ("Down", "step 3"), ("Up", "step 4 held out")):
        page.press(f"Arrow{key}")
        assert current(page) == there
    page.value("document.querySelector('[aria-current]').focus()")
    page.press("ArrowDown")
    assert page.value("document.activeElement === document.querySelector('[aria-current]')")
    for key, listed in (("Right", 1), ("Right", 1), ("Right", 2), ("Right", 2), ("Left", 1)):
        page.press(f"Arrow{key}")
        assert len(texts(page, "#groups li")) == listed, key
    assert page.value("document.querySelector('#step').getAttribute('aria-valuetext')") == "3"


@pytest.mark.browser
def test_prompts_are_searched_and_filtered(shown):
    page = shown(GROUPS)
    page.press("/")
    page.type("DAYS are")
    assert texts(page, "#count") == ["2 of 5 prompts"]
    assert set(texts(page, "mark")) == {"days are"}
    assert page.value("location.hash") == "#3"
    page.press("Escape")
    page.press("ArrowDown")
    assert current(page) == "step 0 held out"
    for changes, count in (
        ({"search": ""}, 5),
        ({"outcome": "wrong"}, 3),
        ({"source": "held-out"}, 1),
        ({"source": "training"}, 2),
        ({"search": "no such text"}, 0),
    ):
        choose(page, **changes)
        assert texts(page, "#count") == [f"{count} of 5 prompts"]
    assert texts(page, "#panels") == ["No prompt fits the filters."]
    choose(page, search="", outcome="right")
    choose(page, sort="step")
    assert texts(page, ".rollout h3") == ["#2 ✓ right", "#3 ✓ right"]


@pytest.mark.browser
def test_the_page_opens_as_it_was_asked_for(shown):
    page = shown(GROUPS, Selection(only="wrong", sort="calls"))
    assert texts(page, "#count") == ["3 of 5 prompts"]
    assert texts(page, ".rollout h3") == ["#1 ✗ wrong cut off"]
    assert page.value("document.getElementById('sort').value") == "calls"


@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 800, 1600])
def test_nothing_is_wider_than_the_window(shown, width):
    page = shown(GROUPS, width=width)
    for _ in GROUPS:
        assert page.value("document.documentElement.scrollWidth <= innerWidth")
        main = "document.getElementById('panels')"
        assert page.value(f"{main}.scrollWidth <= {main}.clientWidth")
        page.press("ArrowDown")


@pytest.mark.browser
def test_rollouts_are_ordered_by_any_objective(shown):
    page = shown([many_objectives(4)])
    orders = ["advantage", "as sampled", "best correct", "best calls", "best tokens"]
    assert texts(page, "#sort option") == orders
    choose(page, sort="tokens")
    assert [one[:2] for one in texts(page, ".rollout h3")] == ["#3", "#1", "#2"]
    choose(page, sort="correct")
    assert [one[:2] for one in texts(page, ".rollout h3")] == ["#2", "#3", "#1"]
