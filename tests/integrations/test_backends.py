"""The declared limits of each back end are refused and documented."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from paretopo.config import ConfigError, RunConfig, loads
from paretopo.config.backend import Limit, check_backend, find_backend

PAGE = Path(__file__).parents[2] / "docs" / "trainers.md"
BACKENDS = get_args(get_type_hints(RunConfig)["backend"])
LIMITS = [(name, limit) for name in BACKENDS for limit in find_backend(name).limits]

# Key -> a file with a setting that only TRL supports.
REFUSED = {
    "optimiser.learn_from": 'optimiser.learn_from = "answers"',
    "optimiser.decision_entropy": "optimiser.decision_entropy = 0.1",
    "model.dtype": 'model.dtype = "float32"',
    "trl.generation": 'task.name = "math"\ntrl.generation = "--use_vllm true"',
    "openrlhf.zero_stage": "model.lora.rank = 8\nopenrlhf.zero_stage = 3",
    "task.prompts": "task.train = { name = 'made up', prompts = 8 }",
    "tool.search_url": 'task.name = "multihop"\nopenrlhf = { nodes = 2, engines = 16 }',
}
OWN_PROMPTS = 'paretopo = {{ preference = "given", stage1_steps = 0 }}\n{}.prompts = "mine"'


def ask(name: str, limit: Limit) -> RunConfig:
    given = "paretopo.preference"
    text = OWN_PROMPTS.format(name) if limit.key == given else REFUSED[limit.key]
    return loads(f'backend = "{name}"\n{text}')


@pytest.mark.parametrize(
    ("name", "limit"), LIMITS, ids=lambda one: getattr(one, "key", None) or str(one)
)
def test_limit_is_refused_with_its_reason(name, limit):
    config = ask(name, limit)
    with pytest.raises(ConfigError) as refused:
        check_backend(config)
    message = str(refused.value)
    assert message.startswith(f"{limit.key} = ")
    assert message.endswith(f'is not for backend = "{name}": {limit.why}')


@pytest.mark.parametrize("name", BACKENDS)
def test_defaults_run_on_every_back_end(name):
    check_backend(loads(f'backend = "{name}"'))


def test_a_search_server_of_its_own_serves_several_machines():
    text = f'backend = "openrlhf"\n{REFUSED["tool.search_url"]}\n'
    check_backend(loads(text + 'tool.search_url = "http://10.0.0.1:8000"'))
    check_backend(loads(text.replace("multihop", "math")))


def test_the_documentation_lists_every_limit():
    rows = ["| trainer | key | supported values | reason |", "|---|---|---|---|"]
    trainers = {}
    for name, limit in LIMITS:
        takes = " or ".join(f"`{json.dumps(one)}`" for one in limit.takes) or "see the reason"
        trainers.setdefault(f"`{limit.key}` | {takes} | {limit.why}", []).append(name)
    rows += [f"| {', '.join(names)} | {row} |" for row, names in trainers.items()]
    table = "\n".join(rows)
    assert table in PAGE.read_text(encoding="utf-8"), table
