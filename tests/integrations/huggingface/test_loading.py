"""Any causal model as a policy: where it lies, its special tokens, its chat template, adapters."""

from __future__ import annotations

import json
import logging

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from support.small_models import make_llama, make_tokenizer, save_folder, save_gguf

from paretopo.config import ConfigError, LoraConfig, ModelConfig
from paretopo.integrations.agents.chat_tools import find_calls, result_frame
from paretopo.integrations.huggingface import loading, threads
from paretopo.integrations.huggingface.files import find_model_files
from paretopo.integrations.huggingface.loading import load_model, load_tokenizer

END = 2  # <|im_end|>
QUESTION = [{"role": "user", "content": "What is 12 + 34?"}]


def add(a: int, b: float) -> str:
    """Adds two numbers.

    Args:
        a: The first.
        b: The second.
    """
    return str(a + b)


# ---- where it lies -------------------------------------------------------------------------------


def test_a_gguf_file_is_found_by_its_name_and_by_its_folder(tmp_path):
    pytest.importorskip("gguf")
    file = tmp_path / "model.gguf"
    file.touch()
    assert find_model_files(str(file)) == find_model_files(str(tmp_path))
    (tmp_path / "other.gguf").touch()
    with pytest.raises(
        ConfigError, match=r"several .gguf files, name one of them: model.gguf, oth"
    ):
        find_model_files(str(tmp_path))


def test_a_folder_without_a_model_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"neither a config.json nor a .gguf file"):
        find_model_files(str(tmp_path))
    with pytest.raises(ConfigError, match="there is no file"):
        find_model_files(str(tmp_path / "model.gguf"))


def test_without_gguf_the_error_names_the_package(tmp_path, monkeypatch):
    (tmp_path / "model.gguf").touch()
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(ConfigError, match="pip install gguf"):
        find_model_files(str(tmp_path))


def test_a_gguf_file_is_the_model_that_it_was_written_from(tmp_path):
    pytest.importorskip("gguf")
    tokenizer = make_tokenizer()
    named = ModelConfig(path=str(save_gguf(tmp_path / "model.gguf", tokenizer)))
    read = load_tokenizer(named)
    tokens = tokenizer("How many legs? <|im_end|> é")["input_ids"]
    assert read("How many legs? <|im_end|> é")["input_ids"] == tokens
    given = torch.tensor([tokens])
    with torch.no_grad():
        expected = make_llama(tokenizer)(given).logits
        torch.testing.assert_close(load_model(named, read)(given).logits, expected)


# ---- special tokens ------------------------------------------------------------------------------


def test_the_end_of_a_turn_in_a_gguf_file_is_corrected(tmp_path, caplog):
    """transformers reads one with eos = bos = <|im_start|>, and without padding."""
    pytest.importorskip("gguf")
    named = ModelConfig(path=str(save_gguf(tmp_path / "model.gguf", make_tokenizer())))
    with caplog.at_level(logging.WARNING, "paretopo"):
        read = load_tokenizer(named)
    assert (read.eos_token_id, read.pad_token_id) == (END, END)
    assert "a turn ends with '<|im_end|>' (2), not with '<|im_start|>' (1)" in caplog.text
    assert load_model(named, read).generation_config.eos_token_id == [END]


def test_missing_padding_token_is_the_end_of_a_turn(tmp_path, caplog):
    named = ModelConfig(path=str(save_folder(tmp_path, make_tokenizer())))
    read = load_tokenizer(named)
    assert (read.pad_token_id, read.padding_side, caplog.text) == (END, "left", "")


def test_the_chat_template_says_how_a_turn_ends(tmp_path):
    """As a base model's with a chat template that it was not trained on."""
    named = ModelConfig(path=str(save_folder(tmp_path, make_tokenizer(end="<|endoftext|>"))))
    read = load_tokenizer(named)
    assert read.eos_token == "<|im_end|>"
    assert load_model(named, read).generation_config.eos_token_id == [END]


def test_wrong_end_token_is_corrected_without_a_template(tmp_path):
    tokenizer = make_tokenizer(end="<|im_start|>", template=None)
    read = load_tokenizer(ModelConfig(path=str(save_folder(tmp_path, tokenizer))))
    assert read.eos_token == "<|im_end|>"


