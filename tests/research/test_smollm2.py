"""The pages quote the trainings of SmolLM2, and their configurations load."""

import json
from pathlib import Path

import pytest

from paretopo.config import load

ROOT = Path(__file__).parents[2]
HERE = ROOT / "research" / "smollm2"


def read(name):
    return [json.loads(line) for line in (HERE / name).read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(("name", "steps"), [("limit", 240), ("steerable", 60)])
def test_configuration_loads(name, steps, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert load(f"research/smollm2/{name}.toml").optimiser.steps == steps


def test_the_page_on_limits_quotes_the_records():
    page = (ROOT / "docs" / "constraints.md").read_text(encoding="utf-8")
    text = " ".join(page.split())
    rows = read("limits_in_deviations.jsonl")
    assert [row["limit"] for row in rows] == [0.4, 0.6, 0.8, 1.0, 1.2]
    for row in rows:
        steps, last = len(row["mean"]), row["held_out"]
        late = row["mean"][steps * 2 // 3 :]
        cells = (
            f"{row['limit']} | {sum(late) / len(late):.2f} | "
            f"{last['calls']:.2f} \N{PLUS-MINUS SIGN} {last['error']:.2f} | "
            f"{100 * last['correct']:.1f} %"
        )
        assert f"| {cells} |" in page
        assert row["schedule"] == "cosine"
        assert f"takes {steps} steps of {row['rollouts']} rollouts, with a cosine schedule" in text
        assert f"starts with {row['start']:.1f} calls" in text


def test_the_page_on_steerable_policies_quotes_the_records():
    page = (ROOT / "docs" / "steerable.md").read_text(encoding="utf-8")
    rows = {(row["step"], row["preference"][0]): row for row in read("steerable.jsonl")}
    for weight in (1.0, 0.75, 0.5, 0.25, 0.0):
        cells = [
            f"{100 * rows[step, weight]['correct']:.1f} % | {rows[step, weight]['calls']:.2f}"
            for step in (0, 60)
        ]
        assert f"| {weight:g} | {' | '.join(cells)} |" in page
    # A call costs 0.3, and each preference weighs right answers against calls.
    ends = [rows[60, weight] for weight in (1.0, 0.75, 0.5, 0.25, 0.0)]

    def utility(asked, got):
        return asked[0] * got["correct"] - asked[1] * 0.3 * got["calls"]

    steered = sum(utility(row["preference"], row) for row in ends) / 5
    single = max(sum(utility(row["preference"], got) for row in ends) / 5 for got in ends)
    assert f"utility is {steered:.3f}" in page
    assert f"would be {single:.3f}" in page
