"""The questions of the language models: research/{choice,parts}/{train,held_out}.jsonl.

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
TRAIN, HELD_OUT = 400, 1536  # one pass is half of a training of 100 steps
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


def write_missing(folder: Path = HERE) -> None:
    """Write both tasks' files to a folder, unless they are there."""
    for name, make in (("choice", _make_choice), ("parts", _make_parts)):
        lines = [json.dumps(one) + "\n" for one in make(random.Random(name))]
        (folder / name).mkdir(exist_ok=True)
        for file, part in (("train", lines[:TRAIN]), ("held_out", lines[TRAIN:])):
            path = folder / name / f"{file}.jsonl"
            if not path.exists():
                path.write_text("".join(part), encoding="utf-8")
    example = HERE.parent / "examples" / "steerable"
    if folder == HERE and not (example / "held_out.jsonl").exists():
        runpy.run_path(str(example / "make_questions.py"))["main"]()
