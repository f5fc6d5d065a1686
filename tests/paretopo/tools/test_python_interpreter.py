"""Programs run as scripts do, workers are replaced, and nothing is left behind.

These tests need bubblewrap (apt-get install bubblewrap), and are skipped without it.
"""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.processes import SECRET, alive, assert_unharmed, descendants

from paretopo.tools.python_interpreter import PythonInterpreter, SandboxError
from paretopo.tools.sandbox import launch

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def python():
    with PythonInterpreter(timeout=3.0, memory_mb=128, workers=2, processes=16) as interpreter:
        yield interpreter


# ---- ordinary programs -----------------------------------------------------------------------


def test_output_errors_and_exit_codes(python):
    result = python.run("import sys\nprint('out')\nprint('err', file=sys.stderr)\nsys.exit(3)")
    assert (result.stdout, result.stderr, result.returncode) == ("out\n", "err\n", 3)
    assert not result.timed_out
    assert 0 < result.seconds < 3
    assert python.run("raise SystemExit").returncode == 0
    assert python.run("raise SystemExit('why')").stderr == "why\n"
    assert python.run("import os; os._exit(7)").returncode == 7


def test_tracebacks_are_those_of_a_script(python):
    result = python.run("def f():\n    return 1 / 0\n\nf()\n")
    assert result.returncode == 1
    assert result.stderr.startswith('Traceback (most recent call last):\n  File "main.py", line 4')
    assert "    return 1 / 0\n" in result.stderr
    assert result.stderr.endswith("\nZeroDivisionError: division by zero\n")
    assert python.run("x = (").stderr.endswith("SyntaxError: '(' was never closed\n")
    for strange in ("\x00", "\ud800"):
        assert python.run(strange).returncode == 1


def test_programs_are_scripts(python):
    code = """
        import atexit, sys, tempfile, threading
        atexit.register(print, 'at exit')
        threading.Timer(0.05, print, ['thread']).start()
        with tempfile.NamedTemporaryFile('w+') as file:
            file.write('x'); file.flush(); print(open(file.name).read())
        print(__name__, sys.argv, sys.stdin.read())
    """
    result = python.run("if 1:" + code)
    assert result.stdout == "x\n__main__ ['main.py'] \nthread\nat exit\n"
    assert result.stderr == ""


def test_processes_of_their_own_are_allowed(python):
    code = """if 1:
        import multiprocessing
        with multiprocessing.get_context("fork").Pool(2) as pool:
            print(pool.map(abs, [-1, -2]))
        import subprocess
        print(subprocess.run(["echo", "hello"], capture_output=True, text=True).stdout)
    """
    result = python.run(code)
    assert result.stdout == "[1, 2]\nhello\n\n", result


def test_calls_share_nothing(python):
    leave = """if 1:
        import builtins, os, sys, tempfile
        builtins.leaked = 1; sys.modules['leaked'] = 1
        open(tempfile.gettempdir() + '/leaked', 'w').close(); open('/dev/shm/leaked', 'w').close()
    """
    find = """if 1:
        import builtins, os, sys, tempfile
        print(os.listdir('/dev/shm'), os.path.exists(tempfile.gettempdir() + '/leaked'))
        print('leaked' in sys.modules, 'leaked' in dir(builtins))
    """
    for _ in range(4):
        assert python.run(leave).stderr == ""
        assert python.run(find).stdout == "[] False\nFalse False\n"
    draws = {python.run("import numpy.random as r; print(r.rand())").stdout for _ in range(3)}
    assert len(draws) == 3


def test_a_coroutine_waits_without_blocking(python):
    async def together():
        ticks = 0
        calls = [asyncio.ensure_future(python.run_async("import time; time.sleep(0.3); print(1)"))]
        while not all(call.done() for call in calls):
            ticks += 1
            await asyncio.sleep(0.01)
        return ticks, [await call for call in calls]

    ticks, results = asyncio.run(together())
    assert ticks > 5
    assert [result.stdout for result in results] == ["1\n"]


def test_more_callers_than_workers(python):
    with ThreadPoolExecutor(20) as callers:
        results = list(callers.map(python.run, [f"print({i})" for i in range(40)]))
    assert [result.stdout for result in results] == [f"{i}\n" for i in range(40)]


def test_output_before_a_timeout_is_kept(python):
    result = python.run("print('before')\nwhile True: pass")
    assert result.timed_out
    assert result.stdout == "before\n"


def test_binary_output_is_text(python):
    result = python.run("import os; os.write(1, b'\\xff\\x00\\xfeok')")
    assert result.stdout == "�\x00�ok"
    assert python.run("print('\\ud800')").stdout == "\\ud800\n"


# ---- workers ---------------------------------------------------------------------------------


def test_a_lost_worker_is_replaced(python):
    with PythonInterpreter(timeout=3.0, workers=1, preload=()) as own:
        worker = own._idle[0]
        with ThreadPoolExecutor(1) as caller:
            call = caller.submit(own.run, "import time; time.sleep(2)")
            time.sleep(0.5)
            os.kill(descendants(worker._sandbox._process.pid)[0], signal.SIGKILL)
            result = call.result()
        assert result.limit == "sandbox"
        assert result.returncode == -9
        assert "the sandbox was lost" in result.stderr
        assert_unharmed(own)
        os.kill(descendants(own._idle[0]._sandbox._process.pid)[0], signal.SIGKILL)  # between calls
        assert own.run("print(1)").limit == "sandbox"
        assert_unharmed(own)


