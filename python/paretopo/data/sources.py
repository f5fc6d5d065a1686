"""The data sets of the paper: where each comes from, how it asks, and how many rows it has.

Repositories, revisions and checksums are those that public projects pin; nothing of the data is
kept here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

_HUB = "https://huggingface.co/datasets"


@dataclass(frozen=True)
class Source:
    """One data set.

    Attributes:
        name: What the command line and the folder are called.
        title: What it is.
        protocol: How its questions are asked, and its answers graded: by ToRL's prompt, a box and
            mathematics, or by Search-R1's prompt, answer tags and exact match.
        training: It is trained on, and split; else it is a benchmark, and kept whole.
        rows: Rows of the published file, about so many if they are not `counted`.
        file: Path of that file in its repository.
        sha256: Of that file, where a public project has recorded it.
        repository: On the Hugging Face Hub, or None.
        revision: The state of the repository.
        elsewhere: Address of the file if it is not on the Hub.
        alternatives: Patterns of file names by which a folder is searched too.
        counted: Has a public project counted the rows?
        whole_numbers: Every answer is a whole number, however written.
    """

    name: str
    title: str
    protocol: Literal["torl", "search_r1"]
    training: bool
    rows: int
    file: str
    sha256: str | None = None
    repository: str | None = None
    revision: str | None = None
    elsewhere: str | None = None
    alternatives: tuple[str, ...] = ()
    counted: bool = True
    whole_numbers: bool = False

    def accepts_count(self, rows: int) -> bool:
        """Can a file of so many rows be the published one?

        >>> [SOURCES["torl"].accepts_count(rows) for rows in (28_100, 374)]
        [True, False]
        """
        return abs(rows - self.rows) <= (0 if self.counted else 0.05 * self.rows)

    @property
    def address(self) -> str:
        """Where a browser finds the file."""
        if self.repository is None:
            return str(self.elsewhere)
        return f"{_HUB}/{self.repository}/resolve/{self.revision}/{self.file}"


_SEARCH_R1 = ("PeterJinGo/nq_hotpotqa_train", "b7d80abfee334a7a91cb377544f09180d58b34f6")
_FLASHRAG = ("RUC-NLPIR/FlashRAG_datasets", "bcafb8dd07d453be3cbeeeb3f78be1841bddf92c")

_TABLE = (
    Source(
        "torl",
        "ToRL's training set",
        "torl",
        training=True,
        rows=28_000,
        counted=False,
        file="data/torl_data/train.parquet",
        elsewhere="https://github.com/GAIR-NLP/ToRL/raw/main/data/torl_data/train.parquet",
        alternatives=("train.parquet", "train.*"),
    ),
    Source(
        "search_r1",
        "Search-R1's training set",
        "search_r1",
        training=True,
        rows=169_615,
        file="train.parquet",
        sha256="c3cc21e862a8469105de666101578cbff23cdc77e91a803cef102622c89cc4f6",
        repository=_SEARCH_R1[0],
        revision=_SEARCH_R1[1],
        alternatives=("train.*",),
    ),
    Source(
        "math500",
        "MATH-500",
        "torl",
        training=False,
        rows=500,
        file="test.jsonl",
        sha256="35dc41080a3680858b27fa7e0533d2d547825316fc5dafe5d316f4ccc5a06132",
        repository="HuggingFaceH4/MATH-500",
        revision="6e4ed1a2a79af7d8630a6b768ec859cb5af4d3be",
        alternatives=("test.*", "test-*-of-*.*"),
    ),
    Source(
        "aime24",
        "AIME 2024, I and II",
        "torl",
        training=False,
        rows=30,
        file="data/train-00000-of-00001.parquet",
        sha256="26139847601a5037c237d5928b195e7260ca8074cf4f264b794af42847f79ccf",
        repository="HuggingFaceH4/aime_2024",
        revision="2fe88a2f1091d5048c0f36abc874fb997b3dd99a",
        whole_numbers=True,
        alternatives=("train-*-of-*.*", "aime_2024_problems.*", "test.*", "test-*-of-*.*"),
    ),
    Source(
        "aime25",
        "AIME 2025, I and II",
        "torl",
        training=False,
        rows=30,
        file="test.jsonl",
        sha256="b4e273c02d3e7fe1b74b59eae768fc8230bfb0f79539890cb56f4361caac0331",
        repository="math-ai/aime25",
        revision="563bb8404243c5f09de6ec262f2db674fe5bce9b",
        whole_numbers=True,
        alternatives=("test.*", "test-*-of-*.*", "train-*-of-*.*"),
    ),
    Source(
        "olympiadbench",
        "OlympiadBench, OE_TO_maths_en_COMP",
        "torl",
        training=False,
        rows=674,
        file="OlympiadBench/OE_TO_maths_en_COMP/OE_TO_maths_en_COMP.parquet",
        repository="Hothan/OlympiadBench",
        revision="91184b52131e7fc9455fef848035173aea8cc01a",
        alternatives=("OE_TO_maths_en_COMP.*", "OE_TO_maths_en_COMP/train/*.parquet"),
    ),
    Source(
        "amc23",
        "AMC 12 of 2023",
        "torl",
        training=False,
        rows=40,
        file="test-00000-of-00001.parquet",
        sha256="b696e87ba47be4e879a60fd4ef1d4aa522ba78c5ae013c6aff5cc9788a397c5e",
        repository="math-ai/amc23",
        revision="80815d37005feb82cd7f8fbc6901d5d3eff43057",
        whole_numbers=True,
        alternatives=("test-*-of-*.*", "test.*"),
    ),
    Source(
        "nq",
        "Natural Questions, test",
        "search_r1",
        training=False,
        rows=3_610,
        file="nq/test.jsonl",
        repository=_FLASHRAG[0],
        revision=_FLASHRAG[1],
        alternatives=("test.jsonl", "test.parquet"),
    ),
    Source(
        "hotpotqa",
        "HotpotQA, development set",
        "search_r1",
        training=False,
        rows=7_405,
        file="hotpotqa/dev.jsonl",
        repository=_FLASHRAG[0],
        revision=_FLASHRAG[1],
        alternatives=("dev.jsonl", "test.parquet", "hotpot_dev_*.json"),
    ),
)

SOURCES: dict[str, Source] = {source.name: source for source in _TABLE}
