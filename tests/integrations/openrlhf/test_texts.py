"""Texts are recovered from OpenRLHF's padded, merged and reordered samples."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

pytest.importorskip("openrlhf", exc_type=ImportError)

from paretopo.config import loads
from paretopo.integrations.openrlhf.rollouts import ROLLOUTS, make_rollout
from paretopo.rewards.own import load_own_rewards
from paretopo.rollout import Segment

torch = pytest.importorskip("torch")

# DeepSpeed and others cause warnings themselves when they are imported.
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("without_cuda")]

PAD = 0
TOKENIZER = SimpleNamespace(
    eos_token="<end>",
    decode=lambda tokens: "".join("<end>" if token == 1 else chr(token) for token in tokens),
)


def tokens_of(text):
    return [ord(character) for character in text]


def sample(number, scalar=1.0):
    """A rollout as OpenRLHF hands it over: a prompt, a call, its answer, an answer and its end."""
    prompt, group = f"how {number // 2}?", number // 2
    runs = [f"<call>{'x' * number}</call>", f"<tool>{number}</tool>", "so " * number]
    tokens, ranges = tokens_of(prompt), []
    for at, run in enumerate(runs):
        start = len(tokens)
        tokens += tokens_of(run)
        if at != 1:
            ranges.append((start, len(tokens)))
    tokens.append(1)
    ranges[-1] = (ranges[-1][0], len(tokens))
    response = {
        "prompt": prompt,
        "label": f'{{"id": "q{group}", "answer": "{group}"}}',
        "observation_tokens": tokens,
        "action_ranges": ranges,
        "rollout_log_probs": None,
        "reward": scalar,
        "scores": scalar,
        "truncated": number == 3,
        "extra_logs": {"finished": 1.0},
    }
    from openrlhf.trainer.ppo_utils.samples_generator import SamplesGenerator

    made = SamplesGenerator._process_response_into_experience(None, response, max_len=200)
    rollout = make_rollout(made, {"correct": 1.0, "calls": 1.0}, ("correct", "calls"))
    made.info[ROLLOUTS] = [replace(rollout, rewards=(1.0, 0.5))]
    made.index = [number]
    return made


@pytest.mark.parametrize("scalar", [1.0, -7, None])
def test_the_vector_is_trained_and_logged_whatever_scalar_an_agent_returns(
    tmp_path, monkeypatch, scalar
):
    from support.sessions import new_session

    from paretopo.integrations.openrlhf import samples

    # All four rollouts are right by their agent; by the file, two.
    (tmp_path / "rewards.py").write_text(
        "def correct(completions, answer):\n    return [0.0, 1.0, 0.0, 1.0]\n"
    )
    session = new_session(tmp_path)
    remote = SimpleNamespace(score=SimpleNamespace(remote=session.score))
    monkeypatch.setattr(samples, "ray", SimpleNamespace(get=lambda answer: answer))
    made = object.__new__(samples.ParetoSamplesGenerator)
    made.tokenizer = SimpleNamespace(decode=lambda tokens, **_: str(tokens))
    made.args = SimpleNamespace(
        algo=SimpleNamespace(dynamic_filtering_range=(0.0, 1.0)),
        paretopo=SimpleNamespace(objectives=["correct", "calls"], steps=4),
    )
    made._session, made._batches = remote, 2
    made._own = load_own_rewards(loads("", {"rewards.file": str(tmp_path / "rewards.py")}))
    group = [sample(0, scalar) for _ in range(4)]
    made._score(group)
    assert [one.info[ROLLOUTS][0].rewards[0] for one in group] == [0.0, 1.0, 0.0, 1.0]
    assert [one.rewards.item() for one in group] == [0.0, 1.0, 0.0, 1.0]
    assert all(one.rewards.dtype == torch.float32 for one in group)


@pytest.mark.parametrize("kept", [0, 2, 3])
def test_first_groups_keep_their_texts(kept):
    from openrlhf.trainer.ppo_utils.experience import Experience

    from paretopo.integrations.openrlhf.experience import ParetoExperienceMaker

    samples = [sample(number) for number in range(6)]
    batches = [
        Experience.concat_experiences([samples[at] for at in places], PAD)
        for places in ([5, 0, 2], [3, 1, 4])
    ]
    maker = object.__new__(ParetoExperienceMaker)
    maker.tokenizer = TOKENIZER
    maker.args = SimpleNamespace(
        rollout=SimpleNamespace(n_samples_per_prompt=2),
        paretopo=SimpleNamespace(trajectories=kept),
    )
    order, groups = maker._group_rollouts(batches)
    assert order.tolist() == [5, 0, 2, 3, 1, 4]
    for number in range(6):
        wrote = groups[number // 2][number % 2]
        assert wrote.has_text == (number // 2 < kept)
        if not wrote.has_text:
            continue
        expected = [
            Segment("call", f"<call>{'x' * number}</call>"),
            Segment("tool", f"<tool>{number}</tool>"),
            Segment("model", "so " * number),
        ]
        assert wrote.segments == tuple(segment for segment in expected if segment.text)
        assert (wrote.prompt, wrote.answer) == (f"how {number // 2}?", str(number // 2))
        assert wrote.truncated == (number == 3)
