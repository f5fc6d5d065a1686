"""A small synthetic encyclopedia: people, towns and countries, one article each.

Names are made of syllables, so that no language model has read of them before.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

_PEOPLE, _TOWNS, _COUNTRIES = 150, 40, 40

_ONSETS, _VOWELS, _CODAS = "bdfgklmnprtv", "aeiou", "kmnrtx"  # endings that no stemmer cuts off


class Encyclopedia:
    """Who was born where and taught by whom, which river runs through which town.

    No teacher has a teacher, and no founder was born in the founded town. The target of two steps
    is therefore never mentioned in the first article.

    Args:
        seed: Fixes every name and every relation.

    Attributes:
        capitals: Country → its capital.
        births: Person → town.
        teachers: Person → person.
        rivers: Town → river.
        founders: Town → person.

    Example:
        >>> world = Encyclopedia(seed=0)
        >>> person = next(iter(world.births))
        >>> world.rivers[world.births[person]].endswith("beck")
        True
    """

    def __init__(self, seed: int) -> None:
        rng = random.Random(f"encyclopedia {seed}")
        people = _make_names(_PEOPLE, 2, "", rng)
        towns = _make_names(_TOWNS, 1, "holm", rng)
        rivers = _make_names(_TOWNS, 1, "beck", rng)
        self.capitals = {
            name: rng.choice(towns) for name in _make_names(_COUNTRIES, 1, "land", rng)
        }
        self.births = {person: rng.choice(towns) for person in people}
        self.teachers: dict[str, str] = {}
        for person in people:
            mine = {person, *(pupil for pupil, of in self.teachers.items() if of == person)}
            self.teachers[person] = _choose_other(mine, people, rng)
        self.rivers = dict(zip(towns, rivers, strict=True))
        self.founders = {
            town: _choose_other({p for p, born in self.births.items() if born == town}, people, rng)
            for town in towns
        }

    def articles(self) -> Iterator[tuple[str, str]]:
        """Yield (title, text) of every article."""
        for person, town in self.births.items():
            yield (
                person,
                f"{person} was born in {town}. {person} studied under {self.teachers[person]}.",
            )
        for town, river in self.rivers.items():
            yield (
                town,
                f"{town} lies on the {river}. {town} was founded by {self.founders[town]}.",
            )
        for country, town in self.capitals.items():
            yield country, f"The capital of {country} is {town}."

    def write(self, path: Path) -> None:
        """Write the corpus as Search-R1's JSONL, which a search server reads."""
        lines = (
            json.dumps({"id": str(i), "contents": f'"{title}"\n{text}'})
            for i, (title, text) in enumerate(self.articles())
        )
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def _make_names(count: int, syllables: int, ending: str, rng: random.Random) -> list[str]:
    """So many different names."""
    names: dict[str, None] = {}
    while len(names) < count:
        parts = (
            rng.choice(_ONSETS) + rng.choice(_VOWELS) + rng.choice(_CODAS) for _ in range(syllables)
        )
        names["".join(parts).capitalize() + ending] = None
    return list(names)


def _choose_other(excluded: set[str], names: list[str], rng: random.Random) -> str:
    name = rng.choice(names)
    while name in excluded:
        name = rng.choice(names)
    return name
