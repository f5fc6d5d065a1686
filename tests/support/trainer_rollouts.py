"""Rollouts as OpenRLHF and verl hand them over, without their packages."""

from types import SimpleNamespace

import torch

_OPENRLHF = {
    "prompt": "why?",
    "label": '{"id": "q"}',
    "asked": [1],  # the prompt's tokens
    "response": [2, 3],
    "own": [1, 1],  # for each token of the response, whether the policy wrote it
    "truncated": False,
}


def padded(rows):
    """Return rows of unequal lengths as one tensor, with zeros on the right."""
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows])


def make_experience(*rollouts):
    """Return OpenRLHF's experience of rollouts; each replaces some of the values above."""
    rows = [_OPENRLHF | one for one in rollouts]
    sequences = [[*row["asked"], *row["response"]] for row in rows]
    return SimpleNamespace(
        prompts=[row["prompt"] for row in rows],
        labels=[row["label"] for row in rows],
        sequences=padded(sequences),
        attention_mask=padded([[1] * len(row) for row in sequences]),
        action_mask=padded([[0] * (len(row["asked"]) - 1) + row["own"] for row in rows]),
        truncated=torch.tensor([row["truncated"] for row in rows]),
        info={},
    )


def make_row(components, *, prompt="why?", tokens=(5, 0), own=None, extra=None, **more):
    """Return a row of verl's queue: the last output of a rollout with these rewards."""
    mask = [1] * len(tokens) if own is None else own
    return {
        "prompts": torch.tensor([7, 8]),
        "responses": torch.tensor(tokens),
        "response_mask": torch.tensor(mask),
        "raw_prompt": [{"role": "user", "content": prompt}],
        "extra_fields": {"reward_extra_info": components} | (extra or {}),
    } | more
