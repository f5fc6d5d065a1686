"""Generation turn by turn that reads each token once.

The prompt of a rollout's turn repeats all turns before it, and a group repeats its prompt for each
rollout. This module reads a prompt once for its group, and reads only the new tokens of a later
turn; it keeps keys and values from the turn before. Rows that have ended leave the batch.
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
""" Maps the tokens of a turn so far to the length of the turn; None if it continues. """
Options = Callable[[list[int], int], dict[str, Any]]
""" Maps active rows, and the column of their turn's start, to further arguments of `generate`. """

_AT_ONCE = 16  # ended rows leave the batch every 16 tokens


@dataclass(frozen=True)
class _Part:
    """Ended rows: their tokens, and the keys and values of each layer."""

    states: list[tuple[Any, Any]]
    read: list[Tokens]


def can_keep(model: Any) -> bool:
    """Return whether the cache holds keys and values of every token, and no other state."""
    if getattr(model, "_is_stateful", False):
        return False
    layers = DynamicCache(config=model.config).layers
    return all(type(layer) is DynamicLayer for layer in layers)


class Turns:
    """The turns of a batch of rollouts; make a new one for each batch, since weights change.

    Args:
        padding: Token to pad with.
        ends: Tokens that end a text.
        settings: A `GenerationConfig`; this class sets its lengths.
    """

    def __init__(self, *, padding: int, ends: Sequence[int], settings: Any) -> None:
        self._padding, self._ends = padding, set(ends)
        self._settings = copy.deepcopy(settings)
        self._cache: Any = None
        self._read: list[Tokens] = []  # by row: tokens whose keys and values are in the cache
        self._ended: list[_Part] = []  # from the previous turn

    def generate(
        self,
        model: Any,
        given: Sequence[Tokens],
        *,
        room: Sequence[int],
        find_end: FindEnd | None = None,
        options: Options | None = None,
    ) -> list[Tokens]:
        """Return the model's next tokens, with an end of text.

        Args:
            model: A causal language model for which `can_keep` is true.
            given: Prompts, or the rollouts of the previous call with the text that follows them.
            room: Longest turn of each row in tokens, at least 1.
            find_end: Finds the end of a turn; by default the first token in `ends`.
            options: Further arguments of `generate`.
        """
        find_end = find_end or self._find_end
        if not self._go_on(given):
            self._begin(model, given)
        written: list[Tokens] = [[] for _ in given]
        going = list(range(len(given)))
        self._ended = []
        while going:
            most = min(max(room[row] - len(written[row]) for row in going), _AT_ONCE)
            at_end = self._write(model, given, going, written, most, room, find_end, options)
            done = [at for at, over in enumerate(at_end) if over]
            if done:
                self._ended.append(self._part(done))
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
        """Write up to this many tokens on each row of the cache; return the rows that have ended.

        All of these rows have written the same number of tokens of their turn.
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
        """Keep some positions of the cache; return their rows."""
        if places:
            index = torch.tensor(places, device=self._cache.layers[0].device)
            self._cache.batch_select_indices(index)
            self._read = [self._read[at] for at in places]
        return [rows[at] for at in places]

    def _part(self, places: list[int]) -> _Part:
        """Return the cache of some positions."""
        index = torch.tensor(places, device=self._cache.layers[0].device)
        states = [(layer.keys[index], layer.values[index]) for layer in self._cache.layers]
        return _Part(states, [self._read[at] for at in places])

    def _begin(self, model: Any, prompts: Sequence[Tokens]) -> None:
        """Read each prompt once except its last token, from which generation starts."""
        self._cache = DynamicCache(config=model.config)
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
        """Fill the cache with the tokens read so far; return False if a rollout was not read."""
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
        """Move the cached tokens to the right end of the cache, without the padding between.

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
