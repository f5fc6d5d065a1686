"""The house: imports point down, and an integration hooks where the session decides."""

import ast
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from paretopo_core import _core

ROOT = Path(__file__).parents[1]
PACKAGES = {
    "paretopo_core": ROOT / "python" / "paretopo_core",
    "paretopo": ROOT / "python" / "paretopo",
    "paretopo_lab": ROOT / "python" / "paretopo_lab",
    "paretopo.integrations": ROOT / "integrations",
}
MODULES = {
    ".".join((name, *path.relative_to(root).with_suffix("").parts)).removesuffix(".__init__"): path
    for name, root in PACKAGES.items()
    for path in root.rglob("*.py")
}
COMPILED = "paretopo_core._core"
CORE_FILES = sorted(name for name in MODULES if name.startswith("paretopo_core"))
INTEGRATIONS = sorted(name for name in MODULES if name.startswith("paretopo.integrations."))

# Methods that only the session may call.
ONLY_SESSION = {
    "append_evaluation",
    "append_step",
    "append_trajectories",
    "finish_stage1",
    "learn",
    "load_state_dict",
}
EXCEPT = {
    # Recomputes the advantages of a rehearsal from its records, with a controller of its own.
    ("paretopo.integrations.openrlhf.rehearsal.checks", "load_state_dict"),
    ("paretopo.integrations.huggingface.warmup", "load_state_dict"),  # of torch
}
ONLY_SESSION_NAMES = {"Scores", "HypervolumeGain", "CostMinimum"}


def imported(name):
    """Modules of ours that a module imports, the compiled core too, at the top or in a function."""
    for node in ast.walk(ast.parse(MODULES[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            wanted = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            wanted = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for target in wanted:
            while target and target not in MODULES and target != COMPILED:
                target = target.rpartition(".")[0]
            if target and target != name:
                yield target


def room(name):
    """The folder that a module is in: ``paretopo.records``, ``paretopo.integrations.trl``."""
    parts = name.split(".")
    if parts[0] == "paretopo_core":
        return "paretopo_core"
    return ".".join(parts[: 3 if parts[1:2] == ["integrations"] else 2])


def arrows():
    """Room -> the rooms that it imports."""
    found = defaultdict(set)
    for name in MODULES:
        for target in imported(name):
            if room(target) != room(name):
                found[room(name)].add(room(target))
    return found


def test_the_core_imports_nothing_of_training():
    assert [
        (name, target)
        for name in MODULES
        if room(name) == "paretopo_core"
        for target in imported(name)
        if room(target) != "paretopo_core"
    ] == []


def refuse_circles(graph):
    done = set()

    def visit(at, path):
        assert at not in path, " -> ".join([*path[path.index(at) :], at])
        if at not in done:
            for target in sorted(graph.get(at, ())):
                visit(target, [*path, at])
            done.add(at)

    for start in sorted(graph):
        visit(start, [])


def test_no_circle_of_rooms():
    refuse_circles(arrows())


def test_no_circle_of_files_in_the_integration_with_trl():
    names = {name for name in INTEGRATIONS if ".trl" in name}
    assert len(names) > 20
    refuse_circles({name: names.intersection(imported(name)) for name in names})


def test_no_circle_of_files_in_the_core():
    graph = {name: set(imported(name)) for name in CORE_FILES}
    assert graph["paretopo_core._machinery.operation"] >= {
        "paretopo_core._machinery.torch_operators",
        COMPILED,
    }
    refuse_circles(graph)


MACHINERY = [name for name in CORE_FILES if "._machinery" in name]


def test_the_machinery_imports_nothing_above_it():
    assert len(MACHINERY) > 20
    found = {one for name in MACHINERY for one in imported(name)}
    assert found - set(MACHINERY) == {COMPILED}


def test_the_machinery_knows_no_operation_by_name():
    names = {name for name, each in vars(_core).items() if isinstance(each, _core.Operation)}
    for each in MACHINERY:
        tree = ast.parse(MODULES[each].read_text(encoding="utf-8"))
        texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
        of_core = {
            node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "_core"
        }
        assert not names & (texts | of_core), each


def test_the_session_knows_no_framework():
    graph = arrows()
    reached, left = set(), ["paretopo.session"]
    while left:
        at = left.pop()
        if at not in reached:
            reached.add(at)
            left += graph.get(at, ())
    assert not [name for name in reached if "integrations" in name or name == "paretopo.cli"]


def test_nothing_that_trains_imports_a_reader_of_results():
    training = [name for name in MODULES if name.split(".")[0] == "paretopo"]
    found = {(room(name), room(target)) for name in training for target in imported(name)}
    to_readers = {pair for pair in found if pair[1].startswith(("paretopo.cli", "paretopo_lab"))}
    assert len(training) > 150
    assert {name for name, _ in to_readers} == {"paretopo.cli", "paretopo.__main__"}


def test_the_command_line_loads_of_the_readers_only_their_options():
    command = "import sys, paretopo.cli; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True)
    loaded = {name for name in done.stdout.split() if name.startswith("paretopo_")}
    assert "paretopo_lab.cli.compare" in loaded
    assert {name for name in loaded if not name.startswith("paretopo_lab.cli")} == {"paretopo_lab"}


@pytest.mark.parametrize("name", INTEGRATIONS)
def test_integrations_leave_session_work_to_the_session(name):
    tree = ast.parse(MODULES[name].read_text(encoding="utf-8"))
    attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    called = {one for one in attributes & ONLY_SESSION if (name, one) not in EXCEPT}
    assert called | (names & ONLY_SESSION_NAMES) == set()
