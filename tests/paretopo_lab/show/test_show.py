"""`paretopo show` on a terminal."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.trajectory_groups import asked_again, hostile, many_objectives, put, rollout, trained

from paretopo import cli
from paretopo.config import loads
from paretopo.records.folder import RunFolder
from paretopo.records.trajectories import Group
from paretopo.rollout import Rollout
from paretopo_lab.show.selection import Selection
from paretopo_lab.show.terminal import escape_controls, render_lines, wrap

MIXED = [asked_again(0, solved=False), trained(3), trained(4, "11*12"), asked_again(4, solved=True)]


@pytest.fixture
def run(tmp_path):
    run = RunFolder.create(tmp_path / "runs", loads(""))
    for group in MIXED:
        run.append_trajectories(group)
    return run


def lines_of(*groups, width=80):
    return list(render_lines(groups, Selection(), width=width))


# ---- lines ---------------------------------------------------------------------------------------


def test_a_group_reads_as_it_happened():
    shown = """\
step 3 · training · one · 47*38 · 2 of 3 right
  asked  What is 47*38?
  right  1786

#3 right · correct 1 · calls 1 · rank 0 · advantage +1.250
  call   calculator {"expression": "47*38"}
  tool   1786
  model  1786

#2 right · correct 1 · calls 2 → 0.5 · rank 1 · advantage +0.250
  call   calculator {"expression": "47*38"}
  tool   1786
  call   calculator {"expression": "47*38"}
  tool   1786
  model  1786

#1 wrong · correct 0 · calls 0 → 0.4 (gated 0) · rank 2 · advantage -0.750 ·
cut off
  model  1700
