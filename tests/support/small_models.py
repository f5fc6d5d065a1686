"""Loaded models of a few hundred kilobytes, in the formats of real ones: a Llama with random
weights and a byte-level BPE tokenizer, as a folder of transformers' and as a GGUF file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import AddedToken, Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE
from tokenizers.trainers import BpeTrainer
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

CHATML = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
WITHOUT_TOOLS = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content']"
    " + '<|im_end|>' + '\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
_TEXTS = (
    "What is 12 + 34? Compute 7 * 8 - 9. How much is 56 / 7? The result is 46. calculator "
    "expression= <<calculator expression=12+34>> How many legs has a spider? user assistant tool "
    "system answer: Evaluates an arithmetic expression. "
) * 4


def make_tokenizer(*, end: str = "<|im_end|>", template: str | None = WITHOUT_TOOLS) -> Any:
    """Make a tokenizer of 400 tokens, including those of ChatML but no padding token."""
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = BpeTrainer(
        vocab_size=400,
        special_tokens=list(CHATML),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([_TEXTS], trainer)
    tokenizer.add_special_tokens([AddedToken(one, special=True) for one in CHATML])
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<|im_start|>",
        eos_token=end,
        clean_up_tokenization_spaces=False,
    )
    fast.chat_template = template
    return fast


def make_llama(tokenizer: Any, *, seed: int = 0, heads: int = 4) -> LlamaForCausalLM:
    """Make a model of two layers with tied embeddings that ends a text with <|im_end|>."""
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=heads,
        num_key_value_heads=heads // 2,
        max_position_embeddings=512,
        tie_word_embeddings=True,
        bos_token_id=1,
        eos_token_id=2,
        initializer_range=0.04,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return LlamaForCausalLM(config)


def save_folder(folder: Path, tokenizer: Any, **options: Any) -> Path:
    """As `save_pretrained` does."""
    make_llama(tokenizer, **options).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def save_gguf(file: Path, tokenizer: Any, **options: Any) -> Path:
    """As llama.cpp's converter writes a Llama, in float32; the folder holds nothing else."""
    import gguf

    model = make_llama(tokenizer, **options)
    config = model.config
    backend = json.loads(tokenizer.backend_tokenizer.to_str())["model"]
    writer = gguf.GGUFWriter(str(file), "llama")
    writer.add_name("small llama")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_dimension_count(config.head_dim)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(config.vocab_size)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    tokens = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    writer.add_token_list(tokens)
    kinds = (gguf.TokenType.CONTROL, gguf.TokenType.NORMAL)
    writer.add_token_types([kinds[one not in CHATML] for one in tokens])
    merges = [one if isinstance(one, str) else " ".join(one) for one in backend["merges"]]
    writer.add_token_merges(merges)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    if tokenizer.chat_template is not None:
        writer.add_chat_template(tokenizer.chat_template)
    for name, value in _tensors(model):
        writer.add_tensor(name, value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


_NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}


def _tensors(model: Any) -> list[tuple[str, np.ndarray]]:
    config, found = model.config, []
    for name, value in model.named_parameters():
        array = value.detach().numpy()
        if name == "model.embed_tokens.weight":
            found.append(("token_embd.weight", array))
        elif name == "model.norm.weight":
            found.append(("output_norm.weight", array))
        else:
            _, _, layer, rest = name.removesuffix(".weight").split(".", 3)
            if rest.endswith(("q_proj", "k_proj")):
                heads = config.num_attention_heads
                heads = heads if rest.endswith("q_proj") else config.num_key_value_heads
                array = _interleave(array, heads)
            found.append((f"blk.{layer}.{_NAMES[rest]}.weight", array))
    return found


def _interleave(array: np.ndarray, heads: int) -> np.ndarray:
    """llama.cpp's order of the rotary halves."""
    rows, columns = array.shape
    halves = array.reshape(heads, 2, rows // heads // 2, columns)
    return np.ascontiguousarray(halves.swapaxes(1, 2).reshape(rows, columns))
