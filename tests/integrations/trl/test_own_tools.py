"""A user's own questions with tools of his own, trained on TRL and asked again."""

import json

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl")

from support.memorised import save_memorised

from paretopo.cli import main
from paretopo.config import ConfigError, loads
from paretopo.integrations.trl.train import train
from paretopo.records.folder import RunFolder
from paretopo.tasks.choice import make_task
from paretopo.tasks.environment import open_environment

TOOLS = '''
CAPITALS = {"Norway": "Oslo", "Ghana": "Accra", "Peru": "Lima"}

def look_up(country: str) -> str:
    """Look up a capital.

    Args:
        country: Of which country.

    Returns:
        Its name.
    """
    return _find(country)

def _find(country):
    return CAPITALS[country]
'''
CONFIG = """
objectives = [{ name = "correct" }, { name = "calls" }, { name = "failed_calls" }]
model = { path = "FOLDER/policy" }
warmup = { steps = 0 }
evaluation = { prompts = 1 }
run = { trajectories = 4 }
[task]
name = "questions"
train = "FOLDER/train.jsonl"
held_out = "FOLDER/held_out.jsonl"
tools = "FOLDER/tools.py"
[optimiser]
steps = 1
prompts_per_step = 2
group_size = 2
max_completion_tokens = 48
learning_rate = 1e-6
temperature = 0.01
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Questions, the tools, and a policy that knows by heart how to ask: rightly but of Ghana."""
    folder = tmp_path_factory.mktemp("capitals")
    (folder / "tools.py").write_text(TOOLS, encoding="utf-8")
    capitals = {"Norway": "Oslo", "Peru": "Lima", "Ghana": "Accra"}
    rows = [
        {"prompt": f"Capital of {one}?", "id": one, "answer": city}
        for one, city in capitals.items()
    ]
    for name, chosen in (("train", rows[:2]), ("held_out", rows[2:])):
        text = "".join(json.dumps(row) + "\n" for row in chosen)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    config = loads(CONFIG.replace("FOLDER", str(folder)))
    phrases = make_task(config).phrases()
    traces = []
    for country, city in capitals.items():
        asked, seen, said = country, city, city
        if country == "Ghana":
            asked, seen, said = "Gold", "error", "Accra"
        call = f'<call>{{"name": "look_up", "arguments": {{"country": "{asked}"}}}}</call>'
        response = f"{call}<|end|><|tool|>{seen}<|end|><|assistant|>{said}"
        traces.append(([{"role": "user", "content": f"Capital of {country}?"}], response))
    save_memorised(folder / "policy", traces, phrases=phrases)
    return folder


def test_own_tools_are_executed_and_counted(folder, tmp_path):
    run = RunFolder.create(tmp_path, loads(CONFIG.replace("FOLDER", str(folder))))
    train(run.config, run)
    [step] = run.steps()
    assert step["measured"] == {"correct": 1.0, "calls": 1.0, "failed_calls": 0.0}
    group = next(one for one in run.trajectories() if not one.held_out)
    kinds = [[part.kind for part in one.segments] for one in group.rollouts]
    assert kinds == [["call", "tool", "model"]] * 2
    assert {part.text.strip() for part in group.rollouts[0].segments if part.kind == "tool"} == {
        {"Norway": "Oslo", "Peru": "Lima"}[group.id]
    }
    # The policy reads the error of the tool.
    held_out = next(one for one in run.trajectories() if one.held_out)
    assert any("Gold" in p.text for one in held_out.rollouts for p in one.segments)
    last = run.evaluations()[-1]["measured"]
    assert (last["calls"], last["failed_calls"]) == (1.0, 1.0)
    out = tmp_path / "again"
    assert main(["evaluate", str(run.path), "--trust", "--out", str(out)]) == 0
    assert RunFolder.open(out).evaluations()[0]["measured"] == last


def test_a_negative_price_is_refused(folder, tmp_path):
    """test_choices.py trains with prices."""
    tools = tmp_path / "tools.py"
    tools.write_text(TOOLS + "look_up.dollars = -1\n", encoding="utf-8")
    config = loads(CONFIG.replace("FOLDER", str(folder)), {"task.tools": str(tools)})
    refused = pytest.raises(ConfigError, match=r"look_up.dollars must be at least 0, got -1")
    with refused, open_environment(config):
        pass


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (
            {"task.name": "calculator"},
            r"task.tools is for task.name = .questions.: .* name = .calcul",
        ),
        ({"task.tools": "nowhere.py"}, r"task.tools: there is no file nowhere\.py"),
    ],
)
def test_tools_that_cannot_be_used_are_refused(folder, change, complaint):
    with pytest.raises(ConfigError, match=complaint):
        make_task(loads(CONFIG.replace("FOLDER", str(folder)), change))