"""
    assert "\n".join(lines_of(trained())) == shown


@pytest.mark.parametrize(
    ("stage", "kind", "heading"),
    [
        (2, "one", "step 3 · training · one · 47*38 · 2 of 3 right"),
        (1, "one", "step 3 · training, stage 1 · one · 47*38 · 2 of 3 right"),
        (2, "all", "step 3 · training · 47*38 · 2 of 3 right"),
    ],
)
def test_a_heading_names_only_the_parts_that_the_run_has(stage, kind, heading):
    rollouts = tuple(dataclasses.replace(one, kind=kind) for one in trained().rollouts)
    group = dataclasses.replace(trained(), rollouts=rollouts, stage=stage)
    assert lines_of(group)[0] == heading


@pytest.mark.parametrize(
    ("answer", "objectives", "shown"),
    [
        ("7", ("correct", "calls"), ["  right  7"]),
        ("7", ("polite", "calls"), ["  answer 7"]),  # imitated, perhaps: no grader reads it
        ("", ("polite", "calls"), []),
    ],
)
def test_an_answer_is_called_right_where_it_is_graded_by(answer, objectives, shown):
    one = Rollout("q", {"calls": 0.0}, prompt="3+4", answer=answer)
    group = Group((one,), objectives=objectives)
    lines = lines_of(group)
    assert lines[lines.index("  asked  3+4") + 1 : lines.index("")] == shown


def test_a_held_out_question_has_neither_rank_nor_advantage():
    shown = lines_of(asked_again(4, solved=True))
    assert shown[0] == "step 4 · held out · fact · fact-1 · 1 of 1 right"
    assert shown[4:] == ["#1 right · correct 1 · calls 0 → 1", "  model  7", ""]


@pytest.mark.parametrize("width", [1, 24, 40, 80, 200])
def test_lines_fit_the_terminal(width):
    long = rollout(("model", "so " * 300 + "x" * 500), ("tool", "\tindented"))
    groups = [*MIXED, hostile(), dataclasses.replace(trained(), rollouts=(long,))]
    assert max(map(len, lines_of(*groups, width=width))) <= max(width, 24)


def test_a_terminal_gets_no_commands_from_a_model():
    shown = "\n".join(lines_of(hostile()))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown)
    assert "␛[2J␛]0;broken␇" in shown
    assert "\\u202edetrevni" in shown


@given(text=st.text(st.characters(exclude_categories=()), max_size=80))
def test_output_is_encodable_and_without_control_characters(text):
    escaped = escape_controls(text)
    escaped.encode()
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", escaped)


@given(
    text=st.text(st.sampled_from("ab  \nx-"), max_size=120),
    width=st.integers(2, 30),
)
def test_wrapping_loses_nothing_but_spaces(text, width):
    broken = wrap(text, width)
    assert max(map(len, broken)) <= width
    assert "".join(broken).replace(" ", "") == text.replace("\n", "").replace(" ", "")


# ---- selection -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("selection", "steps", "shown"),
    [
        (Selection(), [0, 3, 4, 4], 4),
        (Selection(step=4), [4, 4], 2),
        (Selection(step=5), [], 0),
        (Selection(group="fact-1"), [0, 4], 2),
        (Selection(only="held-out"), [0, 4], 2),
        (Selection(only="training"), [3, 4], 2),
        (Selection(only="right"), [3, 4, 4], 3),
        (Selection(only="wrong"), [0, 3, 4], 3),
        (Selection(most=1), [4], 4),
        (Selection(only="wrong", most=2), [3, 4], 3),
    ],
)
def test_groups_are_chosen(selection, steps, shown):
    groups, wanted = selection.select(iter(MIXED))
    assert [group.step for group in groups] == steps
    assert wanted == shown


@pytest.mark.parametrize(
    ("selection", "numbers"),
    [
        (Selection(), [3, 2, 1]),
        (Selection(sort="calls"), [3, 2, 1]),
        (Selection(sort="step"), [1, 2, 3]),
        (Selection(only="right"), [3, 2]),
        (Selection(only="wrong", sort="calls"), [1]),
        (Selection(only="training"), [3, 2, 1]),
    ],
)
def test_rollouts_keep_their_numbers_in_any_order(selection, numbers):
    assert [number for number, _ in selection.select_rollouts(trained())] == numbers


@pytest.mark.parametrize(
    ("sort", "numbers"), [("correct", [2, 3, 1]), ("calls", [1, 3, 2]), ("tokens", [3, 1, 2])]
)
def test_rollouts_are_ordered_by_the_reward_for_any_objective(sort, numbers):
    """One that an objective does not apply to is the last."""
    chosen = Selection(sort=sort).select_rollouts(many_objectives(3))
    assert [number for number, _ in chosen] == numbers


def test_objectives_are_shown_with_names_and_values():
    shown = lines_of(many_objectives(3), width=120)
    measures = "correct 0.5 · calls 2 → -2 · tokens 200 → -200"
    assert f"#3 right · {measures} · rank 2 · advantage -1.500" in shown
    assert any("tokens does not apply" in line for line in shown)


# ---- the command ---------------------------------------------------------------------------------


def test_the_newest_prompts_of_a_run_are_shown(run, capsys):
    assert cli.main(["show", str(run.path), "--groups", "2"]) == 0
    printed = capsys.readouterr().out
    assert "step 3" not in printed
    assert printed.index("step 4 · training") < printed.index("step 4 · held out")
    assert printed.endswith("the newest 2 of 4 prompts; --groups N shows more\n")
    assert "\x1b" not in printed


def test_a_file_from_elsewhere_is_shown_too(run, capsys):
    source = run.path / "trajectories.jsonl"
    with source.open("a", encoding="utf-8") as file:
        file.write('{"step": 5, "torn')
    assert cli.main(["show", str(source), "--only", "wrong", "--step", "3"]) == 0
    printed = capsys.readouterr().out
    assert "#1 wrong" in printed
    assert "right ·" not in printed.split("asked")[1]
    assert printed.endswith("1 prompt\n")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--groups", "0"], "--groups must be at least 1, got 0"),
        (
            ["--step", "77"],
            "these options select no prompt of .*trajectories.jsonl; it has prompts of the steps ",
        ),
        (["--sort", "cals"], "--sort must be one of advantage, step, correct, calls, got cals"),
        (["--html", "/nowhere/at/all.html"], "No such file"),
    ],
)
def test_wrong_arguments_take_one_line(run, capsys, words, complaint):
    assert cli.main(["show", str(run.path), *words]) == 2
    error = capsys.readouterr().err
    assert re.match(f"paretopo: .*{complaint}", error)
    assert error.count("\n") == 1


def test_a_run_without_trajectories_says_how_to_keep_them(tmp_path, capsys):
    run = RunFolder.create(tmp_path, loads(""))
    assert cli.main(["show", str(run.path)]) == 2
    assert "a run keeps rollouts if run.trajectories is above 0" in capsys.readouterr().err
    (run.path / "trajectories.jsonl").write_text('{"step": 1}\n', encoding="utf-8")
    assert cli.main(["show", str(run.path)]) == 2
    assert "line 1 is not a group of rollouts: it lacks id" in capsys.readouterr().err


def test_a_reader_that_leaves_is_no_error(tmp_path):
    run = RunFolder.create(tmp_path, loads(""))
    prompt = "why? " * 20_000
    run.append_trajectories(Group(put("q", prompt, "42", *trained().rollouts)))
    command = [sys.executable, "-m", "paretopo", "show", str(run.path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline().startswith("step 0")
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait() == 0
