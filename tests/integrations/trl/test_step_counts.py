"""A step of ours adds one wait for the device and one copy to it, whatever its rollouts."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl")

from datasets import Dataset
from support.tiny_trainers import grpo_arguments, tiny_policy
from trl import GRPOTrainer

from paretopo.integrations.trl import ParetoGRPOTrainer

SCRIPT = Path(__file__).parents[3] / "scripts" / "measure_step.py"


@pytest.fixture(scope="module")
def measured():
    spec = importlib.util.spec_from_file_location("measure_step", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def count(measured, trainer_class, folder, points):
    """Passes, waits and copies of one step with two groups of so many rollouts."""

    def correct(completion_ids, **_):
        return [float(sum(tokens) % 2) for tokens in completion_ids]

    sizes = {"per_device_train_batch_size": 2 * points, "num_generations": points}
    trainer = trainer_class(
        args=grpo_arguments(folder, max_steps=1, max_completion_length=5, **sizes),
        reward_funcs=[correct],
        train_dataset=Dataset.from_list([{"prompt": f"{number}+1="} for number in range(6)]),
        **tiny_policy("a b"),
    )
    with measured.emulate_device(trainer.args), measured.Meter() as meter:
        trainer.train()
    names = (measured.WAITS, measured.COPIES)
    return [sum(n for key, n in meter.counts.items() if key[0] == name) for name in names]


@pytest.mark.filterwarnings("ignore:there is no eval_dataset")
@pytest.mark.parametrize("points", [2, pytest.param(8, marks=pytest.mark.long)])
def test_a_step_of_ours_reads_once_and_writes_once(measured, tmp_path, points):
    waits, copies = count(measured, GRPOTrainer, tmp_path / "trl", points)
    ours = count(measured, ParetoGRPOTrainer, tmp_path / "ours", points)
    assert ours == [waits + 1, copies + 1]
    assert min(waits, copies) > 9  # TRL's own


def test_the_place_of_a_tensor_follows_its_source(measured):
    given = torch.arange(4)  # from outside: on the device
    with measured.Meter() as meter:
        made = torch.tensor([1, 2])
        rows = [row.tolist() for row in given.cpu()]  # one wait; the rows are on the host
        assert (given > 1).any()  # a second wait
        moved = made.to(given.device)
        assert moved.sum().item() == 3  # a third one
        assert given[given > 1].to(torch.float32).shape == (2,)  # a fourth one, for its size
        assert made.to("cpu").tolist() == [1, 2]
    assert rows == [0, 1, 2, 3]
    assert meter.counts[measured.WAITS, "TRL"] == 4
    assert meter.counts[measured.COPIES, "TRL"] == 1
