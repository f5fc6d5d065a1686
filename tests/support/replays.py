"""Recorded rollouts by a protocol, played once more with the real tool."""

import asyncio
from collections import Counter
from itertools import groupby

from paretopo.protocols.search_r1 import INVALID
from paretopo.tasks.choice import ensure_search_server
from paretopo.tasks.environment import open_environment


def replay(run, tokenizer):
    """Play every recorded rollout of a run again and return counts of the observed events.

    The masked text must equal the tool's reply to the words before it; only a response at its
    length limit may cut it short.
    """
    seen = Counter()
    with ensure_search_server(run.config, run.data) as config:
        with open_environment(config) as environment:
            for group in run.trajectories():
                for rollout in group.rollouts:
                    episode = environment.new_episode()
                    _replay(rollout, episode, config, tokenizer, seen)
                    assert episode.calls == rollout.reward_components["calls"]
    return seen


def _replay(rollout, episode, config, tokenizer, seen):
    pieces = [
        (heard, "".join(one.text for one in some))
        for heard, some in groupby(rollout.segments, lambda one: one.kind == "tool")
    ]
    tokens = rollout.tokens + sum(len(_encode(tokenizer, text)) for heard, text in pieces if heard)
    said = ""
    for number, (heard, text) in enumerate(pieces):
        last = number + 1 == len(pieces)
        if not heard:
            said = _play(episode, text)
            continue
        wanted = tokenizer.decode(_encode(tokenizer, said)[: episode.feedback_tokens])
        if rollout.truncated and last:
            assert wanted.startswith(text.rstrip("\ufffd")), (wanted, text)
            seen["cut observation"] += len(text) < len(wanted)
        else:
            assert text == wanted
        seen["invalid" if text == INVALID else "observation"] += 1
        said = ""
    if not rollout.truncated:
        assert not said, "a rollout ended before it had heard the tool"
    most = config.optimiser.max_completion_tokens
    # An observation cut between two tokens may be encoded in a few fewer.
    assert tokens >= most - 4 if rollout.truncated else tokens <= most, (tokens, rollout)
    seen["truncated" if rollout.truncated else "whole"] += 1


def _play(episode, text):
    """Return the tool's reply to a text, which may hold several turns without a reply."""
    while True:
        stop = next((one for one in episode.stop if one in text), None)
        turn = asyncio.run(episode.step(text))
        if turn.feedback or turn.done or stop is None:
            return turn.feedback
        text = text.partition(stop)[2]
        if not text:
            return ""


def _encode(tokenizer, text):
    return tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