def test_a_tokenizer_and_a_model_that_disagree_are_refused(tmp_path):
    tokenizer = make_tokenizer(end="<|endoftext|>", template=None)
    named = ModelConfig(path=str(save_folder(tmp_path, tokenizer)))
    with pytest.raises(ConfigError, match=r"ends a text with '<\|endoftext\|>' \(0\), the model"):
        load_tokenizer(named)


def test_a_tokenizer_without_any_end_is_refused(tmp_path):
    tokenizer = make_tokenizer(template=None)
    save_folder(tmp_path, tokenizer)
    for name in ("config.json", "generation_config.json"):
        text = json.loads((tmp_path / name).read_text())
        (tmp_path / name).write_text(json.dumps(text | {"eos_token_id": None}))
    about = json.loads((tmp_path / "tokenizer_config.json").read_text())
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(about | {"eos_token": None}))
    with pytest.raises(ConfigError, match="has no token that ends a text"):
        load_tokenizer(ModelConfig(path=str(tmp_path)))


def test_a_tokenizer_with_more_tokens_than_the_model_is_refused(tmp_path):
    tokenizer = make_tokenizer()
    save_folder(tmp_path, tokenizer)
    tokenizer.add_tokens(["<more>"])
    tokenizer.save_pretrained(tmp_path)
    named = ModelConfig(path=str(tmp_path))
    with pytest.raises(ConfigError, match="resize_token_embeddings"):
        load_model(named, load_tokenizer(named))


# ---- chat templates ------------------------------------------------------------------------------


def test_the_bundled_template_is_read_back_as_it_was_written(tmp_path):
    folder = save_folder(tmp_path, make_tokenizer())
    tokenizer = load_tokenizer(ModelConfig(path=str(folder), chat_template="chatml-tools"))
    calls = [("add", {"a": 3, "b": 4.5}), ("calculator", {"expression": "12 * (3 + 4) >= 5"})]
    written = [{"type": "function", "function": {"name": n, "arguments": a}} for n, a in calls]
    asked = tokenizer.apply_chat_template(QUESTION, tokenize=False, add_generation_prompt=True)
    turn = {"role": "assistant", "content": "So: ", "tool_calls": written}
    whole = tokenizer.apply_chat_template([*QUESTION, turn], tokenize=False)
    assert whole.startswith(asked)
    answer = whole[len(asked) :].strip()
    assert answer.endswith("<|im_end|>")
    assert find_calls(answer.removesuffix("<|im_end|>"), tokenizer, [add]) == calls
    # Where transformers is too old for response templates.
    tokenizer.response_template = None
    assert find_calls(answer.removesuffix("<|im_end|>"), tokenizer, [add]) == calls
    before, after = result_frame(tokenizer)
    assert before.startswith("\n")
    assert asked.endswith(after.rpartition("\n")[2])


@pytest.mark.parametrize("text", ["<<add a=3", "12 << 3 and 4 >> 1", "<<12*34=408>>", "408", ""])
def test_other_text_is_not_a_call(tmp_path, text):
    folder = save_folder(tmp_path, make_tokenizer())
    tokenizer = load_tokenizer(ModelConfig(path=str(folder), chat_template="chatml-tools"))
    assert find_calls(text, tokenizer) == find_calls(text) == []


def test_tools_are_presented_in_a_line_each(tmp_path):
    folder = save_folder(tmp_path, make_tokenizer())
    tokenizer = load_tokenizer(ModelConfig(path=str(folder), chat_template="chatml-tools"))
    text = tokenizer.apply_chat_template(QUESTION, tools=[add], tokenize=False)
    assert text.startswith("<|im_start|>system\n<<add a=... b=...>> Adds two numbers.\n<|im_end|>")
    assert "system" not in tokenizer.apply_chat_template(QUESTION, tokenize=False)


def test_chatml_needs_its_tokens(tmp_path):
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(WordLevel({"</s>": 0, "a": 1}, unk_token="a"))
    save_folder(tmp_path, PreTrainedTokenizerFast(tokenizer_object=words, eos_token="</s>"))
    text = json.loads((tmp_path / "generation_config.json").read_text())
    (tmp_path / "generation_config.json").write_text(json.dumps(text | {"eos_token_id": 0}))
    with pytest.raises(ConfigError, match=r"no <.im_end.>: use a .jinja file"):
        load_tokenizer(ModelConfig(path=str(tmp_path), chat_template="chatml-tools"))


