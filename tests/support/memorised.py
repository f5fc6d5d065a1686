"""A tiny model that has learned some responses by heart, saved to a folder.

Needs torch and transformers.
"""

import torch

from paretopo.integrations.huggingface.tiny_model import make_model, make_tokenizer


def save_memorised(folder, traces, *, phrases=(), steps=150, seed=0):
    """Train on (prompt, response) texts until greedy decoding repeats them, and save.

    A prompt that is a list of messages goes through the chat template. Returns (model, tokenizer).
    """
    texts = [_content(prompt) + response for prompt, response in traces]
    tokenizer = make_tokenizer(texts, phrases)
    rendered = [
        prompt
        if isinstance(prompt, str)
        else tokenizer.apply_chat_template(prompt, tokenize=False, add_generation_prompt=True)
        for prompt, _ in traces
    ]
    model = make_model(tokenizer, layers=2, width=64, heads=2, seed=seed, positions=1024)
    whole = [
        f"{prompt}{response}<|end|>" for prompt, (_, response) in zip(rendered, traces, strict=True)
    ]
    batch = tokenizer(whole, return_tensors="pt", padding=True)
    labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    for row, prompt in enumerate(rendered):  # padded on the left
        own = len(tokenizer(prompt)["input_ids"])
        start = int((batch["attention_mask"][row] == 0).sum())
        labels[row, : start + own] = -100
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-2)
    inputs = {"input_ids": batch["input_ids"], "attention_mask": batch["attention_mask"]}
    inputs["position_ids"] = (batch["attention_mask"].cumsum(-1) - 1).clamp(min=0)
    for _ in range(steps):
        loss = model(**inputs, labels=labels).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()
    assert loss < 0.05, loss
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model, tokenizer


def _content(prompt):
    return prompt if isinstance(prompt, str) else prompt[0]["content"]
