"""Writes the questions of the language models, docs/study/{choice,parts}/{train,held_out}.jsonl.

python docs/study/make_questions.py
"""

import json
import random
import runpy
from pathlib import Path

HERE = Path(__file__).parent
TRAIN, HELD_OUT = 400, 1536  # one pass is half of a training of 100 steps
DIGITS = 5


def make_choice(draw):
    """What is left of a number divided by 3, to be chosen from 0, 1 and 2."""
    for number in draw.sample(range(10 ** (DIGITS - 1), 10**DIGITS), TRAIN + HELD_OUT):
        yield {
            "prompt": f"{number} mod 3: 0, 1 or 2?",
            "answer": str(number % 3),
            "digits": [int(one) for one in str(number)],
        }


def make_parts(draw):
    """The price of a spare part."""
    price = runpy.run_path(str(HERE / "parts" / "tools.py"))["shop"]
    for number in draw.sample(range(1000, 10000), TRAIN + HELD_OUT):
        part = str(number)
        yield {"prompt": f"Price of {part}?", "answer": price(part), "part": part}


def write(folder):
    """Both tasks' files into a folder."""
    for name, make in (("choice", make_choice), ("parts", make_parts)):
        lines = [json.dumps(one) + "\n" for one in make(random.Random(name))]
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "train.jsonl").write_text("".join(lines[:TRAIN]))
        (folder / name / "held_out.jsonl").write_text("".join(lines[TRAIN:]))


if __name__ == "__main__":
    write(HERE)
