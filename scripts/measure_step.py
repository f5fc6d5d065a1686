"""Measure the processor time of the parts of training steps, without evaluations.

    python scripts/measure_step.py examples/word_problems/train.toml [--steps 3]

"Ours" is the time that paretopo adds to a step of TRL: rewards, advantages, records.
"""

import argparse
import collections
import tempfile
import time

from paretopo import config as configs
from paretopo.integrations.trl.task_trainer import TaskTrainer
from paretopo.integrations.trl.train import train
from paretopo.records.folder import RunFolder
from paretopo.session import Session

PARTS = {  # method of the trainer: part of a step
    "_generate_single_turn": "generation",
    "_compute_loss": "forward",
    "compute_advantages": "ours",
    "_count_written": "ours",
    "_find_truncated": "ours",
    "training_step": "step",
}


class Clock:
    """Seconds of processor time by part, of functions that it wraps."""

    def __init__(self):
        self.spent = collections.Counter()

    def wrap(self, owner, name, part):
        """Have a method of a class timed."""
        timed = getattr(owner, name)

        def call(*args, **kwargs):
            began = time.process_time()
            try:
                return timed(*args, **kwargs)
            finally:
                self.spent[part] += time.process_time() - began

        setattr(owner, name, call)


def measure(file, steps, seed):
    """Seconds by part of one training, without its evaluations."""
    clock = Clock()
    for name, part in PARTS.items():
        clock.wrap(TaskTrainer, name, part)
    clock.wrap(Session, "record_step", "ours")
    TaskTrainer.evaluate = lambda _self, *_args, **_kwargs: {}
    overrides = {"seed": seed, "optimiser.steps": steps, "run.checkpoint_every": 0}
    with tempfile.TemporaryDirectory() as folder:
        config = configs.load(file, {**overrides, "run.out": folder})
        train(config, RunFolder.create(folder, config))
    return clock.spent


def main():
    """One training, as a line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("config", help="of paretopo train, on TRL")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0, help="of a warm-up that is kept")
    arguments = parser.parse_args()
    spent = measure(arguments.config, arguments.steps, arguments.seed)
    rest = spent["step"] - spent["generation"] - spent["forward"] - spent["ours"]
    each = {part: spent[part] / arguments.steps for part in ("step", "generation", "forward")}
    line = ", ".join(f"{part} {value:.1f} s" for part, value in each.items())
    print(
        f"{line}, backward and rest "
        f"{rest / arguments.steps:.1f} s, ours {100 * spent['ours'] / spent['step']:.2f} %"
    )


if __name__ == "__main__":
    main()
