"""Turns with a cache equal turns that read the whole text again."""

import functools
import random

import pytest

torch = pytest.importorskip("torch")

from transformers import (
    GenerationConfig,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from paretopo.integrations.huggingface import turns as module
from paretopo.integrations.huggingface.turns import Turns, can_keep

VOCABULARY, PADDING, ENDS = 40, 0, [1, *range(6, 40, 3)]  # so many that turns are short
SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
}


def make_model(name):
    torch.manual_seed(0)
    if name == "gpt2":  # learnt positions: each token must get its own
        sizes = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 256}
        tokens = {"vocab_size": VOCABULARY, "bos_token_id": 2, "eos_token_id": 1}
        model = GPT2LMHeadModel(GPT2Config(**tokens, **sizes))
    else:
        kind, config = {
            "llama": (LlamaForCausalLM, LlamaConfig),
            "qwen3": (Qwen3ForCausalLM, Qwen3Config),
        }[name]
        model = kind(config(**SIZES, head_dim=8))
    with torch.no_grad():  # so that likeliest tokens are clear
        for weight in model.parameters():
            weight.mul_(10.0 if weight.dim() > 1 else 1.0)
    return model.eval()


def settings(most):
    return GenerationConfig(
        do_sample=False, pad_token_id=PADDING, eos_token_id=ENDS, max_new_tokens=most
    )


def write_uncached(model, tokens, most):
    """Generate with the model one rollout at a time, without our cache."""
    whole = model.generate(
        input_ids=torch.tensor([tokens]),
        attention_mask=torch.ones((1, len(tokens)), dtype=torch.long),
        generation_config=settings(most),
    )
    row = whole[0, len(tokens) :].tolist()
    last = next((at for at, token in enumerate(row) if token in ENDS), len(row) - 1)
    return row[: last + 1]


class Rollouts:
    """Turns of rollouts that have this many tokens for their whole response."""

    def __init__(self, most=60):
        self.turns = Turns(padding=PADDING, ends=ENDS, settings=settings(most))
        self.most = most

    def generate(self, model, given, prompts):
        room = [self.most - len(one) + len(p) for one, p in zip(given, prompts, strict=True)]
        return self.turns.generate(model, given, room=room)


@pytest.mark.parametrize("name", ["llama", "qwen3", "gpt2"])
@pytest.mark.parametrize("group", [1, 3])
def test_turns_are_those_of_each_rollout_by_itself(name, group):
    model, draw = make_model(name), random.Random(3)
    prompts = [
        [draw.randrange(2, VOCABULARY) for _ in range(length)]
        for length in (3, 11, 1, 7, 5, 6, 2, 9)
        for _ in range(group)
    ]
    if group > 1:
        prompts = [prompts[at // group * group] for at in range(len(prompts))]
    turns, rollouts, lengths = Rollouts(), list(prompts), set()
    with torch.no_grad():
        for turn in range(3):
            pairs = zip(rollouts, prompts, strict=True)
            expected = [
                write_uncached(model, one, 60 - (len(one) - len(prompt))) for one, prompt in pairs
            ]
            assert turns.generate(model, rollouts, prompts) == expected, turn
            lengths |= set(map(len, expected))
            # A tool answers some of them, at different lengths.
            chosen = [
                at
                for at, (one, prompt) in enumerate(zip(rollouts, prompts, strict=True))
                if (turn == 0 or at % 4) and len(one) + len(expected[at]) - len(prompt) < 50
            ]
            assert chosen
            answers = [[draw.randrange(2, VOCABULARY)] * (1 + at % 4) for at in chosen]
            grown = [
                rollouts[at] + expected[at] + answer
                for at, answer in zip(chosen, answers, strict=True)
            ]
            prompts = [prompts[at] for at in chosen]
            rollouts = grown
    assert len(lengths) > 2


def test_each_token_is_read_once(monkeypatch):
    model = make_model("llama")
    read, forward = [], model.forward

    @functools.wraps(forward)  # generation inspects the signature
    def count(*args, **kwargs):
        read.append(tuple(kwargs["input_ids"].shape))
        return forward(*args, **kwargs)

    monkeypatch.setattr(model, "forward", count)
    turns, prompt = Rollouts(), [5, 6, 7, 8, 9]
    first = turns.generate(model, [prompt] * 4, [prompt] * 4)
    assert read[0] == (1, 4)
    assert set(read[1:]) == {(4, 1)}
    read.clear()
    grown = [prompt + one + [11, 12, 13] for one in first][:2]
    turns.generate(model, grown, [prompt] * 2)
    rows, new = read[0]
    assert rows == 2
    assert new <= 4  # the answer of a tool, and the last token of the turn before
    assert set(read[1:]) <= {(2, 1)}


def test_rows_that_have_ended_leave_the_batch(monkeypatch):
    model = make_model("gpt2")
    monkeypatch.setattr(module, "_AT_ONCE", 2)
    draw = random.Random(3)
    prompts = [[draw.randrange(2, VOCABULARY) for _ in range(length)] for length in (3, 11, 7, 5)]
    expected = [write_uncached(model, one, 60) for one in prompts]
    assert len({len(one) // 2 for one in expected}) > 1
    rows, forward = [], model.forward

    @functools.wraps(forward)  # generation inspects the signature
    def count(*args, **kwargs):
        rows.append(len(kwargs["input_ids"]))
        return forward(*args, **kwargs)

    monkeypatch.setattr(model, "forward", count)
    turns = Rollouts()
    assert turns.generate(model, prompts, prompts) == expected
    assert rows[0] == 4
    assert rows == sorted(rows, reverse=True)
    assert rows[-1] < 4
    monkeypatch.setattr(model, "forward", forward)
    grown = [prompt + one + [11, 12] for prompt, one in zip(prompts, expected, strict=True)][::-1]
    left = max(60 - len(one) - 2 for one in expected)
    assert turns.generate(model, grown, prompts[::-1]) == [
        write_uncached(model, one, left) for one in grown
    ]


def test_a_turn_gets_no_more_than_its_room():
    model, prompts = make_model("llama"), [[token, 6, 7] for token in range(2, VOCABULARY)]
    written = zip(prompts, Rollouts().generate(model, prompts, prompts), strict=True)
    prompt, whole = next((one, text) for one, text in written if len(text) > 3)
    turns = Rollouts().turns
    assert turns.generate(model, [prompt], room=[len(whole) - 1]) == [whole[:-1]]
    assert len(turns.generate(model, [prompt + whole[:-1] + [9, 9]], room=[1])[0]) == 1


def test_models_with_a_window_keep_no_turns():
    sizes = {**SIZES, "sliding_window": 8}
    assert not can_keep(MistralForCausalLM(MistralConfig(**sizes)))
    assert can_keep(make_model("llama"))
