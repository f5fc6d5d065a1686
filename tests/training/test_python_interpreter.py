"""What programs can do, and what they cannot: every adversary is contained, the next call unharmed.

These tests need bubblewrap (apt-get install bubblewrap) and fail without it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from paretopo_core.training.tools.python_interpreter import PythonInterpreter, SandboxError
from paretopo_core.training.tools.sandbox import launch

SECRET = "a-secret-of-the-parent"


@pytest.fixture(scope="module")
def python():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PARETOPO_TEST_SECRET", SECRET)
        with PythonInterpreter(timeout=3.0, memory_mb=128, workers=2, processes=16) as interpreter:
            yield interpreter


def unharmed(python):
    result = python.run("print(6 * 7)")
    assert (result.stdout, result.stderr, result.returncode, result.limit) == ("42\n", "", 0, None)


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
        import builtins, os, sys
        builtins.leaked = 1; sys.modules['leaked'] = 1
        open('/tmp/leaked', 'w').close(); open('/dev/shm/leaked', 'w').close()
    """
    find = """if 1:
        import builtins, os, sys
        print(os.listdir('/dev/shm'), os.path.exists('/tmp/leaked'))
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
    with ThreadPoolExecutor(64) as callers:
        results = list(callers.map(python.run, [f"print({i})" for i in range(128)]))
    assert [result.stdout for result in results] == [f"{i}\n" for i in range(128)]


# ---- adversaries -----------------------------------------------------------------------------

# Each prints what it got hold of; contained, that is nothing.
CURIOUS = {
    "shadow": "print(open('/etc/shadow').read())",
    "environment": f"""if 1:
        import glob, os
        found = [repr(dict(os.environ))]
        for name in glob.glob('/proc/*/environ'):
            try: found.append(open(name, errors='replace').read())
            except OSError: pass
        if {SECRET!r} in ''.join(found): print('got it')
    """,
    "files of the parent": f"""if 1:
        for path in ({str(Path(__file__))!r}, {str(Path.home() / ".profile")!r}, '/etc/hostname'):
            try: print(open(path).read())
            except OSError: pass
    """,
    "descriptors of the parent": """if 1:
        import os
        for i in range(3, 1024):
            try: os.fstat(i); print(i)
            except OSError: pass
    """,
    "memory of its watch": """if 1:
        import os
        for name in ('mem', 'environ', 'fd/0', 'fd/1', 'cwd', 'root', 'exe', 'maps'):
            try: os.close(os.open('/proc/1/' + name, os.O_RDONLY)); print(name)
            except OSError: pass
    """,
    "other processes": """if 1:
        import os
        print(*[p for p in os.listdir('/proc') if p.isdigit() and int(p) not in (1, os.getpid())])
    """,
    "ptrace": """if 1:
        import ctypes
        if ctypes.CDLL(None).ptrace(16, 1, 0, 0) == 0: print('attached')
    """,
    "the host by a socket": """if 1:
        import socket
        for family in (socket.AF_INET, socket.AF_INET6, socket.AF_VSOCK, socket.AF_NETLINK):
            for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):
                try: socket.socket(family, kind); print(family)
                except OSError: pass
    """,
    "namespaces": """if 1:
        import ctypes, os
        libc = ctypes.CDLL(None)
        for flag in (0x10000000, 0x20000, 0x40000000, 0x20000000, 0x8000000):
            if libc.unshare(flag) == 0: print('unshare', hex(flag))
            clone = 56 if os.uname().machine == 'x86_64' else 220
            pid = libc.syscall(clone, flag | 17, 0, 0, 0, 0)
            if pid == 0: os._exit(0)
            if pid > 0: print('clone', hex(flag))
    """,
    "mounts and roots": """if 1:
        import ctypes, os
        libc = ctypes.CDLL(None)
        if libc.mount(b'tmpfs', b'/tmp', b'tmpfs', 0, None) == 0: print('mounted')
        if libc.umount2(b'/proc', 2) == 0: print('unmounted')
        try: os.chroot('/tmp'); print('chroot')
        except OSError: pass
    """,
    "becoming somebody": """if 1:
        import os
        for become in (os.setuid, os.setgid, os.seteuid):
            try: become(0 if os.getuid() else 1); print('became')
            except OSError: pass
    """,
    "hidden memory": """if 1:
        import ctypes, os
        try: os.memfd_create('x'); print('memfd')
        except OSError: pass
        if ctypes.CDLL(None).shmget(0, 1 << 28, 0o1600) >= 0: print('shm')
    """,
    "the kernel's settings": """if 1:
        for name in ('sys/kernel/core_pattern', 'sys/vm/drop_caches', 'sysrq-trigger',
                     '1/oom_score_adj', 'self/uid_map', 'sys/kernel/hostname'):
            try: open('/proc/' + name, 'w').write('1'); print(name)
            except OSError: pass
    """,
    "devices": """if 1:
        import os
        try: os.mknod('/tmp/sda', 0o60666, os.makedev(8, 0)); print('made')
        except OSError: pass
        usual = 'null zero full random urandom tty shm pts ptmx fd stdin stdout stderr core console'
        print(*set(os.listdir('/dev')) - set(usual.split()))
    """,
    "writing outside": """if 1:
        import os
        for folder, _, _ in os.walk('/'):
            if folder.startswith(('/proc', '/tmp', '/dev/shm')): continue
            try: open(folder + '/planted', 'w').close(); print(folder)
            except OSError: pass
            try: os.mkdir(folder + '/planted_folder'); print(folder)
            except OSError: pass
    """,
    "changing what it reads": """if 1:
        import json, os, sys
        real = os.path.realpath(sys.executable)
        for path in (json.__file__, sys.executable, real, '/usr/bin/env'):
            for change in (lambda p: open(p, 'a').close(), lambda p: os.chmod(p, 0o777), os.remove):
                try: change(path); print(path)
                except OSError: pass
    """,
    "killing the parent": """if 1:
        import os
        for target in (1, os.getppid(), 0x7ffffff0):
            for sign in range(1, 65):
                try: os.kill(target, sign)
                except OSError: pass
        print()
    """,
}


@pytest.mark.parametrize("what", CURIOUS)
def test_nothing_is_to_be_had(python, what):
    result = python.run(CURIOUS[what])
    assert result.stdout.strip() == "", result
    assert result.limit is None
    unharmed(python)


# Each breaks a limit, or ends with an error of its own that the limit brought about.
GREEDY = {
    "endless loop": ("while True: pass", "time"),
    "deaf endless loop": (
        "import signal\nfor s in range(1, 65):\n"
        "    try: signal.signal(s, signal.SIG_IGN)\n    except (OSError, ValueError): pass\n"
        "while True: pass",
        "time",
    ),
    "stopping itself": ("import os, signal; os.kill(os.getpid(), signal.SIGSTOP)", "time"),
    "endless output": ("while True: print('x' * 10000)", "output"),
    "endless errors": ("import os\nwhile True: os.write(2, b'x' * 10000)", "output"),
    "output of processes": (
        "import subprocess, time\nfor _ in range(3): subprocess.Popen(['yes'])\ntime.sleep(9)",
        "output",
    ),
    "fork bomb": (
        "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
        "processes",
    ),
    "memory of many": (
        "import os, time\nfor _ in range(6): os.fork()\nx = b'x' * (60 << 20)\ntime.sleep(9)",
        ("memory", "processes", None),  # None: a fork was refused first
    ),
    "memory of a few": (
        "import os, time\nos.fork(), os.fork()\nx = b'x' * (60 << 20)\ntime.sleep(9)",
        "memory",
    ),
    "memory of one": ("x = [b'x' * (1 << 20) for _ in range(10**6)]", None),
    "memory mapped": ("import mmap; x = mmap.mmap(-1, 1 << 40)", None),
    "a long file": ("open('/tmp/x', 'wb').write(b'x' * (40 << 20))", None),
    "many files": (
        "for i in range(20): open(f'/tmp/{i}', 'wb').write(b'x' * (10 << 20))",
        None,
    ),
    "countless files": ("for i in range(10**6): open(f'/tmp/{i}', 'wb').close()", None),
    "open files": ("x = [open('/dev/null') for _ in range(10**6)]", None),
    "threads": (
        "import threading, time\n"
        "for _ in range(10**5): threading.Thread(target=time.sleep, args=[9], daemon=True).start()",
        None,
    ),
    "deep recursion": ("def f(): f()\nf()", None),
    "deeper recursion": (
        "import sys; sys.setrecursionlimit(10**9)\nf = lambda x: f(x)\n"
        "class A:\n    def __repr__(self): return repr([self])\nrepr(A())",
        None,
    ),
    "a segmentation fault": ("import ctypes; ctypes.string_at(8)", None),
    "abort": ("import os; os.abort()", None),
    "killing itself": ("import os; os.kill(os.getpid(), 9)", None),
    "killing all": ("import os, signal; os.kill(-1, signal.SIGKILL)", None),
    "a catastrophic pattern": ("import re; re.match('(a+)+$', 'a' * 64 + 'b')", "time"),
    "a huge number": ("print(len(str(9 ** 9 ** 9)))", ("time", None)),
    "a bomb of constants": ("x = " + "(" * 500 + "1" + ")" * 500, None),
    "deleting its modules": ("import sys; sys.modules.clear(); sys.stdout = None; 1 / 0", None),
}


@pytest.mark.parametrize("what", GREEDY)
def test_limits_hold(python, what):
    code, expected = GREEDY[what]
    started = time.monotonic()
    result = python.run(code)
    assert time.monotonic() - started < python.timeout + 4
    assert result.returncode != 0 or what == "killing all"
    allowed = expected if isinstance(expected, tuple) else (expected,)
    assert result.limit in allowed, result
    assert result.timed_out == (result.limit == "time")
    assert len(result.stdout) <= 1 << 20
    assert len(result.stderr) <= 1 << 20
    unharmed(python)


def test_what_was_printed_before_the_end_is_there(python):
    result = python.run("print('before')\nwhile True: pass")
    assert result.timed_out
    assert result.stdout == "before\n"


def test_binary_output_is_text(python):
    result = python.run("import os; os.write(1, b'\\xff\\x00\\xfeok')")
    assert result.stdout == "�\x00�ok"
    assert python.run("print('\\ud800')").stdout == "\\ud800\n"


@pytest.mark.parametrize("leader", ["os.setsid()", "os.setpgrp()", "os.fork() and os._exit(0)"])
def test_daemons_end_with_their_program(python, leader):
    name = f"paretopo-daemon-{os.getpid()}"
    code = f"""if 1:
        import ctypes, os, signal, time
        if os.fork() == 0:
            {leader}
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            ctypes.CDLL(None).prctl(15, {name[:15].encode()!r})
            os.closerange(0, 3)
            time.sleep(60)
            os._exit(0)
        time.sleep(0.2)
        print('started')
    """
    result = python.run(code)
    assert result.stdout == "started\n"
    assert result.seconds < 2
    assert (
        name[:15]
        not in subprocess.run(["ps", "-eo", "comm"], capture_output=True, text=True).stdout
    )
    unharmed(python)


def names_of_processes():
    names = set()
    for name in Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):
            names.add(name.read_text().strip())
    return names


def test_programs_do_not_see_each_other(python):
    # The first waits for messages of the second on everything that two processes can share.
    listen = """if 1:
        import os, socket, time
        s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        s.bind('\\0paretopo'); s.settimeout(1.5)
        try: print(s.recv(9))
        except TimeoutError: print(os.listdir('/dev/shm'))
        print(*filter(str.isdigit, os.listdir('/proc')))
    """
    speak = """if 1:
        import socket, time
        s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); time.sleep(0.3)
        open('/dev/shm/x', 'w').close()
        try: s.sendto(b'hello', '\\0paretopo'); print('sent')
        except OSError: print('nobody')
    """
    with ThreadPoolExecutor(2) as callers:
        first, second = callers.map(python.run, [listen, speak])
    assert second.stdout == "nobody\n"
    assert first.stdout == "[]\n1 2\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="without root, programs run as the user already")
def test_started_by_root_programs_are_nobody(python):
    with ThreadPoolExecutor(1) as caller:
        call = caller.submit(python.run, "import time; time.sleep(1.234)")
        time.sleep(0.6)
        users = set()
        for status in Path("/proc").glob("[0-9]*/status"):
            with contextlib.suppress(OSError):
                text = status.read_text()
                inner = text.split("NSpid:")[1].split("\n")[0].split()
                if len(inner) == 3 and inner[2] == "2":
                    users.add(text.split("Uid:")[1].split()[0])
        assert call.result().returncode == 0
    assert users == {"65534"}


# ---- workers ---------------------------------------------------------------------------------


def test_a_lost_worker_is_replaced(python):
    with PythonInterpreter(timeout=3.0, workers=1, preload=()) as own:
        worker = own._idle[0]
        with ThreadPoolExecutor(1) as caller:
            call = caller.submit(own.run, "import time; time.sleep(2)")
            time.sleep(0.5)
            os.kill(descendants(worker._jail._process.pid)[0], signal.SIGKILL)
            result = call.result()
        assert result.limit == "sandbox"
        assert result.returncode == -9
        assert "the sandbox was lost" in result.stderr
        unharmed(own)
        os.kill(descendants(own._idle[0]._jail._process.pid)[0], signal.SIGKILL)  # between calls
        assert own.run("print(1)").limit == "sandbox"
        unharmed(own)


def test_a_dead_parent_leaves_nothing_behind():
    code = """if 1:
        import sys, threading
        from paretopo_core.training.tools.python_interpreter import PythonInterpreter
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


