"""Settings of the process: plain calls and `with` statements, whose users are counted."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

import paretopo_core as pp
from paretopo_core import _core

SETTINGS = {
    "threads": (pp.threads, pp.get_threads, (2, 3)),
    "isa": (pp.isa, pp.get_isa, (_core.ISAS[0], _core.ISAS[-1])),
    "memory_limit": (pp.memory_limit, _core.most_bytes, (2**20, 2**33)),
}
each_setting = pytest.mark.parametrize("name", SETTINGS)


@each_setting
def test_a_setting_holds_until_its_statement_ends(name):
    change, read, (one, other) = SETTINGS[name]
    before = read()
    with change(one) as outer:
        assert (read(), outer.value) == (one, one)
        with change(other):
            assert read() == other
        assert read() == one
    assert read() == before


@each_setting
def test_a_plain_call_holds_until_it_is_undone(name):
    change, read, (one, _) = SETTINGS[name]
    before, setting = read(), change(one)
    assert read() == one
    setting.undo()
    setting.undo()
    assert read() == before


@each_setting
def test_the_last_user_decides_in_whatever_order_they_end(name):
    change, read, (one, other) = SETTINGS[name]
    before, first, last = read(), change(one), change(other)
    first.undo()
    assert read() == other
    last.undo()
    assert read() == before


@each_setting
def test_a_setting_is_that_of_all_threads_and_says_so(name):
    change, read, (one, _) = SETTINGS[name]
    with change(one) as setting, ThreadPoolExecutor(1) as others:
        assert others.submit(read).result() == one
        assert repr(setting).endswith(f"{one!r} for all threads of this process>")


@each_setting
def test_calls_that_cannot_be_undone_do_not_pile_up(name):
    change, read, (one, other) = SETTINGS[name]
    users = change.__globals__["_USERS"]
    with change(read()):  # so that this test changes nothing
        with change(one):
            for _ in range(20):
                change(other)
            assert read() == other
        count = len(users._values)
        change(users._values[0][1])
    assert count < 5


def test_the_limit_on_memory_can_be_raised():
    points = [[1.0, 3.0], [2.0, 2.0], [3.0, 1.0]]
    with pp.memory_limit(4):
        with pytest.raises(MemoryError, match=r"more than 4 bytes to find: .* or raise memory_lim"):
            pp.hypervolume_subset(points, 0, k=2, method="exact")
        with pytest.raises(MemoryError, match=r"more than 4 bytes: .* or raise memory_limit"):
            pp.dominated_boxes(points, 0)
    assert pp.dominated_boxes(points, 0).counts == 3
    assert len(pp.hypervolume_subset(points, 0, k=2, method="exact")) == 2


@pytest.mark.parametrize(
    ("variable", "read", "value", "wrong", "message"),
    [
        ("PARETOPO_NUM_THREADS", "get_threads", "3", "many", "must be a number"),
        ("PARETOPO_ISA", "get_isa", "portable", "sse9", "must be one of portable"),
    ],
)
def test_the_environment_has_the_first_setting(variable, read, value, wrong, message):
    command = [sys.executable, "-c", f"import paretopo_core as pp; print(pp.{read}())"]
    right, refused = (
        subprocess.run(command, env={**os.environ, variable: given}, capture_output=True, text=True)
        for given in (value, wrong)
    )
    assert right.stdout.strip() == value
    assert f"{variable} {message}" in refused.stderr
