"""Rollouts of the tasks' agents in verl's own base class, on an engine of paper."""

import asyncio
import importlib.util
import json
import warnings
from types import SimpleNamespace

import pytest

if importlib.util.find_spec("verl") is None:
    pytest.skip("verl is not installed", allow_module_level=True)

with warnings.catch_warnings():  # of engines that are not installed
    warnings.simplefilter("ignore")
    from omegaconf import OmegaConf
    from verl.workers.rollout.replica import TokenOutput

    from paretopo.integrations.verl import agent_loop
    from paretopo.integrations.verl.agent_loop import TaskAgentLoop

from paretopo.config import ConfigError, loads
from paretopo.integrations.agents.agent import ToolAgent, Turn
from paretopo.records.folder import RunFolder
from paretopo.rollout import BadRollout

END = 0
QUESTION = {
    "extra_info": {"id": "q7", "text": "1 + 2 ?", "columns": {}},
    "reward_model": {"ground_truth": "3"},
    "data_source": "sums",
    "raw_prompt": [{"role": "user", "content": "1 + 2 ?"}],
}


class Words:
    """A tokenizer whose tokens are words; the end is one, and so is every call of a tool."""

    eos_token, eos_token_id = "<end>", END

    def __init__(self):
        self._words = [self.eos_token]

    def __call__(self, text, add_special_tokens):
        for word in text.split(" "):
            if word and word not in self._words:
                self._words.append(word)
        return {"input_ids": [self._words.index(word) for word in text.split(" ") if word]}

    def decode(self, tokens, skip_special_tokens=False):
        words = [self._words[token] for token in tokens]
        if skip_special_tokens:
            words = [word for word in words if word != self.eos_token]
        return " ".join(words).replace(" <end>", "<end>")

    def apply_chat_template(self, messages, **_):
        return "".join(f"<{one['role']}> {one['content']} <end>" for one in messages)


@pytest.fixture
def play(tmp_path):
    """Return ``f(text, *turns)``, which gives a rollout's output and the engine's requests."""

    def make(text, *turns, length=40, chances=True):
        run = RunFolder.create(tmp_path / "runs", loads('backend = "verl"\n' + text))
        asked = []
        tokenizer = Words()

        async def generate(request_id, prompt_ids, sampling_params):
            asked.append((tokenizer.decode(prompt_ids), dict(sampling_params)))
            tokens = tokenizer(turns[len(asked) - 1], add_special_tokens=False)["input_ids"]
            tokens = tokens[: sampling_params["max_tokens"]]
            log_probs = [-1.0] * len(tokens) if chances else None
            versions = {"global_steps": len(asked), "min_global_steps": len(asked)}
            return TokenOutput(token_ids=tokens, log_probs=log_probs, extra_fields=versions)

        loop = TaskAgentLoop.__new__(TaskAgentLoop)
        loop.config = OmegaConf.create({"paretopo": {"run": str(run.path)}})
        loop.rollout_config = SimpleNamespace(response_length=length, prompt_length=40)
        loop.tokenizer = tokenizer
        loop.server_manager = SimpleNamespace(generate=generate)
        output = asyncio.run(loop.run({"temperature": 1.0}, **QUESTION))
        return output, asked, tokenizer

    return make


def call(expression):
    arguments = {"name": "calculator", "arguments": {"expression": expression}}
    return f"<call>{json.dumps(arguments)}</call>".replace(" ", "")


def test_mask_separates_turns_from_results(play):
    output, asked, tokenizer = play("", f"{call('1+2')} <end>", "3 <end>")
    own = [
        token for token, mine in zip(output.response_ids, output.response_mask, strict=True) if mine
    ]
    heard = [
        token
        for token, mine in zip(output.response_ids, output.response_mask, strict=True)
        if not mine
    ]
    assert tokenizer.decode(own) == f"{call('1+2')}<end> 3<end>"
    assert tokenizer.decode(heard) == "<tool> 3<end>"
    assert tokenizer.decode(output.prompt_ids) == "1 + 2 ?"
    assert asked[1][0] == tokenizer.decode(output.prompt_ids + output.response_ids[:-2])
    assert len(output.response_logprobs) == len(output.response_ids)
    measured = output.extra_fields["reward_extra_info"]
    assert (measured["correct"], measured["calls"], measured["turns"]) == (1.0, 1, 2)
    assert measured["seconds"] > 0
    assert output.reward_score == measured["score"] == 1.0
    assert output.num_turns == 4
    assert output.extra_fields["truncated"] is False
    # From the weights that it began with to those it ended with.
    assert output.extra_fields["min_global_steps"] == 1
    assert output.extra_fields["global_steps"] == 2


def test_truncated_response_solves_nothing(play):
    output, asked, _ = play("", f"{call('1+2')} <end>", "3 <end>", length=4)
    assert len(asked) == 1  # the result would leave no room for an answer
    assert len(output.response_ids) == 2
    assert output.extra_fields["truncated"] is True
    assert output.extra_fields["reward_extra_info"]["correct"] == 0.0
    output, _, _ = play("", "1 2 3 4 5", length=3)
    assert (len(output.response_ids), output.extra_fields["truncated"]) == (3, True)


def test_an_engine_that_tells_no_probabilities_leaves_none(play):
    output, _, _ = play("", f"{call('1+2')} <end>", "3 <end>", chances=False)
    assert output.response_logprobs is None


def test_turns_end_where_the_agent_wants_them_to(play, monkeypatch):
    class Lookup(ToolAgent):
        stop, turn_tokens = ("</lookup>",), 3

        async def turn(self, text):
            return Turn(done=True, reward_components={"correct": float(text == "a b c")})

    monkeypatch.setattr(agent_loop, "make_agent", Lookup)
    output, [(_, params)], _ = play("", "a b c d")
    assert params == {
        "temperature": 1.0,
        "max_tokens": 3,
        "stop": ["</lookup>"],
        "include_stop_str_in_output": True,
    }
    assert output.reward_score == 1.0


def test_own_rewards_see_the_response(play, tmp_path):
    own = tmp_path / "own.py"
    own.write_text(
        "def words(prompts, completions, id, answer, **_):\n"
        "    assert (prompts, id, answer) == (['1 + 2 ?'], ['q7'], ['3'])\n"
        "    return [float(len(one.split())) for one in completions]\n",
        encoding="utf-8",
    )
    text = f'[paretopo]\nstage2_estimator = "gd2po"\n[rewards]\nfile = "{own}"\n' + "".join(
        f'[[objectives]]\nname = "{name}"\n' for name in ("correct", "calls", "words")
    )
    output, _, _ = play(text, f"{call('1+2')} <end>", "it is 3 <end>")
    assert output.extra_fields["reward_extra_info"]["words"] == 4.0  # without the result


def test_an_agent_that_hangs_is_named(play, monkeypatch):
    import threading

    freed = threading.Event()

    class Stuck(ToolAgent):
        async def turn(self, text):
            freed.wait()
            return Turn(done=True)

    monkeypatch.setattr(agent_loop, "make_agent", Stuck)
    try:
        with pytest.raises(BadRollout, match=r"hung on prompt 'q7'.*verl.turn_timeout = 0.2"):
            play("[verl]\nturn_timeout = 0.2\n", "a <end>")
    finally:
        freed.set()


def test_task_loop_is_refused_in_own_jobs():
    loop = TaskAgentLoop.__new__(TaskAgentLoop)
    loop.config = OmegaConf.create({"paretopo": {"config": "o.toml"}})
    with pytest.raises(ConfigError, match=r"paretopo_task belongs to runs of paretopo train"):
        asyncio.run(loop.run({}, **QUESTION))