def alive(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def descendants(pid):
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    below = {pid}
    while more := {one for one, parent in parents.items() if parent in below} - below:
        below |= more
    return sorted(below - {pid})


def test_closed_is_closed():
    with PythonInterpreter(workers=1, preload=()) as python:
        unharmed(python)
    python.close()
    with pytest.raises(SandboxError, match="is closed"):
        python.run("1")


def test_without_bubblewrap_it_refuses(monkeypatch):
    monkeypatch.setattr(launch.shutil, "which", lambda _: None)
    with pytest.raises(SandboxError, match="apt-get install bubblewrap"):
        PythonInterpreter()


def test_a_bubblewrap_that_fails_is_told(monkeypatch, tmp_path):
    fake = tmp_path / "bwrap"
    fake.write_text(
        "#!/bin/sh\necho 'bwrap: No permissions to creating new namespace' >&2\nexit 1\n"
    )
    fake.chmod(0o755)
    monkeypatch.setattr(launch.shutil, "which", lambda _: str(fake))
    with pytest.raises(SandboxError, match="No permissions to creating new namespace"):
        PythonInterpreter()


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


def test_an_executable_must_be_a_python():
    with pytest.raises(SandboxError, match="executable must be a Python, got '/bin/false'"):
        PythonInterpreter(executable="/bin/false")


def test_process_isolation_keeps_the_limits_and_warns(monkeypatch):
    monkeypatch.setenv("PARETOPO_TEST_SECRET", SECRET)
    with pytest.warns(UserWarning, match="no walls"):
        python = PythonInterpreter(timeout=1.0, memory_mb=128, workers=1, isolation="process")
    with python:
        unharmed(python)
        before = set(Path("/tmp").glob("paretopo-program-*"))
        assert SECRET not in python.run("import os; print(os.environ)").stdout
        assert python.run("open('x', 'w').close()").returncode == 0
        assert python.run("while True: pass").limit == "time"
        assert python.run("x = b'x' * (1 << 30)").stderr.endswith("MemoryError\n")
        daemon = python.run(
            "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(99)"
        )
        assert daemon.seconds < 1
        assert python.run("while True: print('x' * 10000)").limit == "output"
        assert set(Path("/tmp").glob("paretopo-program-*")) == before
        unharmed(python)


def test_readable_folders_are_read_only(tmp_path):
    (tmp_path / "data").write_text("here")
    tmp_path.chmod(0o755)
    with PythonInterpreter(workers=1, preload=(), readable=[tmp_path]) as python:
        assert python.run(f"print(open({str(tmp_path / 'data')!r}).read())").stdout == "here\n"
        assert python.run(f"open({str(tmp_path / 'data')!r}, 'w')").returncode == 1
    assert (tmp_path / "data").read_text() == "here"


# ---- load ------------------------------------------------------------------------------------


def open_descriptors():
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.slow
def test_short_programs_by_the_hundred():
    with PythonInterpreter(workers=8) as python, ThreadPoolExecutor(64) as callers:
        list(callers.map(python.run, ["pass"] * 32))
        started = time.monotonic()
        results = list(callers.map(python.run, [f"print({i} ** 2)" for i in range(2000)]))
        rate = 2000 / (time.monotonic() - started)
    assert [result.stdout for result in results] == [f"{i**2}\n" for i in range(2000)]
    print(f"{rate:.0f} programs a second, 64 callers")
    assert rate >= 100


@pytest.mark.slow
def test_ten_thousand_calls_leave_nothing():
    with PythonInterpreter(timeout=2.0, workers=4) as python, ThreadPoolExecutor(16) as callers:
        codes = [
            "print(1)",
            "1/0",
            "import os; os.fork(); os.fork()",
            "open('/tmp/x','w').write('x')",
        ]
        list(callers.map(python.run, codes * 100))
        before = open_descriptors(), resident(os.getpid()), sizes(python)
        for _ in range(10):
            results = list(callers.map(python.run, codes * 250))
            assert {result.limit for result in results} == {None}
        after = open_descriptors(), resident(os.getpid()), sizes(python)
    print(before, after)
    assert after[0] == before[0]
    assert after[1] < before[1] + 20_000
    assert len(after[2]) == len(before[2])
    assert sum(after[2]) < sum(before[2]) * 1.1 + 10_000


def sizes(python):
    return [
        resident(pid) for worker in python._idle for pid in descendants(worker._jail._process.pid)
    ]


def resident(pid):
    return int(Path(f"/proc/{pid}/status").read_text().split("VmRSS:")[1].split()[0])
