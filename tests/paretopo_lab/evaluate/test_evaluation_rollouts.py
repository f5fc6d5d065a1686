"""Rollouts of an evaluation: a scripted engine with every tool, and sampling by transformers."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from paretopo.config import ConfigError
from paretopo.integrations.huggingface.rollouts import Piece, RolloutState
from paretopo.integrations.huggingface.tiny_model import make_model, make_tokenizer
from paretopo.protocols.episode import SingleTurn
from paretopo.protocols.search_r1 import search_r1_prompt
from paretopo.protocols.torl import torl_prompt
from paretopo.records.schema import Example
from paretopo.rollout import Segment
from paretopo.tools.python_interpreter import ProgramResult
from paretopo.tools.search import Document
from paretopo_lab.evaluate.launch import run_requests
from paretopo_lab.evaluate.prompting import Tools, make_requests
from paretopo_lab.evaluate.settings import EvaluationSettings
from paretopo_lab.evaluate.transformers_engine import GumbelNoise, TransformersEngine

SUM = Example("m1", "math500", "What is 6*7?", torl_prompt("What is 6*7?"), "42")
OSLO = Example("q1", "nq", "Where is Oslo?", search_r1_prompt("Where is Oslo?"), ("Norway",))
PROGRAM = "```python\nprint(6*7)\n```\n```output"
LETTERS = "a b c d e f g h i j k l m n o p q r s t u v w x y z"


class Characters:
    """A tokenizer of bytes; <end> is 0, and decoding can skip it."""

    chat_template = None
    eos_token_id = pad_token_id = 0

    def __call__(self, text, add_special_tokens=True, split_special_tokens=False):
        return {"input_ids": [0 if byte == 0 else byte for byte in text.encode()]}

    def decode(self, tokens, skip_special_tokens=False):
        kept = [token for token in tokens if token or not skip_special_tokens]
        return bytes(kept).decode(errors="replace")


class Scripted:
    """An engine that returns scripted texts; "$" is its end of text."""

    def __init__(self, *texts, context=10_000):
        self.tokenizer, self.context = Characters(), context
        self.texts, self.seen = list(texts), []

    def generate(self, rollouts, stop):
        pieces = []
        for rollout in rollouts:
            self.seen.append((self.tokenizer.decode(rollout.tokens), stop))
            text = self.texts.pop(0)
            tokens = list(text.rstrip("$").encode()) + [0] * text.endswith("$")
            cut = len(tokens) > rollout.room
            finish = "length" if cut else "end" if text.endswith("$") else "stop"
            pieces.append(Piece(tokens[: rollout.room], finish))
        return pieces

    def close(self):
        pass


class Interpreter:
    async def run_async(self, code):
        return ProgramResult("42\n", "", 0, 0.1)


class Shelf:
    async def search_async(self, query):
        return [Document("1", f'"{query}"\nIt is known.', 1.0)]

    def search_all(self, queries):
        return [[Document("1", '"Oslo"\nCapital of Norway.', 1.0)] for _ in queries]


def run_rollout(row, engine, **settings):
    chosen = EvaluationSettings("m", **settings)
    asked = make_requests([row], [7], chosen, Tools(Interpreter(), Shelf()))
    (one,) = run_requests(engine, chosen, asked)
    assert not engine.texts
    return one


def test_python():
    engine = Scripted(f"so\n{PROGRAM}", r"\boxed{42}$")
    one = run_rollout(SUM, engine, tool="python")
    assert one.segments == (
        Segment("model", "so\n"),
        Segment("call", PROGRAM),
        Segment("tool", "\n42\n```\n"),
        Segment("model", r"\boxed{42}"),
    )
    assert one.prompt == SUM.prompt
    assert one.written == f"so\n{PROGRAM}\\boxed{{42}}"
    assert one.tokens == len(one.written) + 1  # and the end of text
    assert (one.calls, one.truncated) == (1, False)
    assert engine.seen[1][0] == f"so\n{PROGRAM}\n42\n```\n"
    # The last generation calls nothing.
    assert run_rollout(SUM, Scripted(PROGRAM, PROGRAM + "$"), tool="python", max_calls=1).calls == 1


def test_search():
    engine = Scripted("<search> Oslo </search>", "<answer> Norway </answer>")
    one = run_rollout(OSLO, engine, tool="search")
    found = '\n\n<information>Doc 1(Title: "Oslo") It is known.</information>\n\n'
    assert one.segments == (
        Segment("call", "<search> Oslo </search>"),
        Segment("tool", found),
        Segment("model", "<answer> Norway </answer>"),
    )
    assert one.prompt == OSLO.prompt  # no chat template, so the message stands bare
    assert (one.calls, one.truncated) == (1, False)


def test_rag():
    engine = Scripted("<answer> Norway </answer>")
    one = run_rollout(OSLO, engine, tool="rag")
    assert 'Doc 1(Title: "Oslo") Capital of Norway.' in one.prompt
    assert engine.seen == [("", ("</answer>",))]
    assert one.calls == 1
    assert one.tokens == len("<answer> Norway </answer>")


def test_no_tool():
    engine = Scripted(f"{PROGRAM} <search>x</search> \\boxed{{42}}$")
    one = run_rollout(SUM, engine)
    assert engine.seen == [("", ())]
    assert one.calls == 0
    assert [segment.kind for segment in one.segments] == ["model"]


def test_response_over_the_limit_is_truncated():
    assert run_rollout(SUM, Scripted("x" * 30), max_tokens=20).truncated
    one = run_rollout(SUM, Scripted(PROGRAM), tool="python", max_tokens=len(PROGRAM) + 3)
    assert (one.truncated, one.calls) == (True, 1)
    assert one.segments[-1] == Segment("tool", "\n42")
    exact = run_rollout(OSLO, Scripted("<answer> a </answer>"), max_tokens=20)
    assert not exact.truncated
    one = run_rollout(SUM, Scripted(context=50), tool="python")  # less than the prompt
    assert (one.truncated, one.tokens, one.calls, one.segments) == (True, 0, 0, ())
    room = run_rollout(SUM, Scripted("y" * 90, context=len(SUM.prompt) + 30), tool="python")
    assert (room.truncated, room.tokens) == (True, 30)


@pytest.mark.parametrize(
    "text", ["\x01\x1b[0m</think>\\boxed{", "$", "<answer>" * 5000, "\ufffd\u2028$"]
)
def test_hostile_text(text):
    one = run_rollout(SUM, Scripted(text, context=100_000), max_tokens=50_000)
    assert one.written == text.rstrip("$")
    assert one.calls == 0


# ---- transformers --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A random model that says letters."""
    folder = tmp_path_factory.mktemp("tiny")
    tokenizer = make_tokenizer([LETTERS, *LETTERS.split()])
    # Heads of 32, the least that vLLM computes on a CPU.
    model = make_model(tokenizer, layers=1, width=64, heads=2, seed=0, positions=64)
    model.generation_config.top_k = 1  # the model's own sampling settings must not matter
    model.generation_config.do_sample = True
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def begin_rollouts(engine, seeds, most=12):
    return [
        RolloutState(
            engine.tokenizer("a b c d"[: 1 + seed % 7])["input_ids"], SingleTurn(), most, seed
        )
        for seed in seeds
    ]


