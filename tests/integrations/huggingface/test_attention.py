"""Attention over shared heads against transformers' own."""

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.integrations import sdpa_attention

from paretopo.integrations.huggingface.attention import fold_attention_heads


def make_model(shared_heads, attention="sdpa"):
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=97,
        hidden_size=48,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=6,
        num_key_value_heads=shared_heads,
        pad_token_id=0,
        attn_implementation=attention,
    )
    return LlamaForCausalLM(config).eval()


def generate(model, prompts, new):
    longest = max(map(len, prompts))
    padded = torch.tensor([[0] * (longest - len(one)) + one for one in prompts])
    out = model.generate(
        input_ids=padded,
        attention_mask=(padded != 0).long(),
        max_new_tokens=new,
        do_sample=False,
        eos_token_id=None,
        return_dict_in_generate=True,
        output_logits=True,
    )
    return out.sequences, torch.stack(out.logits)


PROMPTS = {"padded": [[5, 6, 7, 8, 9, 10, 11], [12, 13]], "of one length": [[5, 6, 7], [8, 9, 10]]}


@pytest.mark.parametrize("shared_heads", [1, 2, 3, 6])
@pytest.mark.parametrize("prompts", PROMPTS)
def test_generation_is_that_of_transformers(shared_heads, prompts):
    tokens, logits = generate(make_model(shared_heads), PROMPTS[prompts], 12)
    model = make_model(shared_heads)
    fold_attention_heads(model)
    assert model.config._attn_implementation == "paretopo-folded"
    folded_tokens, folded_logits = generate(model, PROMPTS[prompts], 12)
    assert torch.equal(tokens, folded_tokens)
    torch.testing.assert_close(logits, folded_logits, rtol=1e-4, atol=1e-5)


def test_only_the_prompt_is_read_with_copied_keys(monkeypatch):
    lengths = []

    def note(states, times):
        lengths.append(states.shape[2])
        return torch.repeat_interleave(states, times, dim=1)

    monkeypatch.setattr(sdpa_attention, "repeat_kv", note)
    generate(make_model(2), PROMPTS["padded"], 4)
    assert set(lengths) == {7, 8, 9, 10}
    lengths.clear()
    model = make_model(2)
    fold_attention_heads(model)
    generate(model, PROMPTS["padded"], 4)
    assert set(lengths) == {7}


def test_other_attention_stays():
    model = make_model(2, "eager")
    fold_attention_heads(model)
    assert model.config._attn_implementation == "eager"
