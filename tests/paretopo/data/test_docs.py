"""docs/data.md matches the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from paretopo import cli
from paretopo.data.sources import SOURCES
from paretopo.data.training_set import Options

TEXT = (Path(__file__).parents[3] / "docs" / "data.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("example", re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL))
def test_python_examples_run(example):
    exec(compile(example, "docs/data.md", "exec"), {})


def test_the_table_is_the_one_of_the_code():
    table = re.findall(r"^\| `(\w+)` \| (~?)([\d,]+) \| (.*)$", TEXT, re.MULTILINE)
    assert [name for name, *_ in table] == list(SOURCES)
    for name, about, rows, rest in table:
        source = SOURCES[name]
        assert (int(rows.replace(",", "")), not about) == (source.rows, source.counted)
        assert f"| `{source.file}` |" in rest
        if source.repository is not None:
            assert f"| `{source.repository}` | `{source.revision[:8]}` |" in rest
    assert str(SOURCES["torl"].elsewhere) in TEXT


def test_the_options_are_there_and_so_are_their_defaults(capsys):
    with pytest.raises(SystemExit):
        cli.main(["prepare", "--help"])
    options = set(re.findall(r"--[a-z][a-z-]+", TEXT)) - {"--help"}
    assert options <= set(re.findall(r"--[a-z][a-z-]+", capsys.readouterr().out))
    assert len(options) >= 6
    assert f"`--held-out SHARE` ({Options().held_out})" in TEXT
