"""Evolve prompts in openevolve's database: a population strategy of several objectives.

The made-up model and the made-up author of new prompts are those of prompt_evolution.py, so that
this runs without a network. With a model, give the strategy to `openevolve.run_evolution`.
"""

import numpy as np
from openevolve.config import DatabaseConfig
from openevolve.database import Program, ProgramDatabase
from openevolve.population import ArchiveDecision, PopulationStrategy
from prompt_evolution import chance, length, mutate

from paretopo_core import is_nondominated, select


def pareto_strategy(**maximise):
    """Make a strategy that keeps the best fronts, and of the last front the least crowded programs.

    `maximise` says for the name of each metric whether larger is better. The population needs
    places for at least three programs.
    """

    def worst(programs, count):
        points = np.array([[one.metrics[name] for name in maximise] for one in programs])
        kept = select(points, len(programs) - count, maximise=[*maximise.values()])
        return np.delete([one.id for one in programs], kept).tolist()

    def admit(_, candidate, __):
        return all(name in candidate.metrics for name in maximise)  # else it failed

    def replace_cell(_, candidate, owner, __):
        return worst([candidate, owner], 1) == [owner.id]

    def archive(snapshot, candidate):
        if candidate.id in snapshot.archive or len(snapshot.archive) < snapshot.archive_limit:
            return ArchiveDecision(add=True)
        members = [snapshot.programs[one] for one in sorted(snapshot.archive)]
        [loser] = worst([*members, candidate], 1)
        if loser == candidate.id:
            return ArchiveDecision(add=False)
        return ArchiveDecision(add=True, evict_id=loser)

    def evict(snapshot, count, protected):
        others = [one for one in snapshot.programs.values() if one.id not in protected]
        return worst(others, count)

    return PopulationStrategy(admit=admit, replace_cell=replace_cell, archive=archive, evict=evict)


def program_of(number, prompt, parent=None):
    metrics = {"right": float(chance(prompt)), "tokens": float(length(prompt))}
    code = "\n".join(prompt)
    return Program(str(number), code, language="text", parent_id=parent, metrics=metrics)


if __name__ == "__main__":
    config = DatabaseConfig(
        population_size=40,
        archive_size=20,
        num_islands=1,
        feature_dimensions=["right", "tokens"],
    )
    strategy = pareto_strategy(right=True, tokens=False)
    database = ProgramDatabase(config, population_strategy=strategy)
    database.add(program_of(0, ["You are a helpful assistant."]))
    for number in range(1, 301):
        parent, _ = database.sample_from_island(0, num_inspirations=1)
        child = mutate(parent.code.splitlines())
        database.add(program_of(number, child, parent.id))

    kept = [database.programs[one] for one in database.archive]
    found = np.array([[one.metrics["right"], one.metrics["tokens"]] for one in kept])
    front = is_nondominated(found, keep_weakly=False, maximise=[True, False])
    print(f"{len(kept)} programs in the archive, {front.sum()} of them on its front:")
    for right, tokens in sorted(found[front].tolist()):
        print(f"{right:6.1%} right, {tokens:2.0f} tokens")
