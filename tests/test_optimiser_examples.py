"""The examples of optimisers run in seconds, are self-contained, and find good fronts."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def printed(name, tmp_path, *arguments):
    command = [sys.executable, "-W", "ignore", str(EXAMPLES / f"{name}.py"), *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not [*tmp_path.iterdir()]  # it leaves nothing behind
    return done.stdout


def volumes(text):
    return [float(value) for value in re.findall(r"hypervolume (\d\.\d+)", text)]


@pytest.mark.parametrize(("name", "least"), [("nsga2", 0.85), ("sms_emoa", 0.73)])
def test_example_algorithms_find_the_front(name, least, tmp_path):
    found = volumes(printed(name, tmp_path))
    assert len(found) > 5
    assert found[0] < 0.2
    assert found[-1] > least
    assert found == sorted(found)
    lines = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8").splitlines()
    assert len([line for line in lines if line.strip()]) <= 35


@pytest.mark.long
def test_newton_steps_on_a_hypervolume_converge_quadratically(tmp_path):
    pytest.importorskip("torch")
    text = printed("newton_front", tmp_path)
    found = volumes(text)
    assert found[0] < 0.65
    assert found[-1] > 0.71
    slopes = [float(slope) for slope in re.findall(r"slope (\S+),", text)]
    steps = [float(step) for step in re.findall(r"step (\S+)$", text, re.MULTILINE)]
    assert len(slopes) == len(steps) == len(found)
    assert max(slopes[-1], steps[-1]) < 1e-12
    assert slopes[-2] < slopes[-3] ** 1.5


def test_prompts_that_evolve_are_better_than_none(tmp_path):
    text = printed("prompt_evolution", tmp_path)
    found = re.findall(r"^ *([\d.]+)% right, +(\d+) tokens: (.+)$", text, re.MULTILINE)
    right = [float(share) for share, _, _ in found]
    tokens = [int(count) for _, count, _ in found]
    assert len(found) >= 8
    assert right == sorted(right)
    assert tokens == sorted(tokens)  # more tokens buy right answers
    assert right[-1] > 85
    for _, count, prompt in found:  # an index leads to the prompt that was graded
        assert int(count) == (0 if prompt == "(no prompt)" else len(prompt.split()))


def test_a_loop_of_botorch_improves(tmp_path):
    pytest.importorskip("botorch")
    pytest.importorskip("gpytorch")
    found = volumes(printed("botorch_loop", tmp_path))
    assert len(found) == 7
    assert found == sorted(found)
    assert found[-1] > found[0]


def measures(text):
    """Policies, hypervolume and expected utility by the name of the row."""
    rows = re.findall(r"^ *(\S.*?) +(\d+) +([\d.]+) +([\d.]+)(?: +[\d.]+)?$", text, re.MULTILINE)
    return [(name, int(count), float(hv), float(eu)) for name, count, hv, eu in rows]


@pytest.mark.parametrize(("name", "chosen"), [("-concave", 2), ("", 10)])
def test_one_learner_finds_all_policies_of_deep_sea_treasure(name, chosen, tmp_path):
    pytest.importorskip("mo_gymnasium")
    text = printed("deep_sea_treasure", tmp_path, "--env", f"deep-sea-treasure{name}-v0")
    known, learned = measures(text)
    assert (known[0], learned[0]) == ("the known front", "this learner")
    assert learned[1:] == pytest.approx(known[1:], abs=2e-4)
    assert text.endswith(f"101 weighted sums choose {chosen} of the 10 policies.\n")
    paths = re.findall(r"^treasure +[\d.]+, time +([\d.]+): ([UDLR]+)$", text, re.MULTILINE)
    assert len(paths) == 10
    for discounted, path in paths:
        assert float(discounted) == pytest.approx((1 - 0.99 ** len(path)) / 0.01, abs=0.006)


def test_measures_of_policies_equal_those_of_morl_baselines(tmp_path):
    for package in ("mo_gymnasium", "morl_baselines", "pymoo", "torch", "wandb"):
        pytest.importorskip(package)
    rows = measures(printed("deep_sea_treasure", tmp_path, "--morl-baselines", "--steps", "3000"))
    names = ["the known front", "this learner", "PQL of morl-baselines"]
    assert [row[0] for row in rows[::2]] == names
    assert [row[0] for row in rows[1::2]] == ["by its indicators"] * 3
    assert [row[1:] for row in rows[::2]] == [row[1:] for row in rows[1::2]]
    assert 2 <= rows[2][1] < 10  # this run is too short for the whole front


def trade_offs(text):
    rows = re.findall(r"^ *([\d.]+)% right, +(\d+) tokens$", text, re.MULTILINE)
    return [(float(right), int(tokens)) for right, tokens in rows]


def check_front(found):
    """Every prompt has more right answers than all shorter ones."""
    assert len({tokens for _, tokens in found}) == len(found)
    assert found == sorted(found, key=lambda one: one[1])


@pytest.mark.parametrize(
    ("package", "example", "name"),
    [
        ("gepa", "gepa_selector", "ParetoSelector"),
        ("openevolve", "openevolve_strategy", "pareto_strategy"),
    ],
)
def test_a_package_that_evolves_prompts_keeps_more_trade_offs(package, example, name, tmp_path):
    pytest.importorskip(package)
    text = printed(example, tmp_path)
    row = r"^(.+): (\d+) prompts, (\d+) on the front, hypervolume ([\d.]+)$"
    (default, *theirs), (chosen, *ours) = re.findall(row, text, re.MULTILINE)
    assert (default.lower(), chosen) == (f"{package}'s default", name)
    assert float(ours[2]) > float(theirs[2])
    assert int(ours[0]) >= int(ours[1]) > int(theirs[1])
    assert len(trade_offs(text)) == int(ours[1]) >= 5
    check_front(trade_offs(text))
