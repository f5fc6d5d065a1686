"""`python -m paretopo.integrations.openrlhf CONFIG.toml [options of OpenRLHF]`.

As `paretopo train CONFIG.toml --backend openrlhf`, with its options first. From the first option
with a dot in its name on, for example `--ds.overlap_comm --vllm.num_engines 4`, everything goes to
OpenRLHF's own command line, and wins over the configuration.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from paretopo.cli import main


def with_separator(words: Sequence[str]) -> list[str]:
    """The words with `--` where OpenRLHF's options begin.

    >>> with_separator(["x.toml", "--steps", "4", "--ds.zero_stage", "3"])
    ['x.toml', '--steps', '4', '--', '--ds.zero_stage', '3']
    """
    for place, word in enumerate(words):
        if word == "--":
            break
        if word.startswith("--") and "." in word.partition("=")[0]:
            return [*words[:place], "--", *words[place:]]
    return list(words)


if __name__ == "__main__":
    words = sys.argv[1:]
    backend = [] if "--resume" in words else ["--backend", "openrlhf"]
    sys.exit(main(["train", *backend, *with_separator(words)]))
