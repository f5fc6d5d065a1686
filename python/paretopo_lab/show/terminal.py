r"""Groups of rollouts as lines of text: wrapped, safe to print.

Model text is not trusted: control characters, which a terminal would obey, are shown as symbols.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterator, Sequence

from paretopo.records.trajectories import Group
from paretopo.rollout import Rollout
from paretopo_lab.show.selection import Selection

_NARROWEST = 24
_TAB = "    "
_NO_BREAK = "\u00a0"
_GUTTER = max(map(len, ("model", "call", "tool"))) + 2
# Marks that change the direction of the following text, and so can hide or fake it.
_DIRECTIONAL = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def render_lines(groups: Sequence[Group], selection: Selection, *, width: int) -> Iterator[str]:
    """Yield the groups line by line, without line ends.

    Args:
        groups: In the order in which they are shown.
        selection: Chooses and orders the rollouts of each.
        width: Columns of the terminal; less than 24 count as 24.
    """
    page = _Page(max(width, _NARROWEST))
    for group in groups:
        yield from page.render_group(group, selection)
        yield ""


def escape_controls(text: str) -> str:
    r"""Show control characters, and marks that change the direction of text, as symbols.

    >>> escape_controls("\x1b[31mred\r\n\u202e")
    '␛[31mred␍\n\\u202e'
    """
    return "".join(map(_escape_control, text.expandtabs(len(_TAB))))


def wrap(text: str, width: int) -> list[str]:
    """Break a text into lines of at most `width` characters, at spaces if possible.

    >>> wrap("one two three", 8)
    ['one two', 'three']
    """
    lines = (
        textwrap.wrap(one, width, replace_whitespace=False, break_on_hyphens=False) or [""]
        for one in text.split("\n")
    )
    return list(itertools.chain.from_iterable(lines))


class _Page:
    def __init__(self, width: int) -> None:
        self._width = width

    def render_group(self, group: Group, selection: Selection) -> Iterator[str]:
        where = "training, stage 1" if group.stage == 1 else "training"
        where = "held out" if group.held_out else where
        solved = [one.solved for one in group.rollouts]
        about = [f"step {group.step}", where, *({group.kind} - {"", "all"}), group.id]
        about += [] if None in solved else [f"{sum(map(bool, solved))} of {len(solved)} right"]
        yield from self._wrap(" · ".join(about))
        yield from self._render_labelled("asked", group.prompt)
        if group.answer:
            yield from self._render_labelled(group.answer_name.split()[0], group.answer)
        for number, rollout in selection.select_rollouts(group):
            yield ""
            yield from self._render_rollout(number, rollout, group)

    def _render_rollout(self, number: int, rollout: Rollout, group: Group) -> Iterator[str]:
        outcome = {True: "right", False: "wrong", None: ""}[rollout.solved]
        facts = [f"#{number} {outcome}".strip(), *describe_rewards(rollout, group.objectives)]
        if rollout.rank is not None:
            facts.append(f"rank {rollout.rank}")
        if rollout.advantage is not None:
            facts.append(f"advantage {rollout.advantage:+.3f}")
        facts += ["cut off"] if rollout.truncated else []
        kept = [fact.replace(" ", _NO_BREAK) for fact in facts]  # break lines between facts
        for line in self._wrap(" · ".join(kept)):
            yield line.replace(_NO_BREAK, " ")
        for segment in rollout.segments:
            yield from self._render_labelled(segment.kind, segment.text)

    def _render_labelled(self, label: str, text: str) -> Iterator[str]:
        """Render a text next to its label, which is on the first line."""
        for number, line in enumerate(self._wrap(text.strip("\n"), _GUTTER + 2)):
            yield f"  {label if number == 0 else '':<{_GUTTER}}{line}"

    def _wrap(self, text: str, margin: int = 0) -> list[str]:
        return wrap(escape_controls(text), self._width - margin)


def describe_rewards(rollout: Rollout, objectives: Sequence[str]) -> list[str]:
    """Return each measurement, its reward if that differs, and its value after the gate.

    >>> measured = {"correct": 0.0, "calls": 2.0, "turns": 3.0}
    >>> one = Rollout("q", measured, rewards=(0.0, 0.5), gated=(0.0, 0.0))
    >>> describe_rewards(one, ("correct", "calls"))
    ['correct 0', 'calls 2 → 0.5 (gated 0)', 'turns 3']
    """
    facts, components = [], dict(rollout.reward_components)
    gated = rollout.gated or rollout.rewards
    for name, reward, after in zip(objectives, rollout.rewards, gated, strict=False):
        value = components.pop(name, None)
        facts.append(
            f"{name} {'does not apply' if value is None else format(value, '.3g')}"
            + f" → {reward:.3g}" * (value != reward)
            + f" (gated {after:.3g})" * (after != reward)
        )
    facts += [f"{name} {value:.3g}" for name, value in components.items() if value is not None]
    return facts


def _escape_control(character: str) -> str:
    code = ord(character)
    if character == "\n" or 0x20 <= code < 0x7F:
        return character
    if code < 0x20:
        return chr(0x2400 + code)  # the picture of the control character
    if code == 0x7F:
        return "\u2421"
    if code < 0xA0 or character in _DIRECTIONAL or 0xD800 <= code < 0xE000:
        return f"\\u{code:04x}"
    return character
