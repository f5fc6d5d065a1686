"""System calls that Python 3.11 has no function for: namespaces, mounts, capabilities, seccomp."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct

NEW_NAMESPACES = 0x7E020080  # every CLONE_NEW* flag
CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWPID = 0x00020000, 0x08000000, 0x20000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18

_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _PR_CAP_AMBIENT = 24, 38, 22, 47
_PR_SET_CHILD_SUBREAPER, _PR_SET_DUMPABLE = 36, 4
_CAPABILITY_VERSION_3 = 0x20080522

# Calls that reach beyond the program, hold memory that no limit counts, or are mostly known for
# holes in the kernel: name → number on (x86_64, aarch64).
FORBIDDEN = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_by_handle_at": (304, 265),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "msgget": (68, 186),
    "semget": (64, 190),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "syslog": (103, 116),
    "acct": (163, 89),
    "quotactl": (179, 60),
}
CLONE, CLONE3, SOCKET = (56, 220), (435, 435), (41, 198)
_AUDIT_ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
ARCHITECTURES = tuple(_AUDIT_ARCHITECTURE)

_libc = ctypes.CDLL(None, use_errno=True)


def unshare(flags: int) -> None:
    """Move this process, or for processes its children, into new namespaces."""
    _check("unshare", _libc.unshare(flags))


def setns(namespace: int, flags: int) -> None:
    """Join the namespace of an open file descriptor."""
    _check("setns", _libc.setns(namespace, flags))


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """Mount a file system, or change how one is mounted."""
    arguments = (source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags))
    _check(f"mount {target}", _libc.mount(*arguments, options.encode()))


def adopt_orphans() -> None:
    """Processes whose parent died below this one become its children."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def drop_privileges(user: int | None) -> None:
    """Give up every capability for good: no program executed later gets one back.

    Args:
        user: user and group to become on the way; None stays who it is.
    """
    capability = 0
    while _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) == 0:
        capability += 1
    if ctypes.get_errno() != errno.EINVAL:  # EINVAL: past the last one
        _check("prctl(PR_CAPBSET_DROP)", -1)
    _prctl(_PR_CAP_AMBIENT, 4)  # clear all
    if user is not None:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
        _prctl(_PR_SET_DUMPABLE, 1)  # or its own /proc/self would be closed to it
    header = struct.pack("Ii", _CAPABILITY_VERSION_3, 0)
    _check("capset", _libc.capset(header, bytes(24)))
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def forbid_system_calls() -> None:
    """From now on `FORBIDDEN` calls, new namespaces and sockets other than AF_UNIX are refused.

    Needs `drop_privileges` first. Network sockets have no peers in a separate network namespace
    anyway; AF_VSOCK ignores namespaces and would reach the host.
    """
    program = _make_filter()
    buffer = ctypes.create_string_buffer(program, len(program))
    block = struct.pack("HP", len(program) // 8, ctypes.addressof(buffer))  # struct sock_fprog
    _check("prctl(PR_SET_SECCOMP)", _libc.prctl(_PR_SET_SECCOMP, 2, block, 0, 0))


def _make_filter() -> bytes:
    """Make the seccomp filter, a classic BPF program of 8 bytes per instruction."""
    machine = platform.machine()
    at = ARCHITECTURES.index(machine)
    allow, refuse, unknown = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS

    def load(offset: int) -> bytes:
        return struct.pack("HBBI", 0x20, 0, 0, offset)

    def jump(test: int, value: int, if_true: int, if_false: int) -> bytes:
        return struct.pack("HBBI", 0x05 | test, if_true, if_false, value)

    def answer(value: int) -> bytes:
        return struct.pack("HBBI", 0x06, 0, 0, value)

    equal, at_least, any_bit = 0x10, 0x30, 0x40
    number, architecture, first_argument = 0, 4, 16
    program = load(architecture) + jump(equal, _AUDIT_ARCHITECTURE[machine], 1, 0) + answer(refuse)
    program += load(number) + jump(at_least, 0x40000000, 0, 1) + answer(unknown)  # the x32 ABI
    # glibc falls back from clone3, whose flags a filter cannot see, to clone.
    program += jump(equal, CLONE3[at], 0, 1) + answer(unknown)
    for numbers in FORBIDDEN.values():
        program += jump(equal, numbers[at], 0, 1) + answer(refuse)
    program += jump(equal, CLONE[at], 0, 4) + load(first_argument)
    program += jump(any_bit, NEW_NAMESPACES, 0, 1) + answer(refuse) + answer(allow)
    program += jump(equal, SOCKET[at], 0, 4) + load(first_argument)
    program += jump(equal, 1, 1, 0) + answer(refuse) + answer(allow)
    return program + answer(allow)


def _prctl(option: int, value: int) -> None:
    _check(f"prctl({option})", _libc.prctl(option, value, 0, 0, 0))


def _check(name: str, result: int) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
