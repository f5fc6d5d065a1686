"""Check that the compiled module in a wheel for macOS or Windows matches its platform.

    pip install lief
    python scripts/check_module.py WHEEL PLATFORM

PLATFORM is the platform tag of the wheel, `macosx_11_0_arm64` or `win_amd64`. The script inspects
the module without running it, as auditwheel does on Linux. It checks the processor, the libraries,
and on macOS the oldest supported version and the signature.
"""

from __future__ import annotations

import re
import sys
import zipfile

import lief

_PROCESSORS = {"arm64": "ARM64", "x86_64": "X86_64", "amd64": "AMD64"}
# Libraries of macOS; libraries of Windows 10, including the C library (api-ms-win-crt-*), and
# Python's.
_ALLOWED = {
    "macosx": r"/usr/lib/libSystem\.B\.dylib",
    "win": r"(python3\d+t?|kernel32|ntdll|msvcrt|ucrtbase|api-ms-win-crt-[-a-z0-9]+)\.dll",
}


def needed(wheel: str, platform: str) -> str:
    """Return the libraries that the module needs; exit if a check fails."""
    lief.logging.disable()
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [one for one in archive.namelist() if re.search(r"\.(so|pyd)$", one)]
        module = lief.parse(list(archive.read(name)))
    system, *version, processor = re.split("_", platform, maxsplit=3 if "mac" in platform else 1)
    if system == "macosx":
        own = lief.MachO.LoadCommand.TYPE.ID_DYLIB
        libraries = [one.name for one in module.libraries if one.command != own]
        processor_found = module.header.cpu_type.name
        build = module.build_version or module.version_min
        minimum = build.minos if hasattr(build, "minos") else build.version
        if list(minimum)[:2] > [int(one) for one in version]:
            sys.exit(f"{name}: needs macOS {minimum}")
        if processor == "arm64" and not module.has_code_signature:
            sys.exit(f"{name}: has no signature, which macOS asks for on {processor}")
    else:
        libraries = list(module.libraries)
        processor_found = module.header.machine.name
    if processor_found != _PROCESSORS[processor]:
        sys.exit(f"{name}: is for {processor_found}")
    for one in libraries:
        if not re.fullmatch(_ALLOWED[system], one, re.IGNORECASE):
            sys.exit(f"{name}: needs {one}")
    return " ".join(sorted(libraries))


if __name__ == "__main__":
    print("needs", needed(*sys.argv[1:]))
