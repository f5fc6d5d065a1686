"""Writes questions and passages for math.toml and search.toml from published files.

    python examples/two_worlds/make_data.py --from FOLDER

FOLDER holds gsm8k/ with one .jsonl file in the layout of Qwen2.5-Math's evaluation/data, and
hipporag/ with HippoRAG's hotpotqa_train.json and 2wikimultihopqa_corpus.json. GSM8K's test problems
and HotpotQA's 100 questions are each parted into training and held out: these runs show that
rollouts hold, and no accuracy of theirs is a result.
"""

import argparse
import json
from pathlib import Path

from paretopo.protocols.search_r1 import search_r1_prompt
from paretopo.protocols.torl import torl_prompt
from paretopo.records.schema import Example, write_rows

HERE = Path(__file__).parent
HELD_OUT = 24  # questions of each

# SmolLM2 calls no tool by itself, and imitates calls that stand before the question.
PROGRAM = """Problem: A box holds 12 rows of 9 pens. 30 pens are sold. How many are left?
Solution:
```python
print(12 * 9 - 30)
```
```output
78
```
The answer is \\boxed{78}.

"""
SEARCHES = """Question: Which river flows through the capital of Austria?
<think> I need the capital's river. </think> <search> capital of Austria river </search>

<information>Doc 1(Title: "Vienna") Vienna lies on the Danube.</information>

<answer> Danube </answer>

Question: Who wrote the novel Middlemarch?
<think> I need the author of Middlemarch. </think> <search> author of Middlemarch </search>

<information>Doc 1(Title: "Middlemarch") Middlemarch is a novel by George Eliot.</information>

<answer> George Eliot </answer>

"""


def read_gsm8k(folder):
    """The test problems; the answer follows #### at the end of a solution."""
    (path,) = (folder / "gsm8k").glob("*.jsonl")
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        row = json.loads(line)
        answer = row["answer"].rpartition("####")[2].strip().replace(",", "")
        prompt = torl_prompt(f"{PROGRAM}Problem: {row['question']}")
        prompt = prompt.replace("Assistant:", "Solution:")
        yield Example(f"gsm8k/{number}", "gsm8k", row["question"], prompt, answer)


def read_hotpotqa(folder):
    """The questions."""
    for row in json.loads((folder / "hipporag" / "hotpotqa_train.json").read_text("utf-8")):
        before, mark, asked = search_r1_prompt(row["question"]).rpartition("Question:")
        prompt = f"{before}\n\n{SEARCHES}{mark}{asked}"
        yield Example(f"hotpotqa/{row['_id']}", "hotpotqa", row["question"], prompt, row["answer"])


def read_passages(folder):
    """Titles and texts: the paragraphs of the questions, and 2WikiMultihopQA's."""
    folder = folder / "hipporag"
    for row in json.loads((folder / "hotpotqa_train.json").read_text("utf-8")):
        for title, sentences in row["context"]:
            yield title, "".join(sentences).strip()
    for row in json.loads((folder / "2wikimultihopqa_corpus.json").read_text("utf-8")):
        yield row["title"], row["text"].strip()


def write(folder, out):
    """The five files."""
    for name, rows in (("math", read_gsm8k(folder)), ("search", read_hotpotqa(folder))):
        rows = list(rows)
        write_rows(out / f"{name}_train.jsonl", rows[HELD_OUT:])
        write_rows(out / f"{name}_held_out.jsonl", rows[:HELD_OUT])
    with (out / "passages.jsonl").open("w", encoding="utf-8") as file:
        for number, (title, text) in enumerate(dict.fromkeys(read_passages(folder))):
            passage = {"id": str(number), "title": title, "text": text}
            file.write(json.dumps(passage, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--from", dest="folder", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--out", type=Path, default=HERE, metavar="FOLDER")
    asked = parser.parse_args()
    write(asked.folder, asked.out)
