"""Count and time the parts of training steps, without evaluations.

    python scripts/measure_step.py examples/calculator.toml [--by trl] [--set KEY=VALUE]...

It counts the first step and times the others. Counts are those of a GPU, also without one: a tensor
is on the host only if Python made it without a device, or copied it there.
"""

import argparse
import collections
import contextlib
import inspect
import json
import tempfile
import threading
import time
from pathlib import Path

import torch
from accelerate.state import AcceleratorState, PartialState
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.overrides import TorchFunctionMode
from transformers import GenerationMixin, PrinterCallback, TrainerCallback
from transformers.trainer_callback import CallbackHandler
from trl import GRPOTrainer

from paretopo import config as configs
from paretopo.integrations.huggingface.generation import StopStrings
from paretopo.integrations.huggingface.policy import warm_up_policy
from paretopo.integrations.huggingface.threads import use_threads
from paretopo.integrations.trl import ParetoGRPOTrainer
from paretopo.integrations.trl.arguments import make_rollout_arguments
from paretopo.integrations.trl.datasets import make_question_dataset
from paretopo.integrations.trl.policy import load_policy
from paretopo.integrations.trl.rewards import SessionRewards
from paretopo.integrations.trl.session import ScriptCallback
from paretopo.integrations.trl.task_trainer import TaskTrainer
from paretopo.integrations.trl.train import train
from paretopo.records.folder import RunFolder
from paretopo.tasks.choice import make_task
from paretopo.tasks.environment import open_environment

HAS_GPU = torch.cuda.is_available()
HOST, DEVICE = torch.device("cpu"), torch.device("cuda" if HAS_GPU else "cpu", 0)
TURNS, PASSES, WAITS = "calls of generate", "passes of the model", "waits for the device"
COPIES, CALLS, WRITTEN = "copies to the device", "tool calls", "tokens written"
# Each waits until the device has computed the value.
_READS = {
    *("item", "tolist", "cpu", "numpy", "__bool__", "__int__", "__float__", "__index__"),
    *("nonzero", "unique"),
}
_TRACED = 32  # passes of generation in a trace; those of a whole step would be gigabytes


class Meter(TorchFunctionMode):
    """Counts by name and part, and seconds by part. A wrapped method sets the part.

    Attributes:
        counts: The counts so far.
        spent: The seconds so far.
    """

    def __init__(self):
        super().__init__()
        self.counts, self.spent = collections.Counter(), collections.Counter()
        self._parts, self._since = ["TRL"], _now()

    def count(self, name, times=1):
        """Count for the current part."""
        self.counts[name, self._parts[-1]] += times

    def pass_time(self):
        """Add the time since the last call to the current part."""
        self.spent[self._parts[-1]] += _now() - self._since
        self._since = _now()

    def wrap(self, owner, name, part, look=None, before=None):
        """Have a method of a class belong to a part.

        `look` gets each result; `before` gets the state and the arguments of a callback.
        """
        method = getattr(owner, name)

        def call(*args, **kwargs):
            if threading.current_thread() is not threading.main_thread():
                return method(*args, **kwargs)
            self.pass_time()
            self._parts.append(part)
            try:
                if before is not None:
                    before(args[2], args[1])
                result = method(*args, **kwargs)
                if look is not None:
                    look(result)
                return result
            finally:
                self.pass_time()
                self._parts.pop()

        setattr(owner, name, call)

    def __torch_function__(self, function, _types, args=(), kwargs=None):
        """Count a call of torch, and note where its results are."""
        kwargs = kwargs or {}
        if function == torch.Tensor.device.__get__:
            return HOST if _is_on_host(args[0]) else DEVICE
        name = getattr(function, "__name__", "")
        # `to` takes the place, not a value, from a second tensor.
        tensors = [*_list_tensors(args[:1] if name == "to" else (args, kwargs))]
        from_host = all(map(_is_on_host, tensors))
        asked = _find_device(name, args, kwargs)
        to_host = name == "cpu" or (from_host if asked is None else asked == HOST)
        masks = name in ("__getitem__", "__setitem__") and any(
            one.dtype == torch.bool for one in _list_tensors(args[1:2])
        )
        result = function(*args, **kwargs)
        if not from_host:
            self.count(WAITS, int(masks or name in _READS or to_host))
        elif name in ("to", "tensor", "as_tensor"):
            self.count(COPIES, int(not to_host))
        if name in ("cpu", "to") and result is args[0] and to_host != from_host:
            result = result.view_as(result)  # a copy has a place of its own
        for one in _list_tensors((result,)):
            one._is_on_host = to_host
        return result


