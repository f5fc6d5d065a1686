"""A warm-up that runs share is made once, also by runs that begin at the same time."""

import threading

import pytest

pytest.importorskip("torch")
pytest.importorskip("trl")

from paretopo.config import loads
from paretopo.integrations.huggingface import policy, warmup

RUN = """
[model]
path = "tiny"
[warmup]
steps = 3
"""


@pytest.fixture
def begin(tmp_path, monkeypatch):
    """Return a function that starts a run needing the warm-up; its list `made` has the results."""
    made, going, may_end = [], threading.Event(), threading.Event()

    def warm_up(_model, _tokenizer, _traces, _config, state_file, _stop, **_):
        if not state_file.exists():
            going.set()
            assert may_end.wait(60)
            made.append(state_file.name)
            state_file.write_text("a state")
        return True

    monkeypatch.setattr(warmup, "warm_up", warm_up)
    monkeypatch.setattr(policy, "_ASKED_EVERY", 0.01)
    config = loads(RUN, {"warmup.shared": str(tmp_path / "shared")})

    class Model:
        class device:
            type = "cpu"

    class Task:
        functions = ()

    def run(name, should_stop=lambda: False):
        state = tmp_path / name
        policy.warm_up_policy(config, Task(), Model(), None, state, should_stop)
        return state.read_text()

    run.made, run.going, run.may_end = made, going, may_end
    yield run
    may_end.set()


def test_the_second_waits_for_the_first_and_takes_it_over(begin, tmp_path):
    first = threading.Thread(target=begin, args=["first"])
    first.start()
    assert begin.going.wait(60)
    asked = []

    def release():
        asked.append(True)
        begin.may_end.set()
        return False

    assert begin("second", release) == "a state"
    first.join()
    assert begin.made == ["first"]
    assert asked  # it waited
    assert len(list((tmp_path / "shared").iterdir())) == 1  # no lock stays
    assert begin("third") == "a state"
    assert begin.made == ["first"]


def test_who_waits_can_be_stopped(begin):
    first = threading.Thread(target=begin, args=["first"])
    first.start()
    assert begin.going.wait(60)
    with pytest.raises(KeyboardInterrupt):
        begin("second", lambda: True)
    begin.may_end.set()
    first.join()
    assert begin.made == ["first"]


def test_interrupted_run_adopts_a_finished_warm_up(begin, tmp_path):
    begin.may_end.set()
    assert begin("first") == "a state"
    (tmp_path / "second").write_text("half a state")
    for _ in range(2):  # the second time it has it already
        assert begin("second") == "a state"
    assert begin.made == ["first"]