def test_samples_do_not_depend_on_the_batch(tiny):
    engine = TransformersEngine(str(tiny), EvaluationSettings("m", temperature=1.0))
    together = engine.generate(begin_rollouts(engine, range(16)), ())
    apart = [engine.generate(begin_rollouts(engine, [seed]), ())[0] for seed in range(16)]
    assert [one.tokens for one in together] == [one.tokens for one in apart]
    assert len({tuple(one.tokens) for one in together}) == 16
    other = engine.generate(begin_rollouts(engine, range(100, 116)), ())
    assert [one.tokens for one in other] != [one.tokens for one in together]


def test_greedy_overrides_the_models_sampling_settings(tiny):
    engine = TransformersEngine(str(tiny), EvaluationSettings("m"))
    same = [engine.generate(begin_rollouts(engine, [seed]), ())[0].tokens for seed in (1, 8, 15)]
    assert same[0] == same[1] == same[2]
    assert engine.context == 64
    assert engine.generate(begin_rollouts(engine, [0]), ())[0].finish in ("length", "end")


def test_stop_strings_end_a_row_wherever_they_come(tiny):
    engine = TransformersEngine(str(tiny), EvaluationSettings("m", temperature=3.0))
    stop = tuple("aeiou")
    pieces = engine.generate(begin_rollouts(engine, range(64), most=30), stop)
    texts = [engine.tokenizer.decode(one.tokens, skip_special_tokens=True) for one in pieces]
    stopped = [any(vowel in text for vowel in stop) for text in texts]
    assert stopped == [one.finish == "stop" for one in pieces]
    assert all(text[-1] in stop for text, is_in in zip(texts, stopped, strict=True) if is_in)
    assert not any(set(text[:-1]) & set(stop) for text in texts)
    assert sum(stopped) > 32