def _now():
    """Return seconds: processor time, or with a GPU the time until it has finished."""
    if not HAS_GPU:
        return time.process_time()
    torch.cuda.synchronize()
    return time.perf_counter()


def _is_on_host(tensor):
    return not tensor.is_cuda if HAS_GPU else getattr(tensor, "_is_on_host", False)


def _list_tensors(values):
    for value in values.values() if isinstance(values, dict) else values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, list | tuple | dict):
            yield from _list_tensors(value)


def _find_device(name, args, kwargs):
    """Return the device that a call names, or that of a second tensor of `to`."""
    asked = kwargs.get("device")
    for value in args[1:2] if name == "to" else ():
        if isinstance(value, torch.Tensor):
            return HOST if _is_on_host(value) else DEVICE
        asked = value if isinstance(value, torch.device | str) else asked
    return None if asked is None else torch.device(asked)


@contextlib.contextmanager
def emulate_device(args):
    """Have a trainer with these arguments put its tensors on the device."""

    def place(device):
        AcceleratorState().device = PartialState().device = device
        args.__dict__["_setup_devices"] = device

    before = args.device
    place(DEVICE)
    yield
    place(before)


def watch(meter, trace):
    """Have the meter follow all trainers; return its findings, filled as they train.

    It counts the first step and times the others. `trace` is a file for torch's profile of the last
    step, which is then not timed, or None.
    """
    looks = {
        "_generate": lambda made: meter.count(
            WRITTEN, sum(map(sum, made[2])) if made[2] else sum(map(len, made[1]))
        ),
        "_tool_call_loop": lambda made: meter.count(CALLS, made[4]),
    }
    callbacks = [one for one in TrainerCallback.__subclasses__() if _is_ours(one)]
    kinds = (*TaskTrainer.__mro__, *ParetoGRPOTrainer.__mro__, *callbacks, ScriptCallback)
    for kind in dict.fromkeys((*kinds, SessionRewards)):
        if _is_ours(kind) or kind.__module__.startswith(("trl.", "transformers.trainer")):
            for name, method in list(vars(kind).items()):
                if inspect.isfunction(method) and not name.startswith("__"):
                    look = looks.get(name) if kind is GRPOTrainer else None
                    meter.wrap(kind, name, "ours" if _is_ours(kind) else "TRL", look)
    TaskTrainer.evaluate = lambda _self, *_args, **_kwargs: {}
    meter.wrap(StopStrings, "__call__", "ours")
    for name in ("generate", "generate_batch"):
        meter.wrap(GenerationMixin, name, "generation", lambda _: meter.count(TURNS))
    counting = contextlib.ExitStack()
    profile, found = torch.profiler.profile() if trace else None, {}

    def collect(wanted):
        if profile and profile.profiler:
            profile.toggle_collection_dynamic(wanted, torch.profiler.supported_activities())

    def count_pass(module, _inputs):
        if isinstance(module, GenerationMixin):
            meter.count(PASSES)
            if torch.is_grad_enabled():
                collect(wanted=True)
            elif meter.counts[PASSES, "generation"] == _TRACED:
                collect(wanted=False)

    def begin(state, args):
        if state.global_step == 0:
            counting.enter_context(emulate_device(args))
            counting.enter_context(meter)
        elif state.global_step == 1:
            counting.close()
            found.update(first=dict(meter.counts), began=time.perf_counter())
        elif not trace or state.global_step < state.max_steps - 1:
            return
        else:
            end(state)
            profile.start()
        meter.pass_time()
        meter.counts.clear()
        meter.spent.clear()

    def end(state):
        if "spent" not in found:
            meter.pass_time()
            found.update(counts=dict(meter.counts), spent=dict(meter.spent))
            found.update(steps=state.global_step - 1, seconds=time.perf_counter() - found["began"])
        elif profile:
            profile.stop()
            profile.export_chrome_trace(str(trace))

    register_module_forward_pre_hook(count_pass)
    for name, follow in (("on_step_begin", begin), ("on_train_end", lambda state, _: end(state))):
        meter.wrap(CallbackHandler, name, "TRL", before=follow)
    return found


