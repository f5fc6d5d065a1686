"""Generation turn by turn that reads each token once.

Every turn of a rollout comes with all that was before it, and the prompt of a group once for each
of its rollouts. Here a prompt is read once for its group, and of a later turn only what is new: the
keys and values of the rest are kept from the turn before. Rows that have ended leave the batch.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

Tokens = list[int]
FindEnd = Callable[[Tokens], int | None]
""" The tokens of a turn so far → how many of them are the turn; None: it goes on. """
Options = Callable[[list[int], int], dict[str, Any]]
""" Rows that go on, and the column where their turn begins → further arguments of `generate`. """

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
        settings: A `GenerationConfig`; lengths are filled in.
        most: Tokens that a whole response may have, tool results included; None where each turn
            is given its room.
    """

    def __init__(
        self, *, padding: int, ends: Sequence[int], settings: Any, most: int | None = None
    ) -> None:
        self._padding, self._ends, self._most = padding, set(ends), most
        self._settings = copy.deepcopy(settings)
        self._cache: Any = None
        self._read: list[Tokens] = []  # by row: tokens whose keys and values are in the cache
        self._asked: list[int] = []  # by row: tokens of the prompt
        self._ended: list[_Part] = []  # of the turn before

    def generate(
        self,
        model: Any,
        given: Sequence[Tokens],
        *,
        room: Sequence[int] | None = None,
        find_end: FindEnd | None = None,
        options: Options | None = None,
    ) -> list[Tokens]:
        """What the model writes next, its end of text included.

        Args:
            model: A causal language model for which `can_keep` is true.
            given: Prompts, or rollouts of the call before with whatever follows on them.
            room: Tokens that each may write, at least 1; by default what `most` leaves.
            find_end: Ends a turn; by default the first of `ends` does.
            options: Further arguments of `generate`.
        """
        find_end = find_end or self._find_end
        if not self._go_on(given):
            self._begin(model, given)
        if room is None:
            assert self._most is not None
            pairs = zip(given, self._asked, strict=True)
            room = [max(self._most - (len(one) - asked), 1) for one, asked in pairs]
        written: list[Tokens] = [[] for _ in given]
        going = list(range(len(given)))
        self._ended = []
        while going:
            most = min(max(room[row] - len(written[row]) for row in going), _AT_ONCE)
            at_end = self._write(model, given, going, written, most, room, find_end, options)
            done = [at for at, over in enumerate(at_end) if over]
            if done:
                self._ended.append(self._part([going[at] for at in done], done))
                going = self._select([at for at, over in enumerate(at_end) if not over], going)
        return written

    def _write(
        self,
        model: Any,
        given: Sequence[Tokens],
        going: list[int],
        written: list[Tokens],
        most: int,
        room: Sequence[int],
        find_end: FindEnd,
        options: Options | None,
    ) -> list[bool]:
        """At most so many tokens on each of the rows that are in the cache; which are at their end.

        All of them have written as many tokens of their turn so far.
        """
        held = self._cache.get_seq_length()
        texts = [[*given[row], *written[row]] for row in going]
        fresh = [one[len(read) :] for one, read in zip(texts, self._read, strict=True)]
        width = held + max(map(len, fresh))
        tokens = torch.full((len(going), width), self._padding)
        mask = torch.zeros((len(going), width), dtype=torch.long)
        for at, (read, new) in enumerate(zip(self._read, fresh, strict=True)):
            for end, part in ((held, read), (width, new)):
                tokens[at, end - len(part) : end] = torch.tensor(part, dtype=torch.long)
                mask[at, end - len(part) : end] = 1
        self._settings.update(max_new_tokens=most)
        with torch.no_grad():
            whole = model.generate(
                input_ids=tokens.to(model.device),
                attention_mask=mask.to(model.device),
                past_key_values=self._cache,
                generation_config=self._settings,
                **(options(going, width - len(written[going[0]])) if options else {}),
            )
        own, at_end = [], []
        for row, new in zip(going, whole[:, width:].tolist(), strict=True):
            before = len(written[row])
            so_far = [*written[row], *new][: room[row]]
            end = find_end(so_far)
            written[row] = so_far[:end]
            own.append(written[row][before:])
            at_end.append(end is not None or len(so_far) == room[row])
        self._keep(held, width, fresh, own)
        return at_end

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
        """Fill the cache with what was read of each rollout; False where one was not read."""
        known = {
            tuple(read): (part, place)
            for part in self._ended
            for place, read in enumerate(part.read)
        }
        lengths = sorted(set(map(len, known)), reverse=True)
        found: list[tuple[_Part, int]] = []
        for one in given:
            read = (tuple(one[:length]) for length in lengths if 0 < length < len(one))
            where = next((known[tokens] for tokens in read if tokens in known), None)
            if where is None:
                return False
            found.append(where)
        self._read = [part.read[place] for part, place in found]
        self._asked = [self._asked[part.rows[place]] for part, place in found]
        length = max(map(len, self._read))
        for number, layer in enumerate(self._cache.layers):
            for which, name in enumerate(("keys", "values")):
                states = (part.states[number][which][place] for part, place in found)
                ends = [one[:, max(0, one.shape[1] - length) :] for one in states]
                padded = [functional.pad(one, (0, 0, length - one.shape[1], 0)) for one in ends]
                setattr(layer, name, torch.stack(padded))
        return True

    def _find_end(self, tokens: Tokens) -> int | None:
        return next((at + 1 for at, token in enumerate(tokens) if token in self._ends), None)

    def _keep(
        self, held: int, width: int, fresh: Sequence[Tokens], written: Sequence[Tokens]
    ) -> None:
        """Move what was read to the right end of the cache, without the padding between.

        The last token of a turn is read with the next turn, which may replace it.
        """
        inside = self._cache.get_seq_length() - width
        own = [one[: min(inside, len(one) - 1)] for one in written]
        places = []
        for read, new, more in zip(self._read, fresh, own, strict=True):
            places.append(
                [
                    *range(held - len(read), held),
                    *range(width - len(new), width + len(more)),
                ]
            )
        self._read = [
            [*read, *new, *more] for read, new, more in zip(self._read, fresh, own, strict=True)
        ]
        length = max(map(len, places))
        order = torch.tensor([[0] * (length - len(one)) + one for one in places])
        for layer in self._cache.layers:
            index = order.to(layer.keys.device)[:, None, :, None]
            for name in ("keys", "values"):
                states = getattr(layer, name)
                wanted = index.expand(-1, states.shape[1], -1, states.shape[3])
                setattr(layer, name, states.gather(2, wanted))
