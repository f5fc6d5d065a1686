"""examples/word_problems: training questions share neither text nor sums with test questions."""

import doctest
import importlib.util
import itertools
import json
import random
import re
import runpy
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from support import published_files

from paretopo.config import load as load_config
from paretopo.tools.calculator import evaluate
from paretopo_lab.study import plan

FOLDER = Path(__file__).parents[1] / "examples" / "word_problems"


def load(name):
    """One of the example's files as a module."""
    spec = importlib.util.spec_from_file_location(f"word_problems_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


questions = load("make_questions")


def asdiv(body, question, formula, answer):
    return {"body": body, "question": question, "formula": formula, "answer": answer, "idx": 0}


def mawps(text, target, kind="singleop"):
    return {"input": text, "target": target, "type": kind, "idx": 0}


def svamp(body, question, equation, answer):
    return {"Body": body, "Question": question, "Equation": equation, "Answer": answer}


def test_examples_in_its_docstrings_hold():
    failed, tried = doctest.testmod(questions)
    assert tried >= 5
    assert not failed


def made_problems(count):
    """Problems of made-up words, no two alike, with sums that come again."""
    draw = random.Random(1)
    for at in range(count):
        words = ["".join(draw.choices("abdefgiklmnoprstu", k=5)) for _ in range(12)]
        a, b, sign = draw.randint(11, 60), draw.randint(2, 10), "+-*"[at % 3]
        text = f"Ann {' '.join(words[:5])} {a} {' '.join(words[5:9])} {b} {' '.join(words[9:])}?"
        source = "svamp" if at % 5 == 0 else "asdiv"
        yield questions.Problem(f"{source}-{at}", text, f"{a}{sign}{b}")


def assert_disjoint(parts):
    """No text of a test problem, but for names and numbers, and no sum of one is trained on."""
    tests = [*parts["held_out"], *parts["svamp"]]
    sums = {step for one in tests for step in one.steps}
    parted = (re.split(r"([+*])", one) for one in sums if re.search(r"[+*]", one))
    sums |= {f"{right}{sign}{left}" for left, sign, right in parted}
    assert not [one for one in parts["train"] if sums & set(one.steps)]

    everything = [*parts["train"], *tests]
    small = {word for one in everything for word in re.findall(r"\b[a-z]+\b", one.text)}
    read = {one.id: questions.mask(one.text, small) for one in everything}
    trained = [*{read[one.id] for one in parts["train"]}]  # variants have their original's words
    having = defaultdict(list)
    for at, other in enumerate(trained):
        for pair in other:
            having[pair].append(at)
    for one in tests:
        mine = read[one.id]
        shared = Counter(itertools.chain.from_iterable(having[pair] for pair in mine))
        for at, common in shared.items():
            assert common < 0.6 * (len(mine) + len(trained[at]) - common), one.text


def test_train_and_test_share_neither_words_nor_sums(monkeypatch):
    monkeypatch.setattr(questions, "HELD_OUT", 25)
    problems = list(made_problems(200))
    # A copy of a SVAMP problem with another name and other numbers.
    copied = re.sub(r"\d+", "99", problems[0].text.replace("Ann", "Eve"))
    problems.append(questions.Problem("mawps-0", copied, "99+99"))
    parts, removed = questions.split(problems, random.Random(0))
    assert len(parts["held_out"]) == 25
    assert len(parts["svamp"]) == 40
    assert removed["near-duplicates of SVAMP"] == 1
    assert removed["same calculation as a test problem"] > 0
    assert_disjoint(parts)


@pytest.mark.parametrize(
    ("response", "grade"),
    [
        ("7", 1.0),
        ("7.0", 1.0),
        ("The answer is 7.", 1.0),
        ("3 and 4 make 7 pens", 1.0),
        ("-7", 0.0),
        ("70", 0.0),
        ("0.7", 0.0),
        ("7 of 8", 0.0),
        ("", 0.0),
        ("seven", 0.0),
    ],
)
def test_numbers_are_compared_as_numbers(response, grade):
    correct = runpy.run_path(str(FOLDER / "rewards.py"))["correct"]
    assert correct([response], ["7"]) == [grade]
    assert correct(["It is 3.5", "1,200.", "35"], ["3.5", "1200", "3.5"]) == [1.0, 1.0, 0.0]


def test_demonstrations_are_right_and_some_call_more_than_needed():
    demonstrate = runpy.run_path(str(FOLDER / "warmup.py"))["demonstrate"]
    correct = runpy.run_path(str(FOLDER / "rewards.py"))["correct"]
    draw, calls = random.Random(0), []
    row = questions.Problem("a", "", "(84-40)/4").row()
    for _ in range(400):
        *before, last = demonstrate(draw, **row)
        assert last["role"] == "assistant"
        assert correct([last["content"]], ["11"]) == [1.0]
        results = [one["content"] for one in before if one["role"] == "tool"]
        assert set(results) <= {"44", "11"}
        calls.append(len(results))
    shares = [calls.count(count) / len(calls) for count in range(5)]
    assert 0.1 < shares[0] < 0.2  # guesses
    assert sum(shares[2:]) > 0.4
    assert max(calls) == 4


@pytest.mark.parametrize(
    ("name", "tokens"), [("train", 96), ("three_objectives", 96), ("openrlhf", 64)]
)
def test_the_configurations_are_valid_and_fit_a_rollout(name, tokens):
    config = load_config(FOLDER / f"{name}.toml")
    assert config.optimiser.max_completion_tokens >= tokens  # three calls and results; two
    assert config.objectives[0].weight == sum(one.weight for one in config.objectives[1:])
    assert len((FOLDER / "README.md").read_text(encoding="utf-8").splitlines()) <= 50


def test_study_plan_contains_the_example():
    study = plan.load(FOLDER.parents[1] / "docs" / "study" / "word_problems.toml")
    (task,) = study.tasks.values()
    assert Path(task.config).resolve() == FOLDER / "train.toml"
    assert Path(task.test).resolve() == FOLDER / "svamp.jsonl"
    configs = {
        cell.method: load_config(task.config, study.overrides_of_training(cell))
        for cell in study.cells()
    }
    assert len(study.cells()) == 15
    assert {one.optimiser.max_tool_calls for one in configs.values()} == {task.most}
    paper = configs["paper+first_half"]
    assert paper.paretopo.stage1_steps == paper.optimiser.steps / 2
    assert configs["accuracy_only"].paretopo.weights == (1.0, 0.0)
    assert configs["grpo"].paretopo.weights == configs["recommended"].paretopo.weights


def test_questions_come_from_the_test_files_of_a_folder(tmp_path):
    rows = {
        "asdiv": asdiv("Ann has 3 pens.", "She buys 4. How many now?", "3+4=7", "7 (pens)"),
        "mawps": mawps("Ben had 9 pens and lost 2. How many now?", 7.0),
        "svamp": svamp("Cy has 8 pens.", "He sells 5. How many now?", "( 8.0 - 5.0 )", 3.0),
    }
    for name, row in rows.items():
        (tmp_path / name).mkdir()
        for file in ("test.jsonl", "singleop.jsonl"):
            (tmp_path / name / file).write_text(json.dumps(row), encoding="utf-8")
    problems, left_out = questions.read_problems(tmp_path)
    assert [one.formula for one in problems] == ["3+4", "9-2", "8-5"]
    assert not left_out

    (tmp_path / "mawps" / "a_test.jsonl").touch()
    with pytest.raises(SystemExit, match=r"mawps must hold one \*test.jsonl, found 2"):
        questions.read_problems(tmp_path)


@pytest.mark.long
@pytest.mark.skipif(not published_files.FOLDER.is_dir(), reason=published_files.MISSING)
def test_published_problems_split_without_overlap():
    problems, _ = questions.read_problems(published_files.FOLDER)
    parts, removed = questions.split(problems, random.Random(0))
    counts = {name: len(members) for name, members in parts.items()}
    assert counts == {"train": 4450, "held_out": 320, "svamp": 985}
    assert removed["near-duplicates of SVAMP"] == 122
    assert_disjoint(parts)
    for members in parts.values():
        for one in members:
            assert one.row()["answer"] == questions.format_number(evaluate(one.formula))
