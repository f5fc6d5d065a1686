"""accelerate() on a library that stands in for a host: versions, refusals, undoing."""

import sys
import threading
import tomllib
from importlib import metadata
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from paretopo_core import accelerate

ROOT = Path(__file__).parents[2]
MODULE = sys.modules["paretopo_core.accelerate"]


class Base:
    def inherited(self):
        return "slow"


class Solver(Base):
    pass


def fast(*_):
    return "fast"


@pytest.fixture
def host(monkeypatch):
    """A host called "stand_in", whose module ``slow`` is to be accelerated."""
    slow = ModuleType("stand_in.slow")
    slow.rank = slow.also = lambda: "slow"
    ours = ModuleType("paretopo_core.accelerate.stand_in")
    ours.replacements = lambda: [
        MODULE.Replacement(slow, "rank", fast),
        MODULE.Replacement(Solver, "inherited", fast),
    ]
    real = metadata.version
    host = SimpleNamespace(slow=slow, ours=ours, version="1.2")
    monkeypatch.setitem(sys.modules, ours.__name__, ours)
    monkeypatch.setitem(MODULE.VERSIONS, "stand_in", ("1.1", "1.2"))
    monkeypatch.setattr(
        metadata, "version", lambda name: host.version if name == "stand_in" else real(name)
    )
    yield host
    MODULE._in_effect.pop("stand_in", None)


def speed(host):
    return host.slow.rank(), Solver().inherited()


def test_a_host_is_accelerated_until_undone(host):
    own = host.slow.rank
    handle = accelerate("stand_in")
    assert speed(host) == ("fast", "fast")
    assert host.slow.also() == "slow"
    assert (handle.host, handle.version) == ("stand_in", "1.2")
    assert handle.replaced == (
        "stand_in.slow.rank",
        f"{Solver.__module__}.Solver.inherited",
    )
    assert repr(handle).endswith("; on>")
    handle.undo()
    assert repr(handle).endswith("; undone>")
    assert speed(host) == ("slow", "slow")
    assert host.slow.rank is own
    assert "inherited" not in vars(Solver)
    handle.undo()  # nothing is left to undo
    assert speed(host) == ("slow", "slow")


def test_with_statement_restores_the_originals(host):
    with accelerate("stand_in"):
        with accelerate("stand_in"):
            assert speed(host) == ("fast", "fast")
        assert speed(host) == ("fast", "fast")
    assert speed(host) == ("slow", "slow")
    with pytest.raises(ZeroDivisionError), accelerate("stand_in"):
        raise ZeroDivisionError
    assert speed(host) == ("slow", "slow")


# Each letter is one call: upper case begins it, lower case undoes it.
@pytest.mark.parametrize(
    ("story", "expected"),
    [
        ("Aa", "fs"),
        ("ABab", "fffs"),  # two threads whose with statements overlap
        ("ABba", "fffs"),
        ("AaBab", "fsffs"),  # a second undo is no undo of a later call
        ("AaaBb", "fssfs"),
    ],
)
def test_the_last_user_restores_the_host(host, story, expected):
    handles, states = {}, ""
    for letter in story:
        if letter.isupper():
            handles[letter.lower()] = accelerate("stand_in")
        else:
            handles[letter].undo()
            assert repr(handles[letter]).endswith("; undone>")
        states += speed(host)[0][0]
    assert states == expected


def test_later_replacements_are_named_and_kept(host):
    handle = accelerate("stand_in")
    host.slow.rank = another = lambda: "another"
    with pytest.raises(RuntimeError, match=r"stand_in\.slow\.rank was replaced by something else"):
        handle.undo()
    assert host.slow.rank is another
    assert Solver().inherited() == "slow"


def test_a_host_without_a_name_is_left_as_it_was(host):
    host.ours.replacements = lambda: [
        MODULE.Replacement(host.slow, "rank", fast),
        MODULE.Replacement(host.slow, "no_such_name", fast),
    ]
    with pytest.raises(AttributeError, match=r"stand_in\.slow\.no_such_name is not there"):
        accelerate("stand_in")
    assert speed(host) == ("slow", "slow")


def test_threads_accelerate_once(host):
    handles = []
    threads = [
        threading.Thread(target=lambda: handles.append(accelerate("stand_in"))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for handle in handles:
        assert speed(host) == ("fast", "fast")
        handle.undo()
    assert speed(host) == ("slow", "slow")


@pytest.mark.parametrize("version", ["1.0", "1.3", "2.0.dev1"])
def test_another_version_is_refused_and_the_tested_ones_named(host, version):
    host.version = version
    message = f"stand_in {version} is installed, and this was tested with 1.1, 1.2: pip install"
    with pytest.raises(RuntimeError, match=message):
        accelerate("stand_in")
    assert speed(host) == ("slow", "slow")


def test_a_host_that_is_not_installed_is_named(monkeypatch):
    def nothing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", nothing)
    for name, versions in MODULE.VERSIONS.items():
        with pytest.raises(
            ModuleNotFoundError,
            match=f"{name} is not installed: pip install {name}=={versions[-1]}",
        ):
            accelerate(name)


@pytest.mark.parametrize("name", ["moocore", "Pymoo", "", None, 3, ("pymoo",)])
def test_other_names_are_refused(name):
    known = ", ".join(MODULE.VERSIONS)
    with pytest.raises(ValueError, match=f"host must be one of {known}, got"):
        accelerate(name)


def test_each_host_has_a_file_and_a_pinned_version():
    files = {path.stem for path in (ROOT / "python/paretopo_core/accelerate").glob("*.py")}
    assert files == {"__init__", "optuna_gp", "tensor_ranks", *MODULE.VERSIONS}
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    pinned = dict(requirement.split("==") for requirement in extras["hosts"])
    assert pinned == {name: versions[-1] for name, versions in MODULE.VERSIONS.items()}
    for requirement in extras["bench"]:
        name, _, version = requirement.partition("==")
        assert pinned.get(name, version) == version, requirement
