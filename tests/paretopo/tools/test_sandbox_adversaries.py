"""Every hostile program is contained, and the next call is unharmed.

These tests need bubblewrap (apt-get install bubblewrap), and are skipped without it.
"""

import contextlib
import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.processes import SECRET, assert_unharmed

from paretopo.tools.python_interpreter import PythonInterpreter

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def python():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PARETOPO_TEST_SECRET", SECRET)
        with PythonInterpreter(timeout=3.0, memory_mb=128, workers=2, processes=16) as interpreter:
            yield interpreter


# Each program prints its loot; in the sandbox there is none.
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
        if libc.mount(b'tmpfs', b'.', b'tmpfs', 0, None) == 0: print('mounted')
        if libc.umount2(b'/proc', 2) == 0: print('unmounted')
        try: os.chroot('.'); print('chroot')
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
        try: os.mknod('sda', 0o60666, os.makedev(8, 0)); print('made')
        except OSError: pass
        usual = 'null zero full random urandom tty shm pts ptmx fd stdin stdout stderr core console'
        print(*set(os.listdir('/dev')) - set(usual.split()))
    """,
    "writing outside": """if 1:
        import os
        for folder, inner, _ in os.walk('/'):
            if folder.count('/') > 2: inner.clear()
            if folder.startswith(('/proc', os.getcwd(), '/dev/shm')): continue
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
    assert_unharmed(python)


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
    "a long file": ("open('x', 'wb').write(b'x' * (40 << 20))", None),
    "many files": (
        "for i in range(20): open(f'{i}', 'wb').write(b'x' * (10 << 20))",
        None,
    ),
    "countless files": ("for i in range(10**6): open(f'{i}', 'wb').close()", None),
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


# Others are ended for their time, too, which takes all of it.
SLOW = ("deaf endless loop", "stopping itself", "a catastrophic pattern", "a huge number")


@pytest.mark.parametrize(
    "what", [pytest.param(name, marks=[pytest.mark.long] * (name in SLOW)) for name in GREEDY]
)
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
    assert_unharmed(python)


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
    assert_unharmed(python)


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
def test_programs_of_root_run_unprivileged(python):
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
