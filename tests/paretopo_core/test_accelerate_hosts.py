"""Each host is itself again after an acceleration, and is imported only by the call."""

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from support.hosts import MODULE, need

from paretopo_core import accelerate

# Warnings of a host's own are not about us.
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(params=MODULE.VERSIONS)
def any_host(request):
    need(request.param)
    if request.param == "optuna":
        importlib.import_module("optuna._gp.acqf")  # otherwise replaced at its first use
    return request.param


def test_nothing_of_ours_is_left_in_a_host(any_host):
    handle = accelerate(any_host)
    values = [one._value for one in MODULE._in_effect[any_host][0]]

    def left():
        return [
            f"{name}.{attribute}"
            for name, module in list(sys.modules.items())
            if name.partition(".")[0] == any_host
            for attribute, value in list(vars(module).items())
            if any(value is ours for ours in values)
            or (
                isinstance(value, type)
                and any(v is ours for v in vars(value).values() for ours in values)
            )
        ]

    assert left()
    handle.undo()
    assert not left()


def test_no_other_module_keeps_the_original(any_host):
    """A module of the host that imports a replaced function by name would keep its own."""
    with accelerate(any_host) as handle:
        replaced = {tuple(name.rpartition(".")[::2]) for name in handle.replaced}
    root = Path(importlib.import_module(any_host).__file__).parent
    found = []
    for path in root.rglob("*.py"):
        *package, stem = [any_host, *path.relative_to(root).with_suffix("").parts]
        module = ".".join(package if stem == "__init__" else [*package, stem])
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                given = "." * node.level + (node.module or "")
                source = importlib.util.resolve_name(given, ".".join(package))
                found += [
                    f"{module} imports {alias.name} of {source}"
                    for alias in node.names
                    if (source, alias.name) in replaced
                    and (module, alias.asname or alias.name) not in replaced
                ]
    assert found == []


def test_hosts_are_imported_only_by_the_call(any_host):
    code = (
        "import sys, paretopo_core as pp;"
        f"assert {any_host!r} not in sys.modules;"
        f"handle = pp.accelerate({any_host!r});"
        f"assert {any_host!r} in sys.modules and not handle.undo()"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=300)