def test_gumbel_noise_samples_the_distribution():
    logits = torch.log(torch.tensor([[0.5, 0.3, 0.2]]))
    drawn = [int(GumbelNoise([seed])(None, logits).argmax(-1)) for seed in range(4000)]
    shares = np.bincount(drawn, minlength=3) / 4000
    np.testing.assert_allclose(shares, [0.5, 0.3, 0.2], atol=0.03)
    noise = GumbelNoise([1, 2])
    flat = torch.zeros(2, 1000)
    assert torch.isfinite(noise(None, flat)).all()
    barred = torch.tensor([[0.0, -torch.inf]])
    assert GumbelNoise([3])(None, barred)[0, 1] == -torch.inf


def test_every_piece_of_a_rollout_has_a_seed_of_its_own():
    pairs = itertools.product(range(50), repeat=2)
    seeds = {RolloutState([1], SingleTurn(), 9, seed, [1] * n).piece_seed for seed, n in pairs}
    assert len(seeds) == 2500
    assert max(seeds) < 2**31


def test_missing_models_are_named(tmp_path):
    with pytest.raises(ConfigError, match="holds no model"):
        TransformersEngine(str(tmp_path), EvaluationSettings("m"))


# ---- vLLM ----------------------------------------------------------------------------------------


def test_vllm_generates_the_same_pieces(tiny):
    """Runs where vLLM is installed: greedy tokens are those of transformers, strings stop it."""
    pytest.importorskip("vllm")
    from paretopo_lab.evaluate.vllm_engine import VllmEngine

    settings = EvaluationSettings("m")
    reference = TransformersEngine(str(tiny), settings)
    engine = VllmEngine(
        str(tiny), settings, memory=0.1, enforce_eager=True, dtype="float32", max_model_len=64
    )
    try:
        assert engine.context == 64
        wanted = reference.generate(begin_rollouts(reference, range(7)), ())
        assert list(engine.generate(begin_rollouts(engine, range(7)), ())) == wanted
        engine._settings = EvaluationSettings("m", temperature=2.0)
        first = engine.generate(begin_rollouts(engine, range(32), most=30), ("e",))
        assert first == engine.generate(begin_rollouts(engine, range(32), most=30), ("e",))
        texts = [engine.tokenizer.decode(one.tokens, skip_special_tokens=True) for one in first]
        assert ["e" in text for text in texts] == [one.finish == "stop" for one in first]
        assert {one.finish for one in first} >= {"stop"}
        one = SimpleNamespace(row=SUM, prompt="a b", episode=SingleTurn(), seed=1)
        (done,) = run_requests(engine, EvaluationSettings("m", max_tokens=5), [one])
        assert done.tokens <= 5
    finally:
        engine.close()
