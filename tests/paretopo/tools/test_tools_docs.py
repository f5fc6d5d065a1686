"""The pages on sandbox, search server and protocols match the code."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from paretopo.tools.python_interpreter import PythonInterpreter
from paretopo.tools.search_engine.server import Limits

ROOT = Path(__file__).parents[3]
TEXT = "\n".join(
    (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    for name in ("sandbox", "search_server", "protocols")
)
PYTHON = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.sandbox
@pytest.mark.parametrize("example", PYTHON)
def test_python_examples_run(example):
    exec(compile(example, "docs", "exec"), {})


def test_there_are_examples():
    assert len(PYTHON) >= 2


def test_the_limits_are_the_defaults():
    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(PythonInterpreter).parameters.items()
    }
    assert f"| `timeout` | {defaults['timeout']:g} s |" in TEXT
    assert f"| `memory_mb` | {defaults['memory_mb']} MiB beyond" in TEXT
    assert f"| `processes` | {defaults['processes']} |" in TEXT
    assert f"| `output_kb` | {defaults['output_kb']} KiB each" in TEXT
    files = f"| `file_mb`, `disk_mb` | {defaults['file_mb']} MiB a file, {defaults['disk_mb']} MiB"
    assert files in TEXT
    limits = Limits()
    assert (
        f"may have up to {limits.queries} queries of {limits.characters:,} characters each, "
        f"{limits.body_kb // 1024} MiB in total, and ask for {limits.most_topk} passages per "
        f"query. The server handles {limits.waiting} requests"
    ) in TEXT.replace("\n", " ")


def test_every_file_that_is_named_is_there():
    paths = re.findall(r"^ ((?:python|integrations)/\S+) ", TEXT, re.MULTILINE)
    assert len(paths) == 9
    assert [path for path in paths if not (ROOT / path).exists()] == []
