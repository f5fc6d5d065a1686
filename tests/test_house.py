"""The house: imports point down, and an integration hooks where the session decides."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

from paretopo_core import _core

ROOT = Path(__file__).parents[1]
PACKAGES = {
    "paretopo_core": ROOT / "python" / "paretopo_core",
    "paretopo": ROOT / "python" / "paretopo",
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
    "write_outcomes",
}
EXCEPT = {
    # Recomputes the advantages of a rehearsal from its records, with a controller of its own.
    ("paretopo.integrations.openrlhf.rehearsal.checks", "load_state_dict"),
    ("paretopo.integrations.huggingface.warmup", "load_state_dict"),  # of torch
    ("paretopo.integrations.verl.rehearsal.parts", "load_state_dict"),  # of torch, too
}
ONLY_SESSION_NAMES = {"Scores", "HeldOut", "HypervolumeGain", "CostMinimum"}


def imported(name):
    """Modules of ours that a module imports, at the top or inside a function."""
    for node in ast.walk(ast.parse(MODULES[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            wanted = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            wanted = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for target in wanted:
            while target and target not in MODULES:
                target = target.rpartition(".")[0]
            if target and target != name:
                yield target


def imported_files(name):
    """The files of the core that one of them imports, the compiled core among them."""
    for node in ast.walk(ast.parse(MODULES[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            wanted = [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            wanted = [(node.module, alias.name) for alias in node.names]
        else:
            continue
        for module, attribute in wanted:
            inner = f"{module}.{attribute}"
            target = inner if inner in MODULES or inner == COMPILED else module
            if target in MODULES or target == COMPILED:
                yield target


def room(name):
    """The folder that a module is in: ``paretopo.run``, ``paretopo.integrations.trl``."""
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


def test_the_tree_is_seen():
    assert len(MODULES) > 150
    assert len(INTEGRATIONS) > 30
    assert "paretopo.session" in set(imported("paretopo.integrations.trl.session"))


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


def test_no_circle_of_files_in_the_core():
    graph = {name: set(imported_files(name)) for name in CORE_FILES}
    assert graph["paretopo_core._machinery.operation"] >= {
        "paretopo_core._machinery.torch_operators",
        COMPILED,
    }
    refuse_circles(graph)


def test_a_circle_is_seen():
    with pytest.raises(AssertionError, match="a -> b -> a"):
        refuse_circles({"a": {"b"}, "b": {"a"}})


MACHINERY = [name for name in CORE_FILES if "._machinery" in name]


def test_the_machinery_imports_nothing_above_it():
    assert len(MACHINERY) > 20
    found = {one for name in MACHINERY for one in imported_files(name)}
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


# Room -> the rooms that it imports.
ARROWS = {
    "paretopo": "paretopo_core",
    "__main__": "cli",
    "audit": "compare controller data run",
    "cli": (
        "audit compare config data evaluation integrations.evaluation integrations.huggingface "
        "integrations.openrlhf integrations.trl integrations.verl preference progress rollout run "
        "study tasks tools paretopo_core"
    ),
    "compare": "config data parsing run paretopo_core",
    "controller": "config rollout paretopo_core",
    "data": "parsing protocols rewards rollout",
    "evaluation": (
        "config data preference progress protocols rewards rollout run tasks tools paretopo_core"
    ),
    "integrations.advantages": "config",
    "integrations.evaluation": (
        "data evaluation integrations.huggingface integrations.vllm run tools"
    ),
    "integrations.agents": "config protocols rewards tasks tools",
    "integrations.huggingface": (
        "config evaluation integrations.agents preference progress protocols rollout run tasks"
    ),
    "integrations.rehearsals": "config",
    "integrations.openrlhf": (
        "config controller data integrations.agents integrations.huggingface "
        "integrations.rehearsals progress rewards rollout run session tasks"
    ),
    "integrations.trl": (
        "config controller integrations.huggingface preference progress protocols rewards rollout "
        "run session tasks tools"
    ),
    "integrations.nemo_rl": "config controller integrations.advantages",
    "integrations.skyrl": "config controller integrations.advantages",
    "integrations.verl": (
        "config controller integrations.advantages integrations.agents integrations.huggingface "
        "integrations.rehearsals preference rewards rollout run session tasks"
    ),
    "integrations.vllm": "config evaluation integrations.huggingface",
    "preference": "config",
    "protocols": "tools",
    "rewards": "config controller rollout tools",
    "run": "config rollout paretopo_core",
    "session": "config controller preference rewards rollout run paretopo_core",
    "study": "config preference run paretopo_core",
    "tasks": "config controller data preference protocols rewards rollout tools",
    "tools": "parsing progress",
}


def test_rooms_import_only_the_rooms_listed_here():
    found = {
        name.removeprefix("paretopo."): {target.removeprefix("paretopo.") for target in targets}
        for name, targets in arrows().items()
    }
    assert {name: set(targets.split()) for name, targets in ARROWS.items()} == found


def test_the_session_knows_no_framework():
    graph = arrows()
    reached, left = set(), ["paretopo.session"]
    while left:
        at = left.pop()
        if at not in reached:
            reached.add(at)
            left += graph.get(at, ())
    assert not [name for name in reached if "integrations" in name or name == "paretopo.cli"]


# The readers of results: rooms, and the half of paretopo.run that writes no records.
READERS = {"paretopo.cli", "paretopo.compare", "paretopo.study"} | {
    f"paretopo.run.{name}"
    for name in (
        *("document", "history", "plots", "preferences", "questions", "report"),
        *("statistics", "summary", "viewer"),
    )
}
# A script ends with its report.
SHOWS = {
    (f"paretopo.integrations.{trainer}.script", "paretopo.run.report")
    for trainer in ("trl", "openrlhf")
}


def test_nothing_that_trains_imports_a_reader_of_results():
    rooms = "session controller rewards tasks tools protocols"
    rooms += " integrations.trl integrations.openrlhf integrations.verl"
    training = [name for name in MODULES if room(name).removeprefix("paretopo.") in rooms.split()]
    left = set(training)
    reached = set(training)
    while left:
        name = left.pop()
        found = {one for one in imported(name) if (name, one) not in SHOWS}
        left |= found - reached
        reached |= found
    assert len(training) > 60
    shown = {name for name in reached if name in READERS or name.rpartition(".")[0] in READERS}
    assert shown == set()


@pytest.mark.parametrize("name", INTEGRATIONS)
def test_integrations_leave_session_work_to_the_session(name):
    tree = ast.parse(MODULES[name].read_text(encoding="utf-8"))
    attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    called = {one for one in attributes & ONLY_SESSION if (name, one) not in EXCEPT}
    assert called | (names & ONLY_SESSION_NAMES) == set()


def test_the_guard_of_integrations_can_fail():
    tree = ast.parse("self.run.append_step({}); run.write_outcomes(); Scores(config)")
    attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert attributes & ONLY_SESSION == {"append_step", "write_outcomes"}
