"""The environment and a setting choose the instruction set, by its name."""

import os
import subprocess
import sys

import pytest

import paretopo_core as pp


def test_the_environment_forces_one():
    def run(value):
        code = "import paretopo_core as pp; print(pp.get_isa())"
        environment = {**os.environ, "PARETOPO_ISA": value}
        command = [sys.executable, "-c", code]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    assert run("portable").stdout.strip() == "portable"
    assert "PARETOPO_ISA must be one of portable" in run("sse9").stderr


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match=r"the instruction set must be one of portable"):
        pp.isa("neon")
