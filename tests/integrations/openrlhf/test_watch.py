"""Waiting for a dead Ray process raises an error; runs on a local Ray."""

import os
import signal

import pytest

ray = pytest.importorskip("ray")

from paretopo.integrations.openrlhf.failures import explain_failure
from paretopo.integrations.openrlhf.watch import Watch

pytestmark = [pytest.mark.timeout(600), pytest.mark.filterwarnings("default")]


def start_engine(fails):
    class RolloutRayActor:  # here, so that workers need not import this file
        def __init__(self):
            if fails:
                raise ModuleNotFoundError("No module named 'my_index'")

        def pid(self):
            return os.getpid()

    return ray.remote(num_cpus=0)(RolloutRayActor).remote()


@pytest.fixture(scope="module")
def cluster():
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.fixture
def policy(cluster):
    class ParetoPolicyActor:
        async def form_group(self):
            """Waits for an engine that never comes."""
            import asyncio

            await asyncio.Event().wait()

    return ray.remote(num_cpus=0)(ParetoPolicyActor).remote()


def test_failed_engine_start_releases_the_others(policy):
    with Watch() as watch:
        watch.add([start_engine(fails=True), policy])
        with pytest.raises(ray.exceptions.RayActorError):
            ray.get(policy.form_group.remote())
    message = str(explain_failure(watch.death, "paretopo train --resume runs/x"))
    assert message.startswith(
        "a rollout engine could not start: ModuleNotFoundError: No module named 'my_index'"
    )


def test_an_engine_that_is_killed_ends_the_wait_of_others(policy):
    engine = start_engine(fails=False)
    with Watch() as watch:
        watch.add([engine, policy])
        os.kill(ray.get(engine.pid.remote()), signal.SIGKILL)
        with pytest.raises(ray.exceptions.RayActorError):
            ray.get(policy.form_group.remote())
    message = str(explain_failure(watch.death, "paretopo train --resume runs/x"))
    assert message.startswith("a rollout engine died: killed, out of memory, or crashed")
    assert message.endswith("paretopo train --resume runs/x")


def test_while_all_live_nothing_is_ended(policy):
    engine = start_engine(fails=False)
    with Watch() as watch:
        watch.add([engine, policy])
        waiting = policy.form_group.remote()
        # The watcher polls several times during these seconds.
        assert ray.wait([waiting], timeout=6)[0] == []
        assert ray.get(engine.pid.remote()) > 0
    assert watch.death is None
