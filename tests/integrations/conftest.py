"""Fixtures for trainings; tests on the real OpenRLHF are skipped without it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from paretopo.config import loads
from paretopo.records.folder import RunFolder


@pytest.fixture(scope="session")
def warmups(tmp_path_factory) -> str:
    """Return a folder for `warmup.shared`, in which tests keep their finished warm-ups."""
    return str(tmp_path_factory.mktemp("warmups"))


@pytest.fixture(scope="module")
def without_cuda() -> None:
    """Let the real OpenRLHF run on a CPU."""
    from paretopo.integrations.openrlhf.rehearsal.stand_ins import prepare_process

    prepare_process()


@pytest.fixture(scope="session")
def policy(tmp_path_factory) -> Path:
    """A warmed-up tiny policy, made once for all runs."""
    from support.rehearsals import PREPARE, SMALL, environment

    run = RunFolder.create(tmp_path_factory.mktemp("policy"), loads(SMALL))
    subprocess.run([sys.executable, "-c", PREPARE, str(run.path)], check=True, env=environment())
    return run.checkpoints / "start"


@pytest.fixture
def new_run(policy, tmp_path):
    """A function: tables and dotted settings → the folder of a run that is to be rehearsed."""
    from support.rehearsals import SMALL

    def make(tables="", **settings) -> RunFolder:
        overrides = {name.replace("__", "."): value for name, value in settings.items()}
        run = RunFolder.create(
            tmp_path,
            loads(SMALL + tables, {"model.path": str(policy), "warmup.steps": 0} | overrides),
        )
        run.update_manifest(rehearsal=["a test"])
        return run

    return make
