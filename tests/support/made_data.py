"""Invented questions in the layouts of published data sets, files of them, and their rows."""

import csv
import json

import pyarrow
import pyarrow.parquet

from paretopo.protocols.search_r1 import search_r1_prompt
from paretopo.records.schema import read_rows
from paretopo_lab.prepare.preparing import prepare
from paretopo_lab.prepare.sources import SOURCES
from paretopo_lab.prepare.training_set import Options

TOWNS = ["Orb", "Vell", "Quim", "Drast", "Nool", "Pesk", "Tarn", "Ulmo"]


def torl_row(number, question, answer, *, source="made_math", split="train"):
    """A row of ToRL's Parquet files."""
    return {
        "data_source": source,
        "prompt": [
            {"role": "system", "content": "Reason, then answer."},
            {"role": "user", "content": question},
        ],
        "ability": "math",
        "reward_model": {"ground_truth": answer, "stype": "rule"},
        "extra_info": {"id": number, "split": split},
    }


def torl_rows(count=300):
    return [
        torl_row(
            number,
            f"A cart holds {number} sacks and {number + 3} jars. How many things?",
            str(2 * number + 3),
        )
        for number in range(count)
    ]


def search_row(number, question, targets, *, source="nq", split="train"):
    """A row of Search-R1's Parquet files, made from FlashRAG's."""
    return {
        "id": f"{split}_{number}",
        "question": question,
        "golden_answers": targets,
        "metadata": {"context": "x" * 50},
        "data_source": source,
        "prompt": [{"role": "user", "content": search_r1_prompt(question)}],
        "ability": "fact-reasoning",
        "reward_model": {"style": "rule", "ground_truth": {"target": targets}},
        "extra_info": {"split": split, "index": number},
    }


def search_rows(count=200):
    return [
        search_row(
            number // 2,  # NQ and HotpotQA both begin at train_0
            f"who founded {TOWNS[number % 8]} in the year {1000 + number}",
            [f"Dame {TOWNS[number % 8]} {number}", f"{TOWNS[number % 8]} {number}"],
            source=("nq", "hotpotqa")[number % 2],
        )
        for number in range(count)
    ]


def flashrag_row(number, question, answers, split="test"):
    return {
        "id": f"{split}_{number}",
        "question": question,
        "golden_answers": answers,
        "metadata": {"from": "x"},
    }


def math500_row(number, problem, answer):
    return {
        "problem": problem,
        "solution": f"It is $\\boxed{{{answer}}}$.",
        "answer": answer,
        "subject": "Counting",
        "level": 3,
        "unique_id": f"test/counting/{number}.json",
    }


def olympiad_row(number, question, final_answer, *, several=False, context=None, **other):
    row = {
        "id": number,
        "question": question,
        "solution": ["Think."],
        "final_answer": final_answer,
        "context": context,
        "image_1": None,
        "image_2": None,
        "modality": "Text-only",
        "subfield": "Algebra",
        "is_multiple_answer": several,
        "unit": None,
        "answer_type": "Numerical",
        "error": None,
    }
    return row | other


def write(path, rows):
    """A file of the rows, by its extension."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows), encoding="utf-8")
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, list(rows[0]))
            table.writeheader()
            for row in rows:
                table.writerow(
                    {
                        k: v if isinstance(v, (str, int, float)) or v is None else json.dumps(v)
                        for k, v in row.items()
                    }
                )
    return path


def prepare_rows(tmp_path, name, rows, file="raw.parquet", **options):
    """The manifest, and the rows of each output."""
    path = write(tmp_path / "raw" / file, rows)
    manifest = prepare(SOURCES[name], path, tmp_path / "data", Options(**options))
    folder = tmp_path / "data" / name
    return manifest, *(list(read_rows(folder / output["path"])) for output in manifest["outputs"])
