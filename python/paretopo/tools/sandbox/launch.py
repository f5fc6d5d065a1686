"""Start a worker from outside: in a bubblewrap sandbox, or as a process with only limits."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from paretopo.tools.sandbox.kernel import ARCHITECTURES

Isolation = Literal["bubblewrap", "process"]
Settings = dict[str, Any]

_MOST_STDERR = 2000  # bytes of a worker's standard error that an error shows

_HERE = Path(__file__).parent
_INSIDE = "/run/paretopo"  # where this folder's parent is found inside the sandbox
_START = (
    "import json, sys; sys.path.insert(0, sys.argv[1]); "
    "from sandbox import zygote; zygote.main(json.loads(sys.argv[2]))"
)
_VARIABLES = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/tmp",
    "LANG": "C.UTF-8",
    "MPLBACKEND": "Agg",
    # One program is one core's work; and threads would not survive the fork.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
_SYSTEM = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin")
_OF_ETC = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime")

# If root starts it, programs run as this unprivileged user of the host, so they own none of root's
# files, and the kernel counts their processes (it does not for root).
_NOBODY = 65534
_PROGRAM_USER = 1000  # that user's number inside


class SandboxError(RuntimeError):
    """Programs cannot be run: bubblewrap is missing or refused, or a worker does not answer."""


def outermost(folders: Iterable[str]) -> list[str]:
    """Return the folders without those inside another one, or in every sandbox.

    >>> outermost(["/opt/python/bin", "/opt/python", "/usr/lib/python3", "/data"])
    ['/data', '/opt/python']
    """
    kept: list[str] = []
    for folder in sorted({str(Path(folder).absolute()) for folder in folders}):
        if not any(Path(folder).is_relative_to(other) for other in (*_SYSTEM, *kept)):
            kept.append(folder)
    return kept


class Sandbox:
    """The process of a worker, seen from outside.

    Args:
        isolation: "bubblewrap" or "process".
        readable: folders that programs may read, in addition to those of the system and of Python.
        settings: for `zygote.main`; "isolated", "user" and "kept" are filled in here.

    Attributes:
        requests, answers: pipes to and from the zygote.

    Raises:
        SandboxError: bubblewrap is not installed, or the machine is of an unknown kind.
    """

    def __init__(self, isolation: Isolation, readable: Sequence[str], settings: Settings) -> None:
        # Links on the way count: a virtual environment points to the Python it was made from.
        prefixes = [Path(sys.prefix), Path(sys.base_prefix)]
        own = [Path(sys.executable).parent, *prefixes, *(path.resolve() for path in prefixes)]
        folders = outermost([*map(str, own), *readable])
        python = [sys.executable, "-I", "-X", "utf8", "-c", _START]
        isolated, as_root = isolation == "bubblewrap", os.geteuid() == 0
        settings = {
            **settings,
            "isolated": isolated,
            "user": _PROGRAM_USER if isolated and as_root else None,
            "kept": [path for path in folders if path.startswith("/tmp/")],
        }
        wrap = [*_bubblewrap_command(folders, as_root=as_root), "--"] if isolated else []
        package = _INSIDE if isolated else str(_HERE.parent)
        command = [*wrap, *python, package, json.dumps(settings)]
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 -- closed by `kill`
        self._init: int | None = None  # pidfd of the first process in the namespace
        if isolated:
            self._start_bubblewrap(command, as_root)
        else:
            self._process = self._popen(command)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.requests, self.answers = self._process.stdin, self._process.stdout

    def kill(self) -> str:
        """Kill everything in it; returns the end of its standard error, or its exit code."""
        if self._stderr.closed:
            return ""
        if self._init is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._init, signal.SIGKILL)
            os.close(self._init)
        self._process.kill()
        self._process.wait()
        for pipe in (self.requests, self.answers):
            with contextlib.suppress(OSError):  # unsent data has no reader any more
                pipe.close()
        with self._stderr as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _MOST_STDERR))
            text = file.read().decode(errors="replace").strip()
        return text or f"exit code {self._process.returncode}"

    def _popen(
        self, command: Sequence[str], pass_fds: Sequence[int] = ()
    ) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=_VARIABLES,
            start_new_session=True,  # Ctrl-C is for the parent
            pass_fds=pass_fds,
        )

    def _start_bubblewrap(self, command: list[str], as_root: bool) -> None:
        """Start it; as root, with a user namespace of root and the unprivileged user."""
        info_read, info_write = os.pipe()
        go_read, go_write = os.pipe()
        with os.fdopen(info_read, "rb") as info, os.fdopen(go_write, "wb", buffering=0) as go:
            options = ["--info-fd", str(info_write)]
            if as_root:
                options += ["--userns-block-fd", str(go_read)]
            try:
                self._process = self._popen(
                    [command[0], *options, *command[1:]], (info_write, go_read)
                )
            finally:
                os.close(info_write)
                os.close(go_read)
            information = info.read()
            if not information:  # it failed already, and says why on its own
                return
            child = int(json.loads(information)["child-pid"])
            # Killing only bubblewrap would leave the sandbox running.
            self._init = os.pidfd_open(child)
            if as_root:
                self._map_users(child)
                go.write(b"1")

    def _map_users(self, process: int) -> None:
        try:
            for kind in ("uid", "gid"):
                Path(f"/proc/{process}/{kind}_map").write_text(
                    f"0 0 1\n{_PROGRAM_USER} {_NOBODY} 1\n", encoding="ascii"
                )
        except OSError as error:
            with self._process, self._stderr:
                self._process.kill()  # and with it the sandbox, which waits for it
            assert self._init is not None
            os.close(self._init)
            raise SandboxError(
                f"this root may not map users into a namespace ({error}): run as another user, or "
                'say isolation = "process"'
            ) from None


def _bubblewrap_command(readable: Sequence[str], *, as_root: bool) -> list[str]:
    """Return the command line of bubblewrap, up to the program."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise SandboxError(
            "bubblewrap is not installed, and programs that a model wrote are not run without it: "
            'apt-get install bubblewrap, or say isolation = "process" to run them with limits but '
            "without isolation"
        )
    machine = os.uname().machine
    if machine not in ARCHITECTURES:
        raise SandboxError(
            f"the system calls of {machine} are not known here, only those of "
            f"{' and '.join(ARCHITECTURES)}"
        )
    command = [bwrap, "--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc"]
    command += ["--unshare-uts", "--unshare-cgroup-try", "--hostname", "sandbox"]
    command += ["--uid", "0", "--gid", "0", "--new-session", "--cap-drop", "ALL"]
    # For supervisors: mounting, dropping rights for good, changing the user, ending programs.
    rights = ["SYS_ADMIN", "SETPCAP", *(["SETUID", "SETGID", "KILL"] if as_root else [])]
    for right in rights:
        command += ["--cap-add", f"CAP_{right}"]
    command.append("--clearenv")
    for name, value in _VARIABLES.items():
        command += ["--setenv", name, value]
    command += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
    for path in _SYSTEM:
        if os.path.islink(path):
            command += ["--symlink", os.readlink(path), path]
        else:
            command += ["--ro-bind-try", path, path]
    for path in _OF_ETC:
        command += ["--ro-bind-try", path, path]
    mounts = {path: path for path in readable} | {f"{_INSIDE}/sandbox": str(_HERE)}
    for path, source in mounts.items():
        for parent in reversed(Path(path).parents[:-1]):  # left to bubblewrap, only root may pass
            command += ["--perms", "0755", "--dir", str(parent)]
        command += ["--ro-bind", source, path]
    # Last, since earlier steps create folders in them.
    return [*command, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/"]