def _is_ours(kind):
    return kind.__module__.startswith("paretopo.")


def train_by(trainer_class, config, run):
    """Train with TRL's trainer, or with ours in its place, on the questions of a configuration."""
    task = make_task(config)
    with open_environment(config) as environment:
        if environment.new_episode is not None:
            raise SystemExit("--by swap and --by trl need a task whose tools are functions")
        model, tokenizer = load_policy(config, task, DEVICE.type)
        if config.warmup.steps:
            state = run.checkpoints / "warmup.pt"
            warm_up_policy(config, task, model, tokenizer, state, lambda: False)

        def correct(completions, answer, **_):
            texts = [one[-1]["content"] for one in completions]
            grades = environment.grade_all(texts, [*map(json.loads, answer)])
            return [float(one or 0) for one in grades]

        asked = task.schedule(config.optimiser.steps, config.optimiser.prompts_per_step)
        use_threads(config.run.threads, made=config.model.is_made)
        trainer = trainer_class(
            model=model,
            args=make_rollout_arguments(config, run, DEVICE.type, evaluate_first=False, held_out=0),
            train_dataset=make_question_dataset(task, asked, tokenizer, held_out=False),
            processing_class=tokenizer,
            tools=list(task.functions) or None,
            reward_funcs=[correct],
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()


def main():
    """One training, as a table and a line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("config", help="of paretopo train, on TRL")
    parser.add_argument("--by", choices=("train", "swap", "trl"), default="train")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--trace", type=Path, help="torch's profile of the last step, .json.gz")
    given = parser.parse_args()
    if given.steps < 2 + bool(given.trace):
        parser.error("--steps must be at least 2, and 3 with --trace: the first step is counted")
    found = watch(Meter(), given.trace)
    with tempfile.TemporaryDirectory() as folder:
        fixed = {"optimiser.steps": given.steps, "run.checkpoint_every": 0, "run.out": folder}
        overrides = dict(map(configs.parse_override, given.set))
        config = configs.load(given.config, overrides | fixed)
        run = RunFolder.create(folder, config)
        if given.by == "train":
            train(config, run)
        else:
            train_by({"swap": ParetoGRPOTrainer, "trl": GRPOTrainer}[given.by], config, run)
    parts, whole = ("generation", "TRL", "ours"), sum(found["spent"].values())
    print(f"{'counted in the first step':28}" + "".join(f"{part:>12}" for part in parts))
    for name in (TURNS, PASSES, WAITS, COPIES, CALLS, WRITTEN):
        print(f"{name:28}" + "".join(f"{found['first'].get((name, one), 0):12,}" for one in parts))
    shares = (f"{one} {100 * found['spent'].get(one, 0) / whole:.1f} %" for one in parts)
    written = found["counts"][WRITTEN, "TRL"] / found["seconds"]
    print(f"timed: {found['steps']} steps of {whole / found['steps']:.2f} s: ", end="")
    print(f"{', '.join(shares)}; {written:.0f} tokens/s")


if __name__ == "__main__":
    main()
