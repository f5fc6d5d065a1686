"""Evolve prompts with openevolve: a population strategy of several objectives.

The made-up model is that of prompt_evolution.py. It answers openevolve as a server on this machine,
so that this runs without a network. With a model, name it and its address in `evolve`.
"""

import json
import re
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

import numpy as np
from openevolve import run_evolution
from openevolve.config import Config, DatabaseConfig, LLMConfig, LLMModelConfig, PromptConfig
from openevolve.database import ProgramDatabase
from openevolve.population import ArchiveDecision, PopulationStrategy
from prompt_evolution import INSTRUCTIONS, chance, length, mutate

from paretopo_core import hypervolume, is_nondominated, select

ITERATIONS = 300


def pareto_strategy(**maximise):
    """Make a strategy that keeps the best fronts, and of the last front the least crowded programs.

    `maximise` says for the name of each metric whether larger is better. The population needs
    places for at least three programs.
    """

    def worst(programs, count):
        points = np.array([[one.metrics[name] for name in maximise] for one in programs])
        kept = select(points, k=len(programs) - count, maximise=[*maximise.values()])
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


def evaluate(path):
    """Grade the prompt in a file; openevolve's workers call this."""
    text = Path(path).read_text(encoding="utf-8")
    prompt = [line for line in text.splitlines() if line in INSTRUCTIONS]
    right = float(chance(prompt))
    return {"right": right, "tokens": length(prompt), "combined_score": right}


class MadeUpModel(BaseHTTPRequestHandler):
    """Changes a line of the current prompt, in the protocol of OpenAI's chat."""

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        asked = request["messages"][-1]["content"]
        current = re.search("# Current Program\n```text\n(.*?)```", asked, re.DOTALL)[1]
        child = mutate([line for line in current.splitlines() if line in INSTRUCTIONS])
        answer = {"role": "assistant", "content": "```text\n" + "\n".join(child) + "\n```"}
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps({"choices": [{"index": 0, "message": answer}]}).encode())

    def log_message(self, *_):
        pass


def evolve(strategy, folder, api_base):
    """Run openevolve; return for each archived prompt the right answers and the tokens."""
    config = Config(
        llm=LLMConfig(models=[LLMModelConfig(name="made-up", api_base=api_base, api_key="none")]),
        database=DatabaseConfig(
            population_size=40,
            archive_size=20,
            num_islands=2,
            feature_dimensions=["right", "tokens"],
        ),
        prompt=PromptConfig(system_message="Write prompts: more right answers, fewer tokens."),
        language="text",
        diff_based_evolution=False,
        checkpoint_interval=ITERATIONS,
        log_level="ERROR",
    )
    run_evolution(
        "You are a helpful assistant.",
        __file__,
        config,
        iterations=ITERATIONS,
        output_dir=folder,
        population_strategy=strategy,
    )
    database = ProgramDatabase(config.database)
    database.load(f"{folder}/checkpoints/checkpoint_{ITERATIONS}")
    kept = [database.programs[one].metrics for one in database.archive]
    return np.array([[one["right"], one["tokens"]] for one in kept])


if __name__ == "__main__":
    maximise = [True, False]  # right answers: more; tokens: fewer
    server = HTTPServer(("127.0.0.1", 0), MadeUpModel)
    Thread(target=server.serve_forever, daemon=True).start()
    for name, strategy in [
        ("openevolve's default", None),
        ("pareto_strategy", pareto_strategy(right=True, tokens=False)),
    ]:
        with TemporaryDirectory() as folder:
            points = evolve(strategy, folder, f"http://127.0.0.1:{server.server_port}/v1")
        front = is_nondominated(points, duplicates="first", maximise=maximise)
        volume = hypervolume(points, ref=[0, 80], maximise=maximise)
        print(
            f"{name}: {len(points)} prompts, {front.sum()} on the front, hypervolume {volume:.2f}"
        )
    for right, tokens in sorted(points[front].tolist()):
        print(f"{right:6.1%} right, {tokens:2.0f} tokens")
