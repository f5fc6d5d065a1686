"""Methods of the table, trained for a few steps on TRL."""

import math

import pytest

pytest.importorskip("trl")

from paretopo.config import with_method
from paretopo.integrations.trl.train import train
from paretopo.records.folder import RunFolder

SMALL = {
    "model": {"layers": 1, "width": 32, "heads": 2},
    "task": {"prompts": 8, "facts": 4},
    "warmup": {"steps": 30, "batch_size": 16, "learning_rate": 5e-3},
    "paretopo": {"stage1_steps": 1},
    "optimiser": {"steps": 3, "prompts_per_step": 2, "group_size": 4, "max_completion_tokens": 48},
    "evaluation": {"every": 3, "prompts": 4},
    "run": {"checkpoint_every": 0},
}


@pytest.mark.parametrize(
    ("name", "overrides"),
    [
        ("mo_grpo", {"paretopo.gate": "success"}),
        ("hypervolume", {}),
        ("recommended+without_stage_2", {}),
        ("laser_d", {}),  # learns targets
        ("r1_base", {}),  # calls nothing
        *(
            pytest.param(name, {}, marks=pytest.mark.long)
            for name in (
                *("otc_grpo", "arora_zanette", "kimi", "gr3", "prime_rl"),
                *("worth", "dynamic_hv"),
            )
        ),
    ],
)
def test_a_method_trains(name, overrides, tmp_path, warmups):
    config = with_method(SMALL, name, {"warmup.shared": warmups, **overrides})
    run = RunFolder.create(tmp_path, config, method=name)
    train(config, run)
    steps = run.steps()
    assert [row["step"] for row in steps] == [1, 2, 3]
    assert all(math.isfinite(row["loss"]) for row in steps)
    first_stage = 3 if config.paretopo.stage1_steps == "all" else config.paretopo.stage1_steps
    assert [row["stage"] for row in steps] == [1] * first_stage + [2] * (3 - first_stage)
    if name == "r1_base":
        assert all(row["measured"]["calls"] == 0 for row in [*steps, *run.evaluations()])
