"""Runs that share a warm-up begin with the same weights, whichever of them made it."""

import os

import pytest

pytest.importorskip("torch")
pytest.importorskip("trl")

from paretopo.config import loads
from paretopo.integrations.huggingface import policy, warmup


@pytest.fixture
def begin(tmp_path, monkeypatch):
    """Return a function that starts a run and returns the state it begins with."""

    def warm_up(_model, _tokenizer, _traces, _config, state_file, _stop, **_):
        begin.loaded = state_file.exists() and state_file.read_text()
        if not str(begin.loaded).startswith("whole"):
            begin.during()
            state_file.write_text("whole")
        return begin.finishes

    class Model:
        class device:
            type = "cpu"

    class Task:
        functions = ()

    config = loads(
        '[model]\npath = "tiny"\n[warmup]\nsteps = 3', {"warmup.shared": str(tmp_path / "shared")}
    )

    def begin(name):
        state = tmp_path / name
        policy.warm_up_policy(config, Task(), Model(), None, state, lambda: False)
        return state.read_text()

    begin.during, begin.finishes = lambda: None, True
    begin.shared = policy.shared_warmup(config)
    monkeypatch.setattr(warmup, "warm_up", warm_up)
    return begin


def test_interrupted_run_adopts_a_finished_warm_up(begin, tmp_path):
    assert begin("first") == begin.shared.read_text() == "whole"
    (tmp_path / "second").write_text("half")
    for _ in range(2):  # the second turn finds it in place
        assert begin("second") == begin.loaded == "whole"
    assert list(begin.shared.parent.iterdir()) == [begin.shared]


def test_of_runs_that_begin_together_all_take_the_warm_up_that_ends_first(begin):
    def end_before_it():
        begin.shared.parent.mkdir()
        begin.shared.write_text("whole, of another run")

    begin.during = end_before_it
    assert begin("second") == begin.loaded == "whole, of another run"
    assert begin.shared.read_text() == "whole, of another run"


def test_a_warm_up_that_ends_a_moment_later_replaces_no_other(begin, monkeypatch):
    link = os.link

    def end_before_it(file, target):
        if target == begin.shared:
            target.write_text("whole, of another run")
        link(file, target)

    monkeypatch.setattr(os, "link", end_before_it)
    assert begin("second") == begin.loaded == "whole, of another run"
    assert begin.shared.read_text() == "whole, of another run"
    assert list(begin.shared.parent.iterdir()) == [begin.shared]


def test_a_file_system_without_links_shares_the_warm_up_too(begin, monkeypatch):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(os, "link", refuse)
    assert begin("first") == begin.shared.read_text() == "whole"
    assert list(begin.shared.parent.iterdir()) == [begin.shared]


def test_a_stopped_warm_up_is_not_shared(begin):
    begin.finishes = False
    with pytest.raises(KeyboardInterrupt):
        begin("first")
    assert not begin.shared.exists()
    begin.shared.parent.mkdir()
    begin.shared.write_text("half")
    with pytest.raises(KeyboardInterrupt):
        begin("second")
