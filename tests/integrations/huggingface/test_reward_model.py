"""A reward model is a reward function."""

import pytest

torch = pytest.importorskip("torch")

from support.small_models import make_tokenizer
from transformers import LlamaConfig, LlamaForSequenceClassification

from paretopo.config import ConfigError, from_table
from paretopo.rewards.own import OwnRewards


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    """Return a folder with a small classifier of random weights."""
    folder = tmp_path_factory.mktemp("my-reward.model-1")
    tokenizer = make_tokenizer()
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2, "num_labels": 1}
    config = LlamaConfig(vocab_size=len(tokenizer), pad_token_id=0, **sizes, **heads)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        LlamaForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def rewards_of(folder):
    table = {"name": "my-reward.model-1", "function": f"model:{folder}"}
    switches = {"stage2_estimator": "rloo", "gate": "none"}
    return OwnRewards(from_table({"objectives": [table], "paretopo": switches}))


def test_a_response_gets_the_logit_of_its_text_whatever_the_batch(classifier):
    own = rewards_of(classifier)
    prompts = ["What is 12 + 34?"] * 10 + [[{"role": "user", "content": "What is 12 + 34?"}]]
    written = ["46"] * 9 + ["legs of a spider: 8, 8, 8, 8"]
    completions = [*written, [{"role": "assistant", "content": "46"}]]
    columns = {"id": ["q"] * 11}
    values = [one["my-reward.model-1"] for one in own.measure(prompts, completions, columns)]
    assert values[0] != pytest.approx(values[9], rel=1e-3)
    assert values[:9] == pytest.approx([values[10]] * 9, rel=1e-5)
    [[alone]] = [list(one.values()) for one in own.measure(prompts[9:10], written[9:], {"id": "q"})]
    assert values[9] == pytest.approx(alone, rel=1e-5)


def test_a_model_that_cannot_be_loaded_is_named(tmp_path):
    [reward] = rewards_of(tmp_path / "nowhere").rewards
    with pytest.raises(ConfigError, match=r"the reward model .*nowhere"):
        reward.function.check()
