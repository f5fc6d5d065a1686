"""The questions of the language models: research/{choice,parts,routing}/{train,held_out}.jsonl.

`steerable_models.toml` asks those of examples/steerable.
"""

from __future__ import annotations

import json
import random
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TRAIN, HELD_OUT = 400, 512  # a training of 24 steps takes two passes
DIGITS = 5


def _make_choice(draw: random.Random) -> Iterator[dict[str, Any]]:
    """Ask for the remainder of a number divided by 3, with the choices 0, 1 and 2."""
    for number in draw.sample(range(10 ** (DIGITS - 1), 10**DIGITS), TRAIN + HELD_OUT):
        yield {
            "prompt": f"{number} mod 3: 0, 1 or 2?",
            "answer": str(number % 3),
            "digits": [int(one) for one in str(number)],
        }


def _make_parts(draw: random.Random) -> Iterator[dict[str, Any]]:
    """Ask for the price of a spare part."""
    price = runpy.run_path(str(HERE / "parts" / "tools.py"))["shop"]
    for number in draw.sample(range(1000, 10000), TRAIN + HELD_OUT):
        part = str(number)
        yield {"prompt": f"Price of {part}?", "answer": price(part), "part": part}


def _make_routing(draw: random.Random) -> Iterator[dict[str, Any]]:
    """Ask for the model that answers a request; the answer is the least one that does."""
    for at, number in enumerate(draw.sample(range(1000, 10000), TRAIN + HELD_OUT)):
        kind = ("line", "page", "book")[at % 3]
        [least] = draw.choices(["small", "medium", "large"], [0.5, 0.4, 0.1])
        prompt = f"Request {number}, a {kind}: small, medium or large?"
        yield {"prompt": prompt, "answer": least, "kind": kind}


def write_missing(folder: Path = HERE) -> None:
    """Write the tasks' files to a folder, unless they are there."""
    made = {"choice": _make_choice, "parts": _make_parts, "routing": _make_routing}
    for name, make in made.items():
        lines = [json.dumps(one) + "\n" for one in make(random.Random(name))]
        (folder / name).mkdir(exist_ok=True)
        for file, part in (("train", lines[:TRAIN]), ("held_out", lines[TRAIN:])):
            path = folder / name / f"{file}.jsonl"
            if not path.exists():
                path.write_text("".join(part), encoding="utf-8")
    example = HERE.parent / "examples" / "steerable"
    if folder == HERE and not (example / "held_out.jsonl").exists():
        runpy.run_path(str(example / "make_questions.py"))["main"]()


if __name__ == "__main__":
    write_missing()
