"""Generation turn by turn that reads each token once.

TRL hands over every turn of a rollout with all that came before it, and the prompt of a group once
for each of its rollouts. Here a prompt is read once for its group, and of a later turn only what is
new: the keys and values of the rest are kept from the turn before. Rows that have ended leave the
batch.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

Tokens = list[int]

_AT_ONCE = 16  # tokens until rows that have ended leave the batch


@dataclass(frozen=True)
class _Part:
    """Rows that have ended: keys and values of each layer, and the tokens that they are of."""

    rows: list[int]
    states: list[tuple[Any, Any]]
    read: list[Tokens]


def can_keep(model: Any) -> bool:
    """Does the model keep keys and values of every token, with no window and no other state?"""
    if getattr(model, "_is_stateful", False):
        return False
    layers = DynamicCache(config=model.config).layers
    return all(type(layer) is DynamicLayer for layer in layers)


class Turns:
    """The turns of a batch of rollouts; made anew for each batch, since weights change.

    Args:
        padding: Token to pad with.
        ends: Tokens that end a text.
        most: Tokens that a whole response may have, tool results included.
        settings: A `GenerationConfig`; lengths are filled in.
    """

    def __init__(self, *, padding: int, ends: Sequence[int], most: int, settings: Any) -> None:
        self._padding, self._ends, self._most = padding, set(ends), most
        self._settings = copy.deepcopy(settings)
        self._cache: Any = None
        self._read: list[Tokens] = []  # by row: tokens whose keys and values are in the cache
        self._asked: list[int] = []  # by row: tokens of the prompt

    def generate(self, model: Any, given: Sequence[Tokens]) -> list[Tokens]:
        """What the model writes next, its end of text included.

        Args:
            model: A causal language model for which `can_keep` is true.
            given: Prompts, or rollouts of the call before with whatever follows on them.
        """
        if not self._go_on(given):
            self._begin(model, given)
        pairs = zip(given, self._asked, strict=True)
        room = [max(self._most - (len(one) - asked), 1) for one, asked in pairs]
        written: list[Tokens] = [[] for _ in given]
        going, ended = list(range(len(given))), []
        while going:
            most = max(room[row] - len(written[row]) for row in going)
            texts = [[*given[row], *written[row]] for row in going]
            for row, tokens in zip(
                going, self._write(model, texts, min(most, _AT_ONCE)), strict=True
            ):
                written[row] += tokens
            at_end = [
                written[row][-1] in self._ends or len(written[row]) >= room[row] for row in going
            ]
            done = [at for at, over in enumerate(at_end) if over]
            if done:
                ended.append(self._part([going[at] for at in done], done))
                going = self._select([at for at, over in enumerate(at_end) if not over], going)
        self._join(ended)
        return [tokens[:most] for tokens, most in zip(written, room, strict=True)]

    def _write(self, model: Any, given: Sequence[Tokens], most: int) -> list[Tokens]:
        """At most so many tokens on each of the rows that are in the cache."""
        held = self._cache.get_seq_length()
        fresh = [one[len(read) :] for one, read in zip(given, self._read, strict=True)]
        width = held + max(map(len, fresh))
        tokens = torch.full((len(given), width), self._padding)
        mask = torch.zeros((len(given), width), dtype=torch.long)
        for row, (read, new) in enumerate(zip(self._read, fresh, strict=True)):
            for end, part in ((held, read), (width, new)):
                tokens[row, end - len(part) : end] = torch.tensor(part, dtype=torch.long)
                mask[row, end - len(part) : end] = 1
        self._settings.update(max_new_tokens=most)
        with torch.no_grad():
            whole = model.generate(
                input_ids=tokens.to(model.device),
                attention_mask=mask.to(model.device),
                past_key_values=self._cache,
                generation_config=self._settings,
            )
        written = [self._cut(row) for row in whole[:, width:].tolist()]
        self._keep(held, width, fresh, written)
        return written

    def _select(self, places: Sequence[int], rows: Sequence[int]) -> list[int]:
        """Go on with some places of the cache; returns their rows."""
        if places:
            index = torch.tensor(places, device=self._cache.layers[0].device)
            self._cache.batch_select_indices(index)
            self._read = [self._read[at] for at in places]
        return [rows[at] for at in places]

    def _part(self, rows: list[int], places: list[int]) -> _Part:
        """What the cache has of some places, which are of these rows."""
        index = torch.tensor(places, device=self._cache.layers[0].device)
        states = [(layer.keys[index], layer.values[index]) for layer in self._cache.layers]
        return _Part(rows, states, [self._read[at] for at in places])

    def _join(self, parts: Sequence[_Part]) -> None:
        """All parts as one cache, in the order of their rows."""
        length = max(part.states[0][0].shape[2] for part in parts)
        rows = [row for part in parts for row in part.rows]
        read = [read for part in parts for read in part.read]
        order = sorted(range(len(rows)), key=rows.__getitem__)
        self._read = [read[at] for at in order]
        for number, layer in enumerate(self._cache.layers):
            for which, name in enumerate(("keys", "values")):
                states = [
                    functional.pad(one, (0, 0, length - one.shape[2], 0))
                    for one in (part.states[number][which] for part in parts)
                ]
                setattr(layer, name, torch.cat(states)[order])

    def _begin(self, model: Any, prompts: Sequence[Tokens]) -> None:
        """Read each prompt once, all but its last token, which is generated from."""
        self._cache, self._asked = DynamicCache(config=model.config), list(map(len, prompts))
        places: dict[tuple[int, ...], int] = {}
        rows = [places.setdefault(tuple(one), len(places)) for one in prompts]
        if len(places) == len(prompts):
            self._read = [[] for _ in prompts]
            return
        self._read = [one[:-1] for one in prompts]
        length = max(map(len, places)) - 1
        tokens = torch.full((len(places), length), self._padding)
        mask = torch.zeros((len(places), length), dtype=torch.long)
        for one, row in places.items():
            tokens[row, length - len(one) + 1 :] = torch.tensor(one[:-1], dtype=torch.long)
            mask[row, length - len(one) + 1 :] = 1
        if length:
            with torch.no_grad():
                model(
                    input_ids=tokens.to(model.device),
                    attention_mask=mask.to(model.device),
                    position_ids=(mask.cumsum(1) - 1).clamp(min=0).to(model.device),
                    past_key_values=self._cache,
                    use_cache=True,
                    logits_to_keep=1,
                )
            self._cache.batch_select_indices(torch.tensor(rows, device=model.device))

    def _go_on(self, given: Sequence[Tokens]) -> bool:
        """Find each rollout that was read before; False where one was not."""
        known = {tuple(read): row for row, read in enumerate(self._read)}
        lengths = sorted({len(read) for read in self._read}, reverse=True)
        rows: list[int] = []
        for one in given:
            read = (tuple(one[:length]) for length in lengths if 0 < length < len(one))
            row = next((known[tokens] for tokens in read if tokens in known), None)
            if row is None:
                return False
            rows.append(row)
        self._cache.batch_select_indices(torch.tensor(rows, device=self._cache.layers[0].device))
        self._read = [self._read[row] for row in rows]
        self._asked = [self._asked[row] for row in rows]
        return True

    def _cut(self, row: Tokens) -> Tokens:
        """Up to the end of text."""
        last = next((at for at, token in enumerate(row) if token in self._ends), len(row) - 1)
        return row[: last + 1]

    def _keep(
        self, held: int, width: int, fresh: Sequence[Tokens], written: Sequence[Tokens]
    ) -> None:
        """Move what was read to the right end of the cache, without the padding between."""
        inside = self._cache.get_seq_length() - width  # the last token was not read
        places = []
        for row, (read, new) in enumerate(zip(self._read, fresh, strict=True)):
            own = written[row][:inside]
            places.append(
                [
                    *range(held - len(read), held),
                    *range(width - len(new), width),
                    *range(width, width + len(own)),
                ]
            )
        self._read = [
            read + new + own[:inside]
            for read, new, own in zip(self._read, fresh, written, strict=True)
        ]
        length = max(map(len, places))
        order = torch.tensor([[0] * (length - len(one)) + one for one in places])
        for layer in self._cache.layers:
            index = order.to(layer.keys.device)[:, None, :, None]
            for name in ("keys", "values"):
                states = getattr(layer, name)
                wanted = index.expand(-1, states.shape[1], -1, states.shape[3])
                setattr(layer, name, states.gather(2, wanted))
