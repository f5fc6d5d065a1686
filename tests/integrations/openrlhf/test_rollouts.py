"""Prompts and rollouts of the OpenRLHF adapter; neither OpenRLHF nor Ray is needed."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from paretopo.config import ConfigError, loads
from paretopo.integrations.openrlhf.prepare import _check_disjoint, _rows, check_code, check_step
from paretopo.integrations.openrlhf.rollouts import (
    check_response,
    components_of,
    drop_numbers,
    prompt_id,
    put_components,
    put_rewards,
    read_rollouts,
    with_text,
)
from paretopo.rollout import BadRollout, Rollout, Segment

# ---- prompts of a file ---------------------------------------------------------------------------


def rows_of(tmp_path, text, suffix=".jsonl"):
    source = tmp_path / f"prompts{suffix}"
    source.write_text(text, encoding="utf-8")
    tokenizer = SimpleNamespace(
        chat_template="", apply_chat_template=lambda messages, **_: f"<{messages[-1]['content']}>"
    )
    return _rows(loads(""), tokenizer, "prompts", str(source), None, [])


def test_number_of_held_out_prompts_follows_the_file(tmp_path):
    source = tmp_path / "held_out.jsonl"
    source.write_text(
        "".join(f'{{"prompt": "{i}", "label": "{i}"}}\n' for i in range(64)), encoding="utf-8"
    )
    text, tokenizer = "[evaluation]\nprompts = 8", SimpleNamespace(chat_template=None)
    drawn = [
        _rows(loads(text, {"seed": seed}), tokenizer, "held_out", str(source), None, [])
        for seed in (1, 1, 2)
    ]
    assert [len(rows) for rows in drawn] == [8, 8, 8]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(_rows(loads(text), tokenizer, "prompts", str(source), None, [])) == 64


def test_prompts_that_are_trained_on_are_not_held_out(tmp_path):
    paths = [tmp_path / "prompts.jsonl", tmp_path / "held_out.jsonl"]
    for path, prompts in zip(paths, (["a", "b"], ["b", "c"]), strict=True):
        path.write_text("".join(f'{{"prompt": "{one}"}}\n' for one in prompts), encoding="utf-8")
    own = loads("[openrlhf]\nprompts = 'p.jsonl'\nheld_out = 'h.jsonl'").openrlhf
    with pytest.raises(ConfigError, match=r"held_out: 1 of its prompts are trained on in p.jsonl"):
        _check_disjoint(*paths, own)
    _check_disjoint(*paths, loads("").openrlhf)  # a task sees to its own
    paths[1].write_text('{"prompt": "c"}\n', encoding="utf-8")
    _check_disjoint(*paths, own)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("class AgentExecutor(:", "agent.py fails: SyntaxError"),
        ("import no_such_thing", "agent.py fails: ModuleNotFoundError: No module named"),
        ("class Executor: pass", "agent.py defines no AgentExecutor"),
        ("AgentExecutor = None", "agent.py defines no AgentExecutor"),
    ],
)
def test_a_broken_agent_is_refused_before_anything_starts(tmp_path, text, complaint):
    path = tmp_path / "agent.py"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=complaint):
        check_code("openrlhf.agent", path, "AgentExecutor")
    path.write_text("class AgentExecutor: pass", encoding="utf-8")
    check_code("openrlhf.agent", path, "AgentExecutor")


@pytest.mark.parametrize(
    ("prompts", "settings", "complaint"),
    [
        (64, "[optimiser]\nprompts_per_step = 80", r"number of training prompts, 64, got 80"),
        (0, "", "there is no file"),
    ],
)
def test_a_step_that_is_too_large_passes_no_rehearsal(tmp_path, prompts, settings, complaint):
    source = tmp_path / "prompts.jsonl"
    if prompts:
        source.write_text('{"prompt": "a", "label": "b"}\n' * prompts, encoding="utf-8")
    text = f"backend = 'openrlhf'\n[openrlhf]\nprompts = '{source}'\n"
    with pytest.raises(ConfigError, match=complaint):
        check_step(loads(text + settings))
    if prompts:
        check_step(loads(text))
    check_step(loads("backend = 'openrlhf'"))  # made-up questions


def test_prompts_of_a_file_pass_through_the_template(tmp_path):
    text = '{"prompt": "a", "label": {"id": 1}}\n{"prompt": [{"content": "b"}], "label": "2"}\n'
    assert rows_of(tmp_path, text) == [
        {"prompt": "<a>", "label": '{"id": 1}', "datasource": "default"},
        {"prompt": "<b>", "label": "2", "datasource": "default"},
    ]


@pytest.mark.parametrize(
    ("text", "suffix", "complaint"),
    [
        ('{"prompt": "a"}', ".jsonl", r"row 1 .* keys prompt and label, got \['prompt'\]"),
        ("[1]", ".jsonl", "got list"),
        ('{"prompt": "a", "label": 1}\n{', ".jsonl", "line 2: no JSON"),
        ("", ".jsonl", "holds no prompts"),
        ("x", ".csv", r"must be a \.jsonl or \.parquet file"),
    ],
)
def test_wrong_rows_are_refused_with_their_place(tmp_path, text, suffix, complaint):
    with pytest.raises(ConfigError, match=complaint):
        rows_of(tmp_path, text, suffix)


# ---- rollouts ------------------------------------------------------------------------------------


def test_prompts_are_called_by_their_label_or_a_digest():
    assert prompt_id("text", '{"id": 7}') == "7"
    assert prompt_id("text", "42") == prompt_id("text", "43") != prompt_id("other", "42")


@pytest.mark.parametrize(
    ("logs", "complaint"),
    [
        ({"calls": 1}, r"'q' has no 'reward_components' .* got None and keys \['calls'\]"),
        ({"reward_components": 1.0}, "'q' has no 'reward_components' .* got 1.0"),
        ({"reward_components": {"correct": float("nan")}}, "'q' has 'correct' = nan"),
        ({"reward_components": {"correct": "yes"}}, "'q' has 'correct' = 'yes'"),
        ({"reward_components": {"calls": float("inf")}}, "'q' has 'calls' = inf"),
        ({"reward_components": {3: 1.0}}, "'q' has 3 = '1.0'"),
    ],
)
def test_bad_logs_name_prompt_and_key(logs, complaint):
    with pytest.raises(BadRollout, match=complaint):
        components_of("text", '{"id": "q"}', logs)


@pytest.mark.parametrize("response", [None, "it is 42", {"prompt": "a", "reward": 1.0}])
def test_wrong_return_of_an_executor_is_explained(response):
    with pytest.raises(BadRollout, match=r"execute\(\) must return .* observation_tokens.* got "):
        check_response(response)


def test_components_travel_in_an_experience():
    torch = pytest.importorskip("torch")
    given = {"correct": 1.0, "polite": None, "seconds": 0.1}
    experience = SimpleNamespace(
        prompts=["why?"],
        labels=['{"id": "q"}'],
        action_mask=torch.ones(1, 3),
        truncated=torch.tensor([False]),
        info={},
    )
    objectives = ("correct", "polite", "kind")
    components = components_of("why?", '{"id": "q"}', {"reward_components": given})
    put_components(experience, components, objectives)
    said = {"solved": True, "rewards": (1.0, 1 / 3), "gated": (1.0, 0.0), "informative": True}
    put_rewards(experience, Rollout("q", given, **said))
    [rollout] = read_rollouts(experience)
    assert rollout == Rollout("q", given, tokens=3, **said)
    # OpenRLHF logs the mean of its info: one that does not apply would make that infinite.
    experience.info["response_length"] = torch.tensor([3.0])
    drop_numbers(experience)
    assert list(experience.info) == ["response_length"]
    with pytest.raises(BadRollout, match=r"'q' has 'polit' = 1.0 .* did you mean 'polite'"):
        put_components(experience, {"polit": 1.0}, objectives)


def test_samples_become_text():
    torch = pytest.importorskip("torch")
    # <prompt>, a call, its answer, the rest; the second row is shorter and padded on its right.
    texts = ["why?", "<call>{}</call>", "<tool>1</tool>", "so 42<end>"]
    pieces = dict(enumerate(["<pad>", *texts]))
    tokenizer = SimpleNamespace(
        decode=lambda tokens: "".join(pieces[token] for token in tokens), eos_token="<end>"
    )
    experience = SimpleNamespace(
        prompts=["why?", "why?"],
        labels=['{"id": "q", "answer": [4, 2]}', "42"],
        sequences=torch.tensor([[1, 2, 3, 4], [1, 4, 0, 0]]),
        attention_mask=torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]]),
        action_mask=torch.tensor([[1, 0, 1], [1, 0, 0]]),
        truncated=torch.tensor([False, True]),
    )
    rollout = Rollout("q", {"correct": 1.0})
    whole, short = (with_text(rollout, experience, row, tokenizer) for row in (0, 1))
    segments = (
        Segment("call", "<call>{}</call>"),
        Segment("tool", "<tool>1</tool>"),
        Segment("model", "so 42"),
    )
    assert whole == replace(rollout, prompt="why?", answer="4 | 2", segments=segments)
    assert short == replace(rollout, prompt="why?", answer="42", segments=segments[2:])