def test_dead_parent_leaves_no_process():
    code = """if 1:
        import sys, threading
        from paretopo.tools.python_interpreter import PythonInterpreter
        python = PythonInterpreter(timeout=30.0, workers=1, preload=())
        threading.Thread(target=python.run, args=["import time; time.sleep(29.875)"]).start()
        print(python._idle and 0 or 1, flush=True)
        import time; time.sleep(0.5); print("running", flush=True); time.sleep(60)
    """
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    while parent.stdout.readline().strip() != "running":
        pass
    below = descendants(parent.pid)
    assert len(below) >= 4  # bubblewrap twice, zygote, cell, program
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 10
    while (left := [pid for pid in below if alive(pid)]) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == []


def test_closed_is_closed():
    with PythonInterpreter(workers=1, preload=()) as python:
        assert_unharmed(python)
    python.close()
    with pytest.raises(SandboxError, match="is closed"):
        python.run("1")


def test_without_bubblewrap_it_refuses(monkeypatch):
    monkeypatch.setattr(launch.shutil, "which", lambda _: None)
    with pytest.raises(SandboxError, match="apt-get install bubblewrap"):
        PythonInterpreter()


def test_failing_bubblewrap_is_reported(monkeypatch, tmp_path):
    fake = tmp_path / "bwrap"
    fake.write_text(
        "#!/bin/sh\necho 'bwrap: No permissions to creating new namespace' >&2\nexit 1\n"
    )
    fake.chmod(0o755)
    monkeypatch.setattr(launch.shutil, "which", lambda _: str(fake))
    with pytest.raises(SandboxError, match="No permissions to creating new namespace"):
        PythonInterpreter()


@pytest.mark.skipif(os.geteuid() != 0, reason="users are mapped by root only")
def test_missing_user_namespaces_are_reported(monkeypatch):
    monkeypatch.setattr(launch, "_NOBODY", 2**32 - 1)  # no user at all
    with pytest.raises(SandboxError, match="this root may not map users"):
        PythonInterpreter(preload=())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"timeout": 0}, "timeout must be a positive number, got 0"),
        ({"timeout": float("nan")}, "timeout must be a positive number, got nan"),
        ({"memory_mb": 1.5}, "memory_mb must be a positive number, got 1.5"),
        ({"workers": -1}, "workers must be a positive number, got -1"),
        ({"isolation": "none"}, 'isolation must be "bubblewrap" or "process", got \'none\''),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(ValueError, match=message):
        PythonInterpreter(**settings)


def folders_of_programs():
    return set(Path(tempfile.gettempdir()).glob("paretopo-program-*"))


def test_process_isolation_keeps_the_limits_and_warns(monkeypatch):
    monkeypatch.setenv("PARETOPO_TEST_SECRET", SECRET)
    with pytest.warns(UserWarning, match="does not isolate"):
        python = PythonInterpreter(timeout=1.0, memory_mb=128, workers=1, isolation="process")
    with python:
        assert_unharmed(python)
        before = folders_of_programs()
        assert SECRET not in python.run("import os; print(os.environ)").stdout
        assert python.run("open('x', 'w').close()").returncode == 0
        assert python.run("while True: pass").limit == "time"
        assert python.run("x = b'x' * (1 << 30)").stderr.endswith("MemoryError\n")
        daemon = python.run(
            "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(99)"
        )
        assert daemon.seconds < 1
        assert python.run("while True: print('x' * 10000)").limit == "output"
        deadline = time.monotonic() + 60
        while folders_of_programs() - before:  # programs of other tests may still run
            assert time.monotonic() < deadline, "a program's folder was not removed"
            time.sleep(0.1)
        assert_unharmed(python)


@pytest.mark.long
def test_processor_time_has_its_own_limit():
    with PythonInterpreter(timeout=60.0, cpu_seconds=1, workers=1, preload=()) as python:
        ignores = "import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN)\n"
        for prefix, limit in (("", "time"), (ignores, None)):
            result = python.run(prefix + "while True: pass")
            assert result.seconds < 50
            assert result.limit == limit
            assert result.returncode in (-signal.SIGXCPU, -signal.SIGKILL)
        assert python.run("import time; time.sleep(1.5)").returncode == 0
        assert_unharmed(python)


def test_readable_folders_are_read_only(tmp_path):
    (tmp_path / "data").write_text("here")
    tmp_path.chmod(0o755)
    with PythonInterpreter(workers=1, preload=(), readable=[tmp_path]) as python:
        assert python.run(f"print(open({str(tmp_path / 'data')!r}).read())").stdout == "here\n"
        assert python.run(f"open({str(tmp_path / 'data')!r}, 'w')").returncode == 1
    assert (tmp_path / "data").read_text() == "here"
