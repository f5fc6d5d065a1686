"""``paretopo show``."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from paretopo.subcommands import Subcommands, refuse

if TYPE_CHECKING:
    from paretopo.records.trajectories import Group

_EXAMPLES = """\
examples:
  paretopo show runs/RUN                            the newest prompts, on the terminal
  paretopo show runs/RUN --step 20 --only wrong     the errors of step 20
  paretopo show runs/RUN --sort calls               the best reward for calls first
  paretopo show runs/RUN --groups 50 | less         page by page
  paretopo show runs/RUN --html look.html           a page for the browser; no server, no network

The line of a rollout, for example "#2 wrong · correct 0 · calls 2 → 0.5 (gated 0) · rank 1 ·
advantage -0.250", has these parts:
  calls 2           the measured value
  → 0.5             its reward, if that is another number
  (gated 0)         the reward after the gate, if the gate changed it
  rank 1            number of the front in its group; 0 is the best front
  advantage -0.250  weight of the rollout in the update

A run records the rollouts of the first prompts of each step. The key run.trajectories sets the
number of prompts.
"""
_ON_A_TERMINAL, _ON_A_PAGE = 4, 200


def add_show(subcommands: Subcommands) -> None:
    """Add the command that shows texts, rewards and advantages of rollouts."""
    parser = subcommands.add(
        "show",
        _run,
        "read rollouts and their rewards",
        "Show prompts with their rollouts: text, tool calls, rewards, ranks and advantages.",
        _EXAMPLES,
    )
    parser.add_argument(
        "run_folder", metavar="RUN", help="a run folder, or a file trajectories.jsonl"
    )
    parser.add_argument("--step", type=int, metavar="N", help="only the prompts of this step")
    parser.add_argument("--group", metavar="ID", help="only the prompt with this id, in all steps")
    parser.add_argument(
        "--only",
        choices=("wrong", "right", "held-out", "training"),
        help="only wrong or right rollouts, or only held-out or training prompts",
    )
    parser.add_argument(
        "--sort",
        metavar="ORDER",
        default="advantage",
        help="order of the rollouts of a prompt: advantage (default), step (as sampled), or "
        "the name of an objective (best reward first)",
    )
    parser.add_argument(
        "--groups",
        type=int,
        metavar="N",
        help=f"number of prompts to show, newest first (default: {_ON_A_TERMINAL} on a terminal, "
        f"{_ON_A_PAGE} on a page)",
    )
    parser.add_argument("--html", metavar="FILE", help="write a page for the browser to this file")


def _run(arguments: argparse.Namespace, _: Sequence[str]) -> int:
    from paretopo.config import ConfigError
    from paretopo.records.trajectories import read_groups
    from paretopo_lab.show.page import render_rollouts_page
    from paretopo_lab.show.selection import Selection
    from paretopo_lab.show.terminal import render_lines

    if arguments.groups is not None and arguments.groups < 1:
        refuse(f"--groups must be at least 1, got {arguments.groups}")
    out = None if arguments.html is None else Path(arguments.html)
    selection = Selection(
        step=arguments.step,
        group=arguments.group,
        only=arguments.only,
        sort=arguments.sort,
        most=arguments.groups or (_ON_A_TERMINAL if out is None else _ON_A_PAGE),
    )
    source = _find_trajectories(Path(arguments.run_folder))
    try:
        groups, wanted = selection.select(read_groups(source))
        if not groups:
            refuse(f"these options select no prompt of {source}{_list_steps(source)}")
        _check_order(arguments.sort, groups)
        if out is not None:
            out.write_text(
                render_rollouts_page(source.resolve().parent.name, groups, selection),
                encoding="utf-8",
            )
    except (ConfigError, OSError) as error:
        refuse(str(error))
    if out is None:
        for line in render_lines(groups, selection, width=shutil.get_terminal_size().columns):
            print(line)
        print(_count_shown(len(groups), wanted))
        return 0
    print(f"{out}: {_count_shown(len(groups), wanted)}")
    return 0


def _list_steps(source: Path) -> str:
    """Return the steps with rollouts as the end of an error; the middle of many is left out."""
    from paretopo.records.trajectories import read_groups

    steps = sorted({group.step for group in read_groups(source)})
    if not steps:
        return ", which has none yet"
    words = [str(step) for step in steps]
    listed = ", ".join(words if len(words) <= 12 else [*words[:6], "...", *words[-5:]])
    return f"; it has prompts of the steps {listed}"


def _check_order(order: str, groups: Sequence[Group]) -> None:
    known = ["advantage", "step", *dict.fromkeys(name for one in groups for name in one.objectives)]
    if order not in known:
        refuse(f"--sort must be one of {', '.join(known)}, got {order}")


def _find_trajectories(path: Path) -> Path:
    if not path.exists():
        refuse(f"there is no folder or file {path}")
    source = path / "trajectories.jsonl" if path.is_dir() else path
    if not source.is_file():
        refuse(
            f"{source} is missing: a run keeps rollouts if run.trajectories is above 0, from "
            "its first step on"
        )
    return source


def _count_shown(shown: int, wanted: int) -> str:
    if shown == wanted:
        return f"{wanted} prompt{'s' * (wanted != 1)}"
    return f"the newest {shown} of {wanted} prompts; --groups N shows more"
