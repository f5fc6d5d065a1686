"""Prompts that are read once give the sums and gradients of rows that are read whole."""

import random

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl")

from trl.trainer.utils import add_fused_lm_head

from paretopo.integrations.trl.batches import count_tokens, sort_rows, trim
from paretopo.integrations.trl.shared_prompts import can_share, compute_log_probs, find_shares
from paretopo.integrations.trl.shared_prompts import count_tokens as count_shared

from .test_turns import VOCABULARY, make_model

SYSTEM = [7, 8, 9, 10]
PROMPTS = {
    "a group": [[*SYSTEM, 11, 12]] * 4,
    "two groups": [[*SYSTEM, 11, 12]] * 2 + [[*SYSTEM, 13, 14, 15, 16]] * 2,
    "nothing shared": [[5, 6, 7], [6, 7], [8, 5, 6, 7, 8]],
    "one begins another": [SYSTEM, SYSTEM[:3], SYSTEM],
    "single tokens": [[5], [5], [6]],
    "only the last token differs": [[*SYSTEM, 11], [*SYSTEM, 12]],
}


def make_rows(prompts):
    draw = random.Random(5)
    wide, width = max(map(len, prompts)), 6
    batch = {name: [] for name in ("prompt_ids", "prompt_mask", "completion_ids")}
    batch["completion_mask"] = []
    for at, prompt in enumerate(prompts):
        own = [draw.randrange(2, VOCABULARY) for _ in range(1 + (2 * at) % width)]
        pads, ends = wide - len(prompt), width - len(own)
        batch["prompt_ids"].append([0] * pads + prompt)
        batch["prompt_mask"].append([0] * pads + [1] * len(prompt))
        batch["completion_ids"].append(own + [0] * ends)
        batch["completion_mask"].append([1] * len(own) + [0] * ends)
    return {name: torch.tensor(rows) for name, rows in batch.items()}


def log_probs_of_each(model, batch):
    """One row at a time, without padding."""
    found = torch.zeros(batch["completion_ids"].shape)
    for row, (prompt, asked, answer, own) in enumerate(zip(*batch.values(), strict=True)):
        tokens = torch.cat([prompt[asked.bool()], answer[own.bool()]])
        logits = model(input_ids=tokens[None]).logits[0, :-1].log_softmax(-1)
        chosen = logits.gather(1, tokens[1:, None])[:, 0][-int(own.sum()) :]
        found = found.index_put((torch.tensor(row), torch.arange(len(chosen))), chosen)
    return found


@pytest.mark.parametrize("name", ["llama", "qwen3", "gpt2"])
@pytest.mark.parametrize("prompts", PROMPTS.values(), ids=PROMPTS)
def test_log_probs_and_gradients_are_those_of_whole_rows(name, prompts):
    model = make_model(name)
    add_fused_lm_head(model, outputs=("log_probs", "entropy"))
    assert can_share(model)
    batch = make_rows(prompts)
    weights = torch.linspace(-1, 1, batch["completion_ids"].numel()).reshape(len(prompts), -1)
    asked, asked_mask, answers, mask = batch.values()
    whole = log_probs_of_each(model, batch)
    shared, entropies = compute_log_probs(
        model, find_shares(asked, asked_mask), asked, answers, mask
    )
    assert entropies.shape == shared.shape
    assert torch.allclose(shared, whole, rtol=1e-4, atol=1e-4)
    grads = []
    for log_probs in (whole, shared):
        model.zero_grad()
        (log_probs * weights).sum().backward()
        grads.append([one.grad.clone() for one in model.parameters()])
    for one, other in zip(*grads, strict=True):
        assert torch.allclose(one, other, rtol=1e-3, atol=1e-3 * float(one.abs().max()))


def test_only_trained_tokens_get_log_probs():
    model = make_model("llama")
    add_fused_lm_head(model, outputs=("log_probs", "entropy"))
    batch = make_rows(PROMPTS["two groups"])
    asked, asked_mask, answers, mask = batch.values()
    shares = find_shares(asked, asked_mask)
    whole, entropies = compute_log_probs(model, shares, asked, answers, mask)
    for trained in (answers % 2, torch.zeros_like(answers)):
        some, their_entropies = compute_log_probs(model, shares, asked, answers, mask, trained)
        where = (mask * trained).bool()
        assert torch.allclose(some[where], whole[where], atol=1e-5)
        assert torch.allclose(their_entropies[where], entropies[where], atol=1e-5)
        (some * trained).sum().backward()


def test_few_tokens_are_computed():
    batch = make_rows(PROMPTS["two groups"])
    shares = find_shares(batch["prompt_ids"], batch["prompt_mask"])
    assert shares.common.tolist() == SYSTEM
    assert shares.rests.shape == (2, 3)
    assert count_tokens(batch) == 4 * (8 + 6)
    assert count_shared(batch) == 4 + 2 * 3 + 4 * 7


def test_rows_of_a_prompt_stay_together_where_that_computes_less():
    long = [list(range(2, 30)), list(range(3, 31))]
    batch = make_rows([long[at % 2] for at in range(4)])
    parts = [{name: value[at : at + 2] for name, value in batch.items()} for at in (0, 2)]
    for count, groups in ((count_tokens, 2), (count_shared, 1)):
        for one in sort_rows(parts, count):
            assert len(one["prompt_ids"].unique(dim=0)) == groups
    assert sum(count_shared(trim(one)) for one in sort_rows(parts, count_shared)) < 100


def test_checkpointed_models_compute_each_row():
    model = make_model("llama")
    model.gradient_checkpointing_enable()
    assert not can_share(model)
