"""Measure the processor time of training steps, with our and with TRL's generation and passes.

    python scripts/measure_step.py examples/word_problems/train.toml [--steps 3]

The script makes two trainings of a few steps, from the warm-up in `[warmup] shared`: one as
paretopo trains, one with TRL's own generation, order of rows and passes. Both sample the same
responses up to rounding. "Ours" is the time that paretopo adds to a step of TRL: rewards,
advantages, records.
"""

import argparse
import collections
import subprocess
import sys
import tempfile
import time

from paretopo import config as configs
from paretopo.integrations.trl import task_trainer as trainers
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


def measure(file, steps, seed, as_trl):
    """Seconds by part of one training, without its evaluations."""
    clock, trainer = Clock(), trainers.TaskTrainer
    if as_trl:
        trainers.can_keep = lambda _model: False
        trainer._can_share = lambda _self, _model: False
        trainers.trim = dict
        trainers.sort_rows = lambda batches, _count: batches
    for name, part in PARTS.items():
        clock.wrap(trainer, name, part)
    clock.wrap(Session, "record_step", "ours")
    trainer.evaluate = lambda _self, *_args, **_kwargs: {}
    overrides = {"seed": seed, "optimiser.steps": steps, "run.checkpoint_every": 0}
    with tempfile.TemporaryDirectory() as folder:
        config = configs.load(file, {**overrides, "run.out": folder})
        train(config, RunFolder.create(folder, config))
    return clock.spent


def main():
    """Both trainings, a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("config", help="of paretopo train, on TRL")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0, help="of a warm-up that is kept")
    parser.add_argument("--as-trl", action="store_true", help="only with TRL's own passes")
    arguments = parser.parse_args()
    spent = measure(arguments.config, arguments.steps, arguments.seed, arguments.as_trl)
    rest = spent["step"] - spent["generation"] - spent["forward"] - spent["ours"]
    each = {part: spent[part] / arguments.steps for part in ("step", "generation", "forward")}
    line = ", ".join(f"{part} {value:.1f} s" for part, value in each.items())
    print(
        f"{'as TRL' if arguments.as_trl else 'paretopo'}: {line}, backward and rest "
        f"{rest / arguments.steps:.1f} s, ours {100 * spent['ours'] / spent['step']:.2f} %"
    )
    if not arguments.as_trl:
        subprocess.run([sys.executable, *sys.argv, "--as-trl"], check=True)


if __name__ == "__main__":
    main()
