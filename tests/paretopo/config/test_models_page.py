"""docs/models.md matches the code."""

from __future__ import annotations

import json
import re
from pathlib import Path

from paretopo.config import loads
from paretopo.config.run import LEARNING_RATES
from paretopo.integrations.huggingface.chat_templates import bundled_templates, read_chat_template

TEXT = (Path(__file__).parents[3] / "docs" / "models.md").read_text(encoding="utf-8")


def test_its_configuration_is_valid():
    (table,) = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    assert loads(table).model.lora.rank == 16


def test_its_response_template_is_the_bundled_one():
    (shown,) = re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL)
    assert json.loads(shown) == read_chat_template("chatml-tools")[1]
    assert all(f'| `"{name}"` |' in TEXT for name in bundled_templates())


def test_its_learning_rates_are_those_that_are_filled():
    kinds = {"made": '`"tiny"`', "loaded": "loaded", "adapters": "loaded, with LoRA"}
    for kind, shown in kinds.items():
        rates = LEARNING_RATES[kind]
        cells = [f"{rates[name]:.0e}".replace("e-0", "e-") for name in ("warmup", "optimiser")]
        assert f"| {shown} | {cells[0]} | {cells[1]} |" in TEXT
