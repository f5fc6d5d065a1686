"""Groups of rollouts to look at, with texts that no viewer may obey."""

from __future__ import annotations

import math
from dataclasses import replace

from paretopo.records.trajectories import Group
from paretopo.rollout import Rollout, Segment

# Texts that would run, load, close or fake something if they were read as markup or commands.
HOSTILE = (
    "</script><script>window.broken = 1</script>",
    "<!--<script>",
    "]]><img src=x onerror='window.broken = 1'>",
    "{{script}} ${window.broken = 1} \\u003cb>",
    "<svg onload=window.broken=1><style>*{display:none}</style>",
    "\x1b[2J\x1b]0;broken\x07 \x9b31m \u202edetrevni\u202c \u2028 \0",
)


def rollout(*segments: tuple[str, str], solved=True, calls=0, economy=1.0, **more) -> Rollout:
    rewards = (float(solved), economy)
    return Rollout(
        "q",
        {"correct": float(solved), "calls": float(calls)},
        solved=solved,
        segments=tuple(Segment(kind, text) for kind, text in segments),
        rewards=rewards,
        gated=rewards if solved else (0.0, 0.0),
        **more,
    )


def put(prompt_id: str, prompt: str, answer: str, *rollouts: Rollout, kind="", held_out=False):
    """The rollouts as those of one prompt."""
    shared = {"prompt_id": prompt_id, "prompt": prompt, "answer": answer, "kind": kind}
    return tuple(replace(one, held_out=held_out, **shared) for one in rollouts)


def trained(step: int = 3, name: str = "47*38") -> Group:
    """Three fronts: right in one call, right in two, wrong without any."""
    call, seen = ("call", 'calculator {"expression": "47*38"}'), ("tool", "1786")
    once = rollout(call, seen, ("model", "1786"), calls=1, rank=0, advantage=1.25)
    twice = rollout(
        call, seen, call, seen, ("model", "1786"), calls=2, economy=0.5, rank=1, advantage=0.25
    )
    guess = rollout(
        ("model", "1700"), solved=False, economy=0.4, rank=2, advantage=-0.75, truncated=True
    )
    rollouts = put(name, "What is 47*38?", "1786", guess, twice, once, kind="one")
    return Group(rollouts, step=step, stage=2)


def many_objectives(step: int) -> Group:
    """Three rollouts by three objectives; the tokens of one are not known."""
    measured = ((0.0, 1.0, 300.0), (1.0, 3.0, None), (0.5, 2.0, 200.0))
    names = ("correct", "calls", "tokens")
    rollouts = []
    for number, (correct, calls, tokens) in enumerate(measured):
        rewards = (correct, -calls, math.nan if tokens is None else -tokens)
        components = {"correct": correct, "calls": calls, "tokens": tokens}
        one = Rollout("q", components, solved=correct > 0, rewards=rewards, gated=rewards)
        rollouts.append(replace(one, rank=number, advantage=0.5 - number))
    return Group(put("q", "why?", "so", *rollouts), step, 1, names)


def asked_again(step: int, *, solved: bool) -> Group:
    """A held-out question, at one of several evaluations."""
    answer = rollout(("model", "7" if solved else "12"), solved=solved)
    question = "How many days are in a week?"
    return Group(
        put("fact-1", question, "7", answer, kind="fact", held_out=True), step=step, stage=1
    )


def hostile(step: int = 9) -> Group:
    """Every field full of them."""
    all_of_it = "\n".join(HOSTILE)
    segments = [(kind, text) for text in HOSTILE for kind in ("model", "call", "tool")]
    rollouts = rollout(*segments, rank=0, advantage=0.0), rollout(rank=0, advantage=0.0)
    return Group(
        put(all_of_it, all_of_it, all_of_it, *rollouts, kind=HOSTILE[0]),
        step=step,
        stage=1,
        objectives=(HOSTILE[0], HOSTILE[2]),
    )
