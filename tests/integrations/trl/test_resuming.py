"""n steps equal k steps, a checkpoint and n - k more: bit for bit, for configurations as text.

test_run.py kills a training and stops one; tests/paretopo/test_resuming.py is about sessions.
"""

import pytest

pytest.importorskip("trl")
pytest.importorskip("peft")

from support.interrupts import assert_same_result, train_until
from support.small_models import make_tokenizer, save_folder

from paretopo.config import loads
from paretopo.integrations.trl.train import train
from paretopo.records.folder import RunFolder

CONFIGURATIONS = {
    "adapters, a KL penalty and a limit": """
        task = { prompts = 8, facts = 4, kinds = [0.5, 0.5, 0.0] }
        warmup = { steps = 4, batch_size = 4, learning_rate = 1e-2 }
        paretopo = { stage1_steps = 0, group_filter = "off" }
        evaluation = { prompts = 2, temperature = 1.0 }
        objectives = [{ name = "correct" }, { name = "calls", limit = 0.4 }]
        run = { threads = 1 }
        [model]
        path = "MODEL"
        chat_template = "chatml-tools"
        dtype = "float32"
        lora = { rank = 4, alpha = 8 }
        [optimiser]
        steps = 3
        prompts_per_step = 2
        group_size = 2
        max_completion_tokens = 24
        kl = 0.1
        learning_rate = 1e-2
    """,
    "answers": """
        model = { layers = 1, width = 32, heads = 2 }
        task = { prompts = 12, facts = 4 }
        warmup.steps = 0
        evaluation = { every = 2, prompts = 4 }
        [optimiser]
        learn_from = "answers"
        steps = 3
        prompts_per_step = 12
        group_size = 2
        micro_batch = 8
        learning_rate = 1e-2
    """,
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(one, marks=[pytest.mark.long] * (one != "answers")) for one in CONFIGURATIONS],
)
def test_a_stopped_training_continues_bit_for_bit(tmp_path, monkeypatch, name):
    model = save_folder(tmp_path / "model", make_tokenizer())
    config = loads(CONFIGURATIONS[name].replace("MODEL", str(model)))
    whole, parted = (RunFolder.create(tmp_path / one, config) for one in ("whole", "parted"))
    train(config, whole)
    train_until(parted, 1, monkeypatch)
    assert 0 < len(parted.steps()) < 3
    train(config, parted, resume=True)
    assert_same_result(parted, whole)
    assert "multiplier" in str(whole.steps()[-1]) or name == "answers"
