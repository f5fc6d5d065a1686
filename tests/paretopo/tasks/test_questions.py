"""Prompts of the paper's tasks, and exact match of answers, held to right and wrong pairs."""

import pytest

from paretopo.protocols.search_r1 import search_r1_prompt
from paretopo.protocols.torl import torl_prompt
from paretopo.rewards.correctness import exact_answer, last_answer


def test_prompts_take_any_text():
    problem = r"Find \boxed{} of {x} % [PROMPT]"
    prompt = torl_prompt(problem)
    assert prompt.startswith("A conversation between User and Assistant. The user asks a question,")
    assert prompt.endswith(f"within \\boxed{{}}.\n{problem}\nAssistant:\n")
    assert prompt.count("\n") == 4
    assert torl_prompt("x", "0307").count("\n") == 3
    assert search_r1_prompt(" Who? ").endswith("<answer> Beijing </answer>. Question: Who?\n")
    assert search_r1_prompt("Who").endswith("Question: Who?\n")
    assert "as many times as your want." in search_r1_prompt("x")


@pytest.mark.parametrize(
    ("response", "targets", "reward"),
    [
        ("<answer>Oslo</answer>", "Oslo", 1.0),
        ("<answer> oslo. </answer>", ["Bergen", "Oslo"], 1.0),
        ("<answer>the United States</answer>", ["United States"], 1.0),
        ("<answer>An apple, a pear</answer>", ["apple pear"], 1.0),
        ("<answer>U.S.A.</answer>", ["USA"], 1.0),
        ("<answer>\n1,000\n</answer>", ["1000"], 1.0),
        ("<answer>Rome</answer>, no: <answer>Oslo</answer>", ["Oslo"], 1.0),
        ("<answer>José</answer>", ["josé"], 1.0),
        ("<answer>Oslo</answer>, no: <answer>Rome</answer>", ["Oslo"], 0.0),
        ("<answer>in Oslo</answer>", ["Oslo"], 0.0),
        ("<answer>Oslo, Norway</answer>", ["Oslo"], 0.0),
        ("<answer>Jose</answer>", ["josé"], 0.0),
        ("<answer>theatre</answer>", ["atre"], 0.0),
        ("<answer>Oslo", ["Oslo"], 0.0),
        ("Oslo", ["Oslo"], 0.0),
        ("", ["Oslo"], 0.0),
        ("<answer></answer>", ["Oslo"], 0.0),
        ("<search>Oslo</search>", ["Oslo"], 0.0),
    ],
)
def test_exact_match(response, targets, reward):
    assert exact_answer(response, targets) == reward


def test_the_last_answer_counts():
    assert last_answer("<answer>a</answer><answer>b\nc</answer> d") == "b\nc"
    assert last_answer("<answer>a</answer><answer>b") is None  # it was cut off
    assert last_answer("no") is None
