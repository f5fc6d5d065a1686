"""Train a policy on TRL with a script of your own, on several objectives.

A help desk sends a question to the department that can help. It should name the right one, in few
tokens, and be polite. The model is small and made on the spot. First it imitates the old desk:
answers are long, sometimes rude, and name the wrong department in three of ten cases. The script
downloads nothing and takes a minute or two on one CPU core. Lines that end in "# paretopo" were
added to a plain script for TRL; docs/scripts.md explains them.

    python examples/own_script.py [output folder]
"""

import random
import sys

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM
from trl import GRPOConfig

from paretopo.integrations.trl import ParetoGRPOTrainer, ScriptSession  # paretopo

TOPICS = {
    "billing": ("invoice", "refund", "price", "receipt"),
    "delivery": ("parcel", "courier", "address", "tracking"),
    "repairs": ("screen", "battery", "keyboard", "noise"),
}
FORMS = (
    "who knows about the {}",
    "where is my {}",
    "help with this {}",
    "a word about my {}",
    "who helps with the {}",
    "please look at the {}",
    "what about the {}",
    "i wonder about my {}",
)
POLITE = ("please", "thanks")
ANSWERS = (
    "please ask the {} desk about this",
    "thanks the {} desk knows all about this",
    "ask the {} desk",
    "this is for the {} desk they know all about this",
)


def make_questions():
    """Every form with every topic; a quarter of them is held out."""
    rows = [
        {"prompt": form.format(topic), "department": department}
        for form in FORMS
        for department, topics in TOPICS.items()
        for topic in topics
    ]
    random.Random(0).shuffle(rows)
    held_out = len(rows) // 4
    return Dataset.from_list(rows[held_out:]), Dataset.from_list(rows[:held_out])


def make_policy(texts):
    words = dict.fromkeys(word for text in texts for word in text.split())
    vocabulary = {word: number for number, word in enumerate(["<pad>", "<end>", *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<pad>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<end>", padding_side="left"
    )
    config = Qwen3Config(
        vocab_size=len(vocabulary),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=32,
        pad_token_id=fast.pad_token_id,
        eos_token_id=fast.eos_token_id,
        bos_token_id=None,
    )
    return Qwen3ForCausalLM(config), fast


def imitate(model, tokenizer, questions, steps=150):
    """Learn to write as the old desk did."""
    rng = random.Random(0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(steps):
        rows = []
        for question in rng.choices(list(questions), k=32):
            named = question["department"] if rng.random() < 0.7 else rng.choice([*TOPICS])
            answer = rng.choice(ANSWERS).format(named) + " <end>"
            prompt, written = tokenizer([question["prompt"], answer])["input_ids"]
            rows.append((prompt + written, [-100] * len(prompt) + written))
        longest = max(len(tokens) for tokens, _ in rows)
        padded = [(t + [0] * (longest - len(t)), w + [-100] * (longest - len(w))) for t, w in rows]
        tokens, labels = (torch.tensor(column) for column in zip(*padded, strict=True))
        model(input_ids=tokens, attention_mask=(tokens > 0).long(), labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def correct(completions, department, **_):
    """1 where the only department that the answer names is the right one."""
    named = [{word for word in text.split() if word in TOPICS} for text in completions]
    return [float(seen == {right}) for seen, right in zip(named, department, strict=True)]


def polite(completions, **_):
    """1 where the answer has a polite word."""
    return [float(any(word in text.split() for word in POLITE)) for text in completions]


def main(folder):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    training, held_out = make_questions()
    model, tokenizer = make_policy([*training["prompt"], *held_out["prompt"], *ANSWERS, *TOPICS])
    imitate(model, tokenizer, training)
    objectives = [  # paretopo
        {"name": "correct", "weight": 0.5},  # paretopo
        {"name": "polite", "weight": 0.25, "low": 0, "high": 1},  # paretopo
        {"name": "tokens", "weight": 0.25},  # paretopo
    ]  # paretopo
    session = ScriptSession({"objectives": objectives}, gate="correct")  # paretopo
    trainer = ParetoGRPOTrainer(
        session=session,  # paretopo
        model=model,
        processing_class=tokenizer,
        reward_funcs=[correct, polite],
        train_dataset=training,
        eval_dataset=held_out,
        args=GRPOConfig(
            output_dir=folder,
            max_steps=60,
            learning_rate=5e-4,
            lr_scheduler_type="constant",
            per_device_train_batch_size=64,
            per_device_eval_batch_size=64,
            num_generations=8,
            max_completion_length=12,
            eval_strategy="steps",
            eval_steps=10,
            save_steps=50,
            logging_steps=10,
            report_to="none",
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            dataloader_pin_memory=False,
        ),
    )
    trainer.train(resume_from_checkpoint=True)
    print("report:", session.write_report())  # paretopo


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "runs/help-desk")
