"""Watch the processes that OpenRLHF starts, and end the run if one dies.

OpenRLHF notices a dead process only at the next call to it. Until then other processes can wait for
it forever: for example, a policy that forms a group with an engine that died at its start.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import Any

import ray

_SECONDS = 2.0


class Watch:
    """Kills all actors when one of them has died, so that no process waits for another.

    Attributes:
        death: Ray's error of the first death; None while all actors live.
    """

    def __init__(self) -> None:
        self.death: ray.exceptions.RayActorError | None = None
        self._actors: list[Any] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, name="watch", daemon=True)

    def add(self, actors: Sequence[Any]) -> None:
        """Watch these actors as well."""
        self._actors += actors

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(2 * _SECONDS)

    def _look(self) -> None:
        asked: dict[Any, Any] = {}  # a busy actor answers later
        while not self._over.wait(_SECONDS):
            waiting = set(map(id, asked.values()))
            for actor in [one for one in self._actors if id(one) not in waiting]:
                asked[actor.__ray_ready__.remote()] = actor
            ready, _ = (
                ray.wait(list(asked), num_returns=len(asked), timeout=0) if asked else ([], [])
            )
            for answer in ready:
                del asked[answer]
                try:
                    ray.get(answer)
                except ray.exceptions.ActorUnavailableError:
                    continue  # it may restart
                except ray.exceptions.RayActorError as error:
                    self.death = error
                    end_at_once(self._actors)
                    return


@contextmanager
def watch_openrlhf() -> Iterator[Watch]:
    """Watch the processes of OpenRLHF's command: engines, models, the trainer."""
    from openrlhf.trainer import ppo_trainer, ppo_trainer_async
    from openrlhf.trainer import ray as starting
    from openrlhf.trainer.ray.launcher import RayActorGroup

    create_engines, start_group = starting.create_vllm_engines, RayActorGroup._initiate_actors
    trainer, trainer_async = ppo_trainer.PPOTrainer, ppo_trainer_async.PPOTrainerAsync
    watch = Watch()
    ended_at_once: list[Any] = []

    def note(actor: Any) -> Any:
        ended_at_once.append(actor)
        watch.add([actor])
        return actor

    def start_noted(kind: Any) -> SimpleNamespace:
        return SimpleNamespace(remote=lambda *given, **named: note(kind.remote(*given, **named)))

    def create(*args: Any, **kwargs: Any) -> Any:
        engines = create_engines(*args, **kwargs)
        watch.add(engines)
        return engines

    def start(group: Any, *args: Any, **kwargs: Any) -> None:
        start_group(group, *args, **kwargs)
        for actor in group._actor_handlers:
            note(actor)

    starting.create_vllm_engines, RayActorGroup._initiate_actors = create, start
    ppo_trainer.PPOTrainer = start_noted(trainer)
    ppo_trainer_async.PPOTrainerAsync = start_noted(trainer_async)
    try:
        with watch:
            yield watch
    finally:
        starting.create_vllm_engines, RayActorGroup._initiate_actors = create_engines, start_group
        ppo_trainer.PPOTrainer, ppo_trainer_async.PPOTrainerAsync = trainer, trainer_async
        # Actors that Ray ends now would try to release their own handles, and print that they
        # failed. Engines have processes of their own to end.
        end_at_once(ended_at_once)


def end_at_once(actors: Sequence[Any]) -> None:
    """Kill actors, including dead ones."""
    for actor in actors:
        with suppress(ray.exceptions.RayError, ValueError):
            ray.kill(actor)
