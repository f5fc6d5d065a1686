"""The parts of a short training with TRL's own trainer on a CPU."""

from trl import GRPOConfig

from paretopo.integrations.huggingface.tiny_model import make_model, make_tokenizer


def grpo_arguments(folder, **settings):
    """Settings of a quiet training on the CPU that saves nothing, with others over them."""
    quiet = {
        "learning_rate": 1e-2,
        "use_cpu": True,
        "bf16": False,
        "gradient_checkpointing": False,
        "report_to": "none",
        "disable_tqdm": True,
        "save_strategy": "no",
        "dataloader_pin_memory": False,
    }
    return GRPOConfig(output_dir=str(folder), **quiet | settings)


def tiny_policy(words):
    """A model of one layer and its tokenizer, as keyword arguments of a trainer."""
    tokenizer = make_tokenizer([words])
    model = make_model(tokenizer, layers=1, width=16, heads=2, seed=0)
    return {"model": model, "processing_class": tokenizer}
