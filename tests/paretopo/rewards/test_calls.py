"""Reward functions run in the main thread, have limits, and share one event loop that lasts."""

import asyncio
import functools
import logging
import signal
import threading
import time

import pytest

from paretopo.config import ConfigError, from_table, loads
from paretopo.rewards import calls
from paretopo.rewards.calls import Hung, LoopThread, call_with_limit
from paretopo.rewards.functions import check_measured
from paretopo.rewards.own import OwnRewards, load_own_rewards
from paretopo.rollout import BadRollout

UNGATED = {"stage2_estimator": "rloo", "gate": "none"}


def rewards_of(folder, text, *objectives, gate=False, **settings):
    """Return the rewards of a file with this text, for objectives of any unit."""
    path = folder / "rewards.py"
    path.write_text(text, encoding="utf-8")
    tables = [{"name": one} if isinstance(one, str) else one for one in objectives]
    tables[0] |= {"gate": gate}
    table = {"objectives": tables, "rewards": {"file": str(path), **settings}}
    return OwnRewards(from_table(table | {"paretopo": UNGATED}))


def measure(rewards, completions=("a", "b"), prompts=None, **columns):
    count = len(completions)
    given = {"id": ["q"] * count, "answer": ["42"] * count, "kind": ["all"] * count, **columns}
    return rewards.measure(prompts or ["why?"] * count, completions, given)


# ---- limits --------------------------------------------------------------------------------------


def test_calls_run_in_the_main_thread_where_alarms_work():
    def alarmed():
        signal.signal(signal.SIGALRM, lambda *_: None)
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        signal.pause()
        return threading.current_thread()

    before = signal.getsignal(signal.SIGALRM)
    try:
        assert call_with_limit(alarmed, 60.0) is threading.main_thread()
    finally:
        signal.signal(signal.SIGALRM, before)


def wait_for_a_lock():
    lock = threading.Lock()
    with lock:
        lock.acquire()


def work_without_end():
    while True:
        pass


def catch_everything():
    for _ in range(2):
        try:
            time.sleep(3600)
        except Exception:
            continue


HANGS = [lambda: time.sleep(3600), wait_for_a_lock, work_without_end, catch_everything]


@pytest.mark.parametrize("hang", HANGS)
def test_a_call_that_hangs_is_interrupted(hang):
    """A report of a hang: verl#5635."""
    began = time.monotonic()
    with pytest.raises(Hung):
        call_with_limit(hang, 0.05)
    assert time.monotonic() - began < 60.0


def test_a_call_outside_the_main_thread_has_its_limit_too():
    seen = []

    def ask():
        try:
            call_with_limit(functools.partial(time.sleep, 30), 0.05)
        except Hung as error:
            seen.append(error)
        seen.append(call_with_limit(lambda: 42, 60.0))

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert [type(seen[0]), seen[1]] == [Hung, 42]


def test_a_limit_that_ends_with_the_call_does_not_end_the_process():
    ended = {True: 0, False: 0}
    for at in range(300):
        try:
            call_with_limit(functools.partial(time.sleep, 0.001), 0.0008 + 0.000002 * at)
            ended[True] += 1
        except Hung:
            ended[False] += 1
    time.sleep(0.01)
    assert sum(ended.values()) == 300
    assert all(thread.name != "reward limit" for thread in threading.enumerate())


# ---- asynchronous functions ----------------------------------------------------------------------

ASYNC = """
import asyncio
DOOR, MET = asyncio.Semaphore(1), asyncio.Event()
LOOPS = set()

async def judged(completions, **_):
    async def one(text):
        async with DOOR:
            await asyncio.sleep(0.001)
            LOOPS.add(asyncio.get_running_loop())
            return float(len(text))
    return await asyncio.gather(*map(one, completions))

async def first(completions):
    await asyncio.wait_for(MET.wait(), 60)
    return [1.0 for _ in completions]

class Second:
    async def __call__(self, completions):
        MET.set()
        return [2.0 for _ in completions]

second = Second()
third = lambda completions: asyncio.sleep(0, [float(len(LOOPS)) for _ in completions])
"""


