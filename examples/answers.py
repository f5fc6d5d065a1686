"""Write made-up answers of two models at three efforts, as a CSV for ``paretopo compare``."""

import csv
import random
import sys

EFFORTS = {"low": 0.5, "medium": 1.0, "high": 2.0}  # tokens, as a factor
MODELS = {"small": (0.55, 200), "large": (0.75, 420)}  # right answers, tokens at medium effort
QUESTIONS = 200


def main() -> None:
    rng = random.Random(0)
    rows = csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow(["model", "family", "question", "accuracy", "tokens"])
    for at in range(QUESTIONS):
        ease = rng.uniform(-0.4, 0.4)  # a hard question is hard for every model
        for family, (right, tokens) in MODELS.items():
            for effort, factor in EFFORTS.items():
                chance = right + ease + 0.12 * (factor - 1.0)
                spent = tokens * factor * rng.uniform(0.5, 1.5)
                name = f"{family}-{effort}"
                rows.writerow([name, family, f"q{at}", int(rng.random() < chance), round(spent)])


if __name__ == "__main__":
    main()
