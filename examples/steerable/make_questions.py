"""Writes train.jsonl and held_out.jsonl next to this file, the same in every run.

python examples/steerable/make_questions.py

The catalogue knows nearly the same share of each series in both files.
"""

import json
import random
import runpy
from pathlib import Path

HERE = Path(__file__).parent
TRAIN, HELD_OUT = 80, 50  # parts of each series


def main(folder=HERE):
    """Both files."""
    tools = runpy.run_path(str(HERE / "tools.py"))
    draw, lines = random.Random(0), {"train": [], "held_out": []}
    for series, share in tools["STILL_RIGHT"].items():
        parts = [f"{series}{number}" for number in draw.sample(range(100, 1000), 900)]
        right = [part for part in parts if tools["catalogue"](part) == tools["shop"](part)]
        wrong = [part for part in parts if part not in right]
        for name, count in (("train", TRAIN), ("held_out", HELD_OUT)):
            known = round(share * count)
            for part in [right.pop() for _ in range(known)] + [
                wrong.pop() for _ in range(count - known)
            ]:
                asked = {"prompt": f"Price of {part}?", "answer": tools["shop"](part)}
                lines[name].append(json.dumps({**asked, "kind": f"series {series}", "part": part}))
    for name, rows in lines.items():
        draw.shuffle(rows)
        (folder / f"{name}.jsonl").write_text("".join(f"{row}\n" for row in rows))


if __name__ == "__main__":
    main()