def test_asynchronous_functions_run_together_in_one_loop_that_lasts(tmp_path):
    rewards = rewards_of(tmp_path, ASYNC, "judged", "first", "second", "third")
    measure(rewards, ("a", "bb", "ccc"))
    expected = {"judged": 2.0, "first": 1.0, "second": 2.0, "third": 1.0}
    assert measure(rewards, ("aa", "bb"))[0] == expected


BLOCKING = """
import time
async def polite(completions):
    if completions[0] == "hang":
        time.sleep(1.5)
    return [1.0 for _ in completions]
"""


def test_a_coroutine_that_blocks_its_loop_hangs_only_its_own_batch(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(calls, "_SLACK", 0.1)
    rewards = rewards_of(tmp_path, BLOCKING, "polite", timeout=0.2, failing="skip")
    assert measure(rewards, ("hang", "a")) == [{"polite": None, "skipped_rewards": 1}] * 2
    assert "the reward 'polite' hung on prompt 'q': it took more than" in caplog.text
    assert measure(rewards, ("a", "a")) == [{"polite": 1.0}] * 2


def in_thread(*coroutines, timeout=600.0):
    """The results of coroutines, one after another in the same thread."""

    async def main():
        thread = LoopThread("a test")
        try:
            return [await thread.run(one, timeout) for one in coroutines]
        finally:
            thread.end()

    return asyncio.run(main())


def test_coroutines_of_a_thread_share_a_loop_that_is_not_the_callers():
    async def here():
        return asyncio.get_running_loop(), threading.current_thread()

    async def main():
        return await here(), await asyncio.to_thread(in_thread, here(), here())

    outside, (first, second) = asyncio.run(main())
    assert first == second
    assert {*first}.isdisjoint(outside)


async def hang():
    await asyncio.Event().wait()


async def block():
    time.sleep(2)


async def fail():
    raise TimeoutError("of its own")


@pytest.mark.parametrize(
    ("coroutine", "seconds", "error"),
    [(hang, 0.2, Hung), (block, 0.2, Hung), (fail, 60, TimeoutError)],
)
def test_a_caller_hears_that_a_coroutine_hangs_blocks_or_fails(coroutine, seconds, error):
    with pytest.raises(error):
        in_thread(coroutine(), timeout=seconds)


# ---- failures ------------------------------------------------------------------------------------

FAILING = """
calls = []
def polite(completions):
    calls.append(1)
    if len(calls) < 3:
        raise ConnectionError("503")
    return [1.0 for _ in completions]
async def safe(completions):
    calls.append(1)
    if len(calls) < 6:
        raise ConnectionError("503")
    return [2.0 for _ in completions]
"""


@pytest.fixture
def waits(monkeypatch):
    """Return the seconds that are waited for before further attempts."""
    waited = []

    async def note(seconds):
        waited.append(seconds)

    monkeypatch.setattr(calls.time, "sleep", waited.append)
    monkeypatch.setattr(calls.asyncio, "sleep", note)
    return waited


def test_a_call_that_fails_is_tried_again(tmp_path, waits):
    rewards = rewards_of(tmp_path, FAILING, "polite", "safe", retries=2)
    assert measure(rewards) == [{"polite": 1.0, "safe": 2.0}] * 2
    assert waits == [1.0, 2.0, 1.0, 2.0]


def test_the_last_failure_stops_the_run_or_leaves_the_objective_out(tmp_path, waits, caplog):
    text = FAILING.replace("< 3", "< 300").replace("< 6", "< 600")
    with pytest.raises(BadRollout, match="'polite' failed on prompt 'q': ConnectionError: 503"):
        measure(rewards_of(tmp_path, text, "polite", "safe", retries=1))
    skipping = {"retries": 1, "failing": "skip"}
    with caplog.at_level(logging.WARNING, "paretopo"):
        rewards = rewards_of(tmp_path, text, "polite", "safe", **skipping)
        none = {"polite": None, "safe": None, "skipped_rewards": 2}
        assert measure(rewards) == [none] * 2
    assert "ConnectionError: 503: safe does not apply to these rollouts" in caplog.text
    with pytest.raises(BadRollout, match="'polite' failed"):
        measure(rewards_of(tmp_path, text, "polite", "safe", gate=True, **skipping))


# ---- a file of functions ------------------------------------------------------------------------

COLUMNS = {"id": ["a", "b"], "source": ["X", None], "answer": ["1", "2"], "kind": ["k", "k"]}


def test_functions_get_the_columns_that_they_ask_for_as_on_trl(tmp_path):
    text = (
        "import asyncio\n"
        "async def cites(completions, source):\n"
        "    await asyncio.sleep(0)\n"
        "    return [None if one is None else 1.0 for one in source]\n"
        "def it(prompts, completions, **columns):\n"
        "    assert sorted(columns) == ['answer', 'id', 'kind', 'source']\n"
        "    return [len(p) + len(c) for p, c in zip(prompts, completions)]\n"
        "def _helper(): return 1\n"
    )
    measured = rewards_of(tmp_path, text, "cites", "it").measure(["p", "qq"], ["c", "c"], COLUMNS)
    assert measured == [{"it": 2, "cites": 1.0}, {"it": 3, "cites": None}]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("raise ZeroDivisionError('oh')", "'it' failed on prompt 'a' and 1 more: ZeroDiv.*: oh"),
        ("raise SystemExit('bye')", "'it' failed on prompt 'a' and 1 more: SystemExit: bye"),
        ("return [1.0]", "'it' returned 1 values for the 2 rollouts of prompt 'a'"),
        ("return [1.0, float('nan')]", "prompt 'b' has 'it' = nan .* a finite number"),
        ("return [1.0, '1.0']", "prompt 'b' has 'it' = '1.0' .* a finite number"),
        ("return [1.0, 'much']", "prompt 'b' has 'it' = 'much' .* a finite number"),
        ("return None", "'it' must return a list, got None for prompt 'a'"),
        ("time.sleep(3600)", "'it' hung on prompt 'a' and 1 more: .*timeout = 0.2 seconds"),
        ("while True: pass", "'it' hung on prompt 'a' and 1 more"),
    ],
)
def test_a_reward_that_fails_names_itself_and_the_prompt(tmp_path, body, message):
    """A report of a wrong number of rewards: trl#6533."""
    text = (
        f"import time\ndone = False\ndef it(completions):\n    {body.replace('True', 'not done')}\n"
    )
    # A limit that nothing but a call that hangs meets, however busy the machine is.
    rewards = rewards_of(tmp_path, text, "it", timeout=0.2 if "hung" in message else 60.0)
    try:
        with pytest.raises(BadRollout, match=message):
            rewards.measure(["p", "q"], ["c", "c"], COLUMNS)
    finally:
        [reward] = rewards.rewards
        reward.function.__globals__["done"] = True


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def polit(completions): return []", "'polit', which is not an objective: "),
        ("x = 1", "has no function of an objective"),
        ("def f(:", "fails: SyntaxError"),
        ("import no_such_module", "fails: ModuleNotFoundError"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(tmp_path, text, message):
    with pytest.raises(ConfigError, match=message):
        rewards_of(tmp_path, text, "it")


def test_the_file_is_a_key_and_none_is_none(tmp_path):
    assert load_own_rewards(loads("")) is None
    with pytest.raises(ConfigError, match=r"rewards.file: there is no file nowhere\.py"):
        load_own_rewards(loads("", {"rewards.file": "nowhere.py"}))


# ---- which functions -----------------------------------------------------------------------------

FOUND = """
from dataclasses import dataclass
from functools import partial
from math import sqrt
import reviewer_next_to_it
from reviewer_next_to_it import imported

@dataclass
class Judge:
    weight: float
    def __call__(self, completions, **_):
        return [self.weight for _ in completions]

def _scaled(completions, factor):
    from reviewer_next_to_it import imported
    return [factor * one for one in imported(completions)]

judge = Judge(0.5)
doubled = partial(_scaled, factor=2.0)
named = lambda completions, **_: [3.0 for _ in completions]
"""
NEIGHBOUR = "def imported(completions):\n    return [1.0 for _ in completions]\n"


def test_a_reward_is_whatever_can_be_called_and_has_the_name(tmp_path):
    (tmp_path / "reviewer_next_to_it.py").write_text(NEIGHBOUR)
    rewards = rewards_of(tmp_path, FOUND, "judge", "doubled", "named", "imported")
    assert measure(rewards)[0] == {"judge": 0.5, "doubled": 2.0, "named": 3.0, "imported": 1.0}


def test_a_class_is_refused_with_the_line_that_is_missing(tmp_path):
    text = "class polite:\n    def __call__(self, completions):\n        return []\n"
    with pytest.raises(ConfigError, match=r"write polite = polite\(\) below the class"):
        rewards_of(tmp_path, text, "polite")


PACKAGE = """
def length(completions, unit=1.0, **_):
    return [len(text) / unit for text in completions]

def make_length(unit):
    return lambda completions, **_: [len(text) / unit for text in completions]

class Length:
    def __init__(self, unit):
        self.unit = unit
    def __call__(self, completions, **_):
        return [len(text) / self.unit for text in completions]
    class Inner:
        @staticmethod
        def length(completions):
            return [0.0 for _ in completions]
number = 3
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    (tmp_path / "a_package_of_rewards.py").write_text(PACKAGE)
    monkeypatch.syspath_prepend(str(tmp_path))
    return "a_package_of_rewards"


def of_package(named):
    table = {"name": "short", "function": named}
    return OwnRewards(from_table({"objectives": [table], "paretopo": UNGATED}))


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("length", 4.0),
        ("length(unit=2)", 2.0),
        ("make_length(unit=4)", 1.0),
        ("Length(unit=8.0)", 0.5),
        ("Length.Inner.length", 0.0),
    ],
)
def test_functions_come_out_of_packages_with_parameters(package, call, value):
    assert measure(of_package(f"{package}:{call}"), ("four",)) == [{"short": value}]


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ("no_such_package:length", "No module named 'no_such_package'"),
        ("a_package_of_rewards:width", "has no attribute 'width'"),
        ("a_package_of_rewards:number", "cannot be called: it is 3"),
        ("a_package_of_rewards:make_length", "fails: TypeError: .*'unit'"),
        ("a_package_of_rewards:make_length(2)", 'must be "package'),
        ("a_package_of_rewards:make_length(unit=x)", 'must be "package'),
        ("a_package_of_rewards:", 'must be "package'),
        ("long", "is no function of rewards.file"),
    ],
)
def test_a_function_that_is_not_there_is_refused(package, named, message):
    with pytest.raises(ConfigError, match=rf"objectives.short.function.*{message}"):
        of_package(named)


@pytest.mark.parametrize(
    "returned",
    [
        '[{"safe": 1, "kind": None, "reason": "so"} for _ in completions]',
        '{"safe": [1.0] * len(completions), "kind": [None] * len(completions)}',
    ],
)
def test_one_function_measures_several_objectives(tmp_path, returned):
    text = f"def judge(completions):\n    return {returned}\n"
    tables = [{"name": one, "function": "judge"} for one in ("safe", "kind")]
    assert measure(rewards_of(tmp_path, text, *tables)) == [{"safe": 1.0, "kind": None}] * 2


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ('[{"safe": 1}, {"safe": 1}]', "'judge' returned nothing for 'kind', got .'safe'"),
        ("[1.0, 2.0]", "'judge' must return a mapping with safe, kind for each rollout, got .1.0"),
        ('[{"safe": 1, "kind": 1}, 3]', "'judge' returned nothing for 'safe', got 3"),
        ('[{"safe": 1, "kind": 1}]', "returned 1 values for the 2 rollouts"),
        ('{"safe": [1, 1], "kind": [1, float("nan")]}', "'kind' = nan"),
    ],
)
def test_a_value_that_lacks_an_objective_is_refused(tmp_path, returned, message):
    text = f"def judge(completions):\n    return {returned}\n"
    tables = [{"name": one, "function": "judge"} for one in ("safe", "kind")]
    with pytest.raises(BadRollout, match=message):
        measure(rewards_of(tmp_path, text, *tables))


def test_an_objective_that_nothing_measures_is_refused(tmp_path):
    rewards = rewards_of(tmp_path, "def polite(completions):\n    return []\n", "polite").rewards
    tables = [{"name": "polite"}, {"name": "tokenz"}]
    table = {"objectives": tables, "paretopo": UNGATED}
    table["rewards"] = {"file": str(tmp_path / "rewards.py")}
    with pytest.raises(ConfigError, match=r"tokenz: nothing measures it.* did you mean 'tokens'"):
        check_measured(from_table(table), rewards)
