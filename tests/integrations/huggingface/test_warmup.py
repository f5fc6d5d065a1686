"""The warm-up of loaded models: its demonstrations, its effect, and its cache."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl")

from support.small_models import make_tokenizer, save_folder

from paretopo.config import ConfigError, ModelConfig, WarmupConfig, loads, with_method
from paretopo.integrations.huggingface.loading import load_model, load_tokenizer, prepare_training
from paretopo.integrations.huggingface.policy import shared_warmup
from paretopo.integrations.huggingface.prompts import prompt_tokens
from paretopo.integrations.huggingface.warmup import encode, warm_up
from paretopo.tasks.task import TextTrace

CALL = {"type": "function", "function": {"name": "calculator", "arguments": {"expression": "1+2"}}}
TALK = [
    {"role": "user", "content": "What is 1 + 2?"},
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "name": "calculator", "content": "3"},
    {"role": "assistant", "content": "3"},
]
SETTINGS = WarmupConfig(steps=6, learning_rate=1e-2)


def opened(folder, **settings):
    config = ModelConfig(path=str(folder), **settings)
    tokenizer = load_tokenizer(config)
    return prepare_training(load_model(config, tokenizer), config), tokenizer


def read(tokenizer, tokens, written, own):
    return tokenizer.decode([one for one, mine in zip(tokens, written, strict=True) if mine == own])


def test_only_policy_tokens_carry_loss(tmp_path):
    save_folder(tmp_path, make_tokenizer())
    _, tokenizer = opened(tmp_path, chat_template="chatml-tools")
    tokens, written = encode(tokenizer, TALK)
    calls = "<<calculator expression=1+2>>"
    assert read(tokenizer, tokens, written, True) == f"{calls}<|im_end|>3<|im_end|>"
    whole = tokenizer.apply_chat_template(TALK, tokenize=False)
    assert tokenizer.decode(tokens) == whole.rstrip()


def test_a_base_model_imitates_answers_as_texts(tmp_path):
    save_folder(tmp_path, make_tokenizer(template=None))
    model, tokenizer = opened(tmp_path)
    answer = [TALK[0], TALK[-1]]
    tokens, written = encode(tokenizer, answer)
    assert read(tokenizer, tokens, written, False) == "What is 1 + 2?"
    assert read(tokenizer, tokens, written, True) == "3<|im_end|>"
    assert tokens[: len(tokens) - sum(written)] == prompt_tokens(tokenizer, answer[:1])
    state = tmp_path / "warmup.pt"
    assert warm_up(model, tokenizer, lambda _: [answer, answer[:1] + TALK[-1:]], SETTINGS, state)
    with pytest.raises(ConfigError, match=r'use "chatml-tools" or a .jinja file, or set warmup'):
        encode(tokenizer, TALK)


def test_a_bare_text_begins_as_the_model_reads_texts(tmp_path):
    """A Llama's texts begin with a token of their own, in the warm-up as in a rollout."""
    from tokenizers.processors import TemplateProcessing

    tokenizer = make_tokenizer(template=None)
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="<|im_start|> $A", special_tokens=[("<|im_start|>", 1)]
    )
    trace = TextTrace("1 + 2 =", ((" 3", True),))
    tokens, written = encode(tokenizer, trace)
    assert tokens[0] == 1
    assert tokens[: written.index(True)] == prompt_tokens(tokenizer, "1 + 2 =")


def test_a_template_that_does_not_keep_prefixes_is_refused(tmp_path):
    save_folder(tmp_path, make_tokenizer())
    _, tokenizer = opened(tmp_path, chat_template="chatml-tools")
    tokenizer.chat_template = (
        "{{ messages | length }}{% for m in messages %}{{ m.content }}{% endfor %}"
    )
    with pytest.raises(ConfigError, match="does not keep prefixes"):
        encode(tokenizer, TALK)


@pytest.mark.parametrize("rank", [0, 4])
def test_an_interrupted_warm_up_ends_in_the_same_weights(tmp_path, rank):
    if rank:
        pytest.importorskip("peft")
    save_folder(tmp_path, make_tokenizer())
    given = {"chat_template": "chatml-tools"}
    if rank:
        from paretopo.config import LoraConfig

        given["lora"] = LoraConfig(rank)

    def traces(step):
        return [TALK if step % 2 else [TALK[0], TALK[-1]]]

    torch.manual_seed(0)
    model, tokenizer = opened(tmp_path, **given)
    again, _ = opened(tmp_path, **given)
    again.load_state_dict(model.state_dict())
    assert warm_up(model, tokenizer, traces, SETTINGS, tmp_path / "whole.pt")

    state = tmp_path / "state.pt"
    asked = []
    stop = lambda: asked.append(1) or len(asked) == 3  # noqa: E731
    assert not warm_up(again, tokenizer, traces, SETTINGS, state, stop)
    kept = torch.load(state, weights_only=True)
    trained = {name for name, one in again.named_parameters() if one.requires_grad}
    assert (kept["step"], set(kept["model"])) == (3, trained)
    third, _ = opened(tmp_path, **given)
    third.load_state_dict(model.state_dict())
    assert warm_up(third, tokenizer, traces, SETTINGS, state)
    for (name, one), other in zip(model.named_parameters(), third.parameters(), strict=True):
        assert torch.equal(one, other), name
    assert "optimiser" not in torch.load(state, weights_only=True)


def test_methods_of_a_comparison_share_one_warm_up_a_seed(tmp_path):
    save_folder(tmp_path / "model", make_tokenizer())
    table = {
        "model": {"path": str(tmp_path / "model"), "chat_template": "chatml-tools"},
        "warmup": {"shared": str(tmp_path)},
    }
    methods = ["recommended", "paper", "accuracy_only", "grpo", "kimi"]
    assert len({shared_warmup(with_method(table, one)) for one in methods}) == 1
    assert shared_warmup(with_method(table, "paper", {"seed": 1})) != shared_warmup(
        with_method(table, "paper")
    )
    before = shared_warmup(with_method(table, "paper"))
    (tmp_path / "model" / "model.safetensors").write_bytes(b"trained on")
    assert shared_warmup(with_method(table, "paper")) != before


def test_learning_rates_go_by_the_model():
    def rates(table):
        config = loads(table)
        return config.warmup.learning_rate, config.optimiser.learning_rate

    assert rates("") == (2e-3, 3e-4)
    assert rates('[model]\npath = "a/b"') == (2e-5, 1e-6)
    assert rates('[model]\npath = "a/b"\nlora = {rank = 8}') == (2e-4, 1e-5)
    assert rates('[model]\npath = "a/b"\n[optimiser]\nlearning_rate = 3e-6') == (2e-5, 3e-6)
