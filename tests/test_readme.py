"""README: its examples run and print the quoted lines."""

import re
import runpy
from pathlib import Path

import pytest

import paretopo
import paretopo_core as pp
from paretopo import cli

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")
SWAP = re.search(r"```diff\n(.*?)```", TEXT, re.DOTALL)[1]


def side(sign):
    """The script of README's diff before ("-") or after ("+") the change."""
    lines = [line for line in SWAP.splitlines() if line[:1] in (sign, " ", "")]
    return "\n".join(line[1:] for line in lines)


def test_acceleration_runs():
    pytest.importorskip("pymoo")
    [block] = [one for one in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL) if ">" not in one]
    assert "accelerate" in block
    exec(compile(block, "README.md", "exec"), {"pp": pp})


@pytest.mark.filterwarnings("ignore")  # of TRL, on a run of two steps
def test_swapped_trainer_trains(tmp_path):
    torch = pytest.importorskip("torch")
    trl = pytest.importorskip("trl")
    example = runpy.run_path(str(ROOT / "examples" / "own_script.py"))
    torch.manual_seed(0)
    training, held_out = example["make_questions"]()
    texts = [*training["prompt"], *held_out["prompt"], *example["ANSWERS"], *example["TOPICS"]]
    model, tokenizer = example["make_policy"](texts)
    names = {
        "model": model,
        "tokenizer": tokenizer,
        "correct": example["correct"],
        "polite": example["polite"],
        "questions": training,
        "held_out": held_out,
        "config": trl.GRPOConfig(
            output_dir=str(tmp_path),
            max_steps=2,
            per_device_train_batch_size=16,
            num_generations=8,
            max_completion_length=8,
            report_to="none",
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
        ),
    }
    exec(compile(side("+"), "README.md", "exec"), names)
    names["trainer"].train()
    assert len((tmp_path / "steps.jsonl").read_text(encoding="utf-8").splitlines()) == 2


def test_compare_prints_the_quoted_lines(tmp_path, monkeypatch, capsys):
    runpy.run_path(str(ROOT / "examples" / "answers.py"), run_name="__main__")
    (tmp_path / "answers.csv").write_text(capsys.readouterr().out, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    made = r"```\npython examples/answers.py > answers.csv\n(paretopo compare .*?)```"
    [block] = re.findall(made, TEXT, re.DOTALL)
    command, *quoted = filter(None, block.splitlines())
    cli.main(command.split()[1:])
    printed = capsys.readouterr().out.splitlines()
    assert len(quoted) == 7
    assert [line for line in quoted if line not in printed] == []


@pytest.mark.parametrize("name", [*pp.__all__, "igd"])
def test_the_package_for_training_names_the_core(name):
    right = "inverted_generational_distance" if name == "igd" else name
    wanted = rf"has no attribute '{name}'; import paretopo_core as pp, and write pp\.{right}\b"
    with pytest.raises(AttributeError, match=wanted):
        getattr(paretopo, name)