def test_own_template_needs_its_response_template(tmp_path):
    folder = save_folder(tmp_path / "model", make_tokenizer())
    file = tmp_path / "mine.jinja"
    file.write_text("{% for m in messages %}[{{ m.role }}]{{ m.content }}<|im_end|>{% endfor %}")
    named = ModelConfig(path=str(folder), chat_template=str(file))
    assert load_tokenizer(named).response_template is None
    back = {"start_anchor": "[assistant]", "fields": {"content": {"close_pattern": "{eos}"}}}
    file.with_suffix(".json").write_text(json.dumps(back))
    found = load_tokenizer(named).response_template
    assert found["fields"]["content"]["close_pattern"] == r"<\|im_end\|>"
    file.with_suffix(".json").write_text("[")
    with pytest.raises(ConfigError, match="is not JSON"):
        load_tokenizer(named)
    with pytest.raises(ConfigError, match=r'"own", "chatml-tools" or a .jinja file'):
        load_tokenizer(ModelConfig(path=str(folder), chat_template="chatml"))


# ---- trained parameters --------------------------------------------------------------------------


def test_adapters_are_merged_into_the_saved_weights(tmp_path):
    pytest.importorskip("peft")
    tokenizer = make_tokenizer()
    config = ModelConfig(path=str(save_folder(tmp_path / "base", tokenizer)), lora=LoraConfig(4))
    read = load_tokenizer(config)
    model = loading.prepare_training(load_model(config, read, dtype=torch.bfloat16), config)
    trained = [one for one in model.parameters() if one.requires_grad]
    assert {one.dtype for one in trained} == {torch.float32}
    assert sum(one.numel() for one in trained) < 0.2 * model.num_parameters()
    with torch.no_grad():
        for one in trained:
            one.add_(0.05)
        given = torch.arange(12)[None]
        expected = model.to(torch.float32)(given).logits
    loading.save_policy(model, read, tmp_path / "saved")
    assert (tmp_path / "saved" / "adapter" / "adapter_model.safetensors").is_file()
    again = config.trained(str(tmp_path / "saved"))
    with torch.no_grad():
        found = load_model(again, load_tokenizer(again))(given).logits
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("has", [True, False])
def test_bfloat16_is_used_if_the_processor_supports_it(monkeypatch, has):
    monkeypatch.setattr(loading, "has_bfloat16", lambda: has)
    loaded = ModelConfig(path="somebody/model")
    expected = torch.bfloat16 if has else torch.float32
    assert loading.compute_dtype(loaded, "cpu") == expected
    assert loading.compute_dtype(ModelConfig(), "cpu") == torch.float32
    assert loading.compute_dtype(ModelConfig(path="m/m", dtype="float32"), "cpu") == torch.float32
    asked = ModelConfig(path="somebody/model", dtype="bfloat16")
    if has:
        assert loading.compute_dtype(asked, "cpu") == torch.bfloat16
    else:
        with pytest.raises(ConfigError, match="many times slower"):
            loading.compute_dtype(asked, "cpu")


def test_threads_are_never_more_than_the_cores(monkeypatch):
    given = []
    monkeypatch.setattr(threads, "physical_cores", lambda: 4)
    monkeypatch.setattr(torch, "set_num_threads", given.append)
    for limit in ("", "2", "9"):
        monkeypatch.setenv("OMP_NUM_THREADS", limit)
        for asked, made in ((0, False), (0, True), (3, False), (9, True)):
            threads.use_threads(asked, made=made)
    assert given == [4, 1, 3, 4, 2, 1, 3, 4, 4, 1, 3, 4]


def test_a_core_with_two_threads_counts_once(monkeypatch, tmp_path):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
    monkeypatch.setattr(threads, "_CPU", tmp_path)
    monkeypatch.setattr(threads, "_QUOTA", tmp_path / "cpu.max")
    assert threads.physical_cores() == 4
    for cpu, siblings in enumerate(("0,2", "1,3", "0,2", "1,3")):
        (tmp_path / f"cpu{cpu}" / "topology").mkdir(parents=True)
        (tmp_path / f"cpu{cpu}" / "topology" / "thread_siblings_list").write_text(siblings + "\n")
    assert threads.physical_cores() == 2
    (tmp_path / "cpu.max").write_text("100000 100000\n")
    assert threads.physical_cores() == 1
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert threads.physical_cores() == 2
