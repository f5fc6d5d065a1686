"""The data sets: source, prompt format, number of rows, and marks for recognition.

Repositories, revisions and checksums are those that public projects pin. The only data stored here
are digests of five questions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

_HUB = "https://huggingface.co/datasets"


@dataclass(frozen=True)
class Source:
    """One data set.

    Attributes:
        name: Name on the command line and of the folder.
        title: Title for readers.
        protocol: The form of questions and grading: ToRL's prompt, a box and mathematics, or
            Search-R1's prompt, answer tags and exact match.
        training: True for a training set, which is split; a benchmark stays whole.
        rows: Number of rows of the published file; approximate unless `counted`.
        file: Path of that file in its repository.
        sha256: Its checksum, if a public project has recorded it.
        repository: On the Hugging Face Hub, or None.
        revision: Revision of the repository.
        elsewhere: Address of the file if it is not on the Hub.
        alternatives: Further patterns of file names in a folder.
        counted: True if a public project has counted the rows.
        whole_numbers: True if every answer is a whole number, however written.
        other_rows: Numbers of rows of other known copies, samples included.
        marks: For benchmarks, the first 12 hexadecimal digits of the digests
            (`training_set.digest`) of five questions that every known copy has.
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
    other_rows: tuple[int, ...] = ()
    marks: tuple[str, ...] = ()

    def accepts_count(self, rows: int) -> bool:
        """Return whether a file with this number of rows can be the published one.

        >>> [SOURCES["torl"].accepts_count(rows) for rows in (28_100, 374)]
        [True, False]
        """
        return abs(rows - self.rows) <= (0 if self.counted else 0.05 * self.rows)

    @property
    def address(self) -> str:
        """Return the web address of the file."""
        if self.repository is None:
            return str(self.elsewhere)
        return f"{_HUB}/{self.repository}/resolve/{self.revision}/{self.file}"


_SEARCH_R1 = ("PeterJinGo/nq_hotpotqa_train", "b7d80abfee334a7a91cb377544f09180d58b34f6")
_QWEN = "https://github.com/QwenLM/Qwen2.5-Math/raw/main/evaluation/data"
_FLASHRAG = ("RUC-NLPIR/FlashRAG_datasets", "bcafb8dd07d453be3cbeeeb3f78be1841bddf92c")


def _from_qwen(name: str, title: str, rows: int, marks: str) -> Source:
    return Source(
        name,
        title,
        "torl",
        training=False,
        rows=rows,
        file=f"evaluation/data/{name}/test.jsonl",
        elsewhere=f"{_QWEN}/{name}/test.jsonl",
        alternatives=(f"{name}/test.*",),
        marks=tuple(marks.split()),
    )


def _from_flashrag(
    name: str,
    title: str,
    part: str,
    rows: int,
    marks: str,
    *patterns: str,
    copies: tuple[int, ...] = (500,),
) -> Source:
    return Source(
        name,
        title,
        "search_r1",
        training=False,
        rows=rows,
        file=f"{name}/{part}.jsonl",
        repository=_FLASHRAG[0],
        revision=_FLASHRAG[1],
        alternatives=(f"{part}.jsonl", "test.parquet", *patterns),
        other_rows=copies,
        marks=tuple(marks.split()),
    )


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
        marks=("8e7c33347555", "fb4db535c0e8", "3f14e58e5a2d", "48a85867e724", "1283cb269182"),
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
        marks=("ed68e6f2ff93", "68b68800d4bc", "4023eb92eb67", "b5b9a6dc99ef", "7790afbd205b"),
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
        marks=("ade596b099d6", "8461926a1b28", "e7cd364b6b5a", "2a8f95ff6133", "8e4e5e8753be"),
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
        marks=("b714c3e34519", "c30e9c6425de", "e873af99c70f", "8583bcbd39bc", "2601a696ac34"),
        other_rows=(675,),
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
        marks=("883bae6c1701", "3e74458b8858", "ff6dd3b25417", "a7170c556655", "eb74b8849fbe"),
    ),
    _from_qwen(
        "gsm8k",
        "GSM8K, test",
        1_319,
        "5e980c382044 3ac11500c94b 5f3c58a5a197 a0fd06898cd5 26bd53689456",
    ),
    _from_qwen(
        "svamp", "SVAMP", 1_000, "8a40fb6922f0 e4c22166c5e4 14dacde6e6da 83442713ab35 42b3f186a8d1"
    ),
    _from_qwen(
        "asdiv", "ASDiv", 2_215, "d6b28610fa80 2d765474bb4f b572335d9daf 43a4953a7357 06c64852e920"
    ),
    _from_qwen(
        "mawps", "MAWPS", 2_065, "fb66d41eda22 f877c620df81 450bdb80b36d e4b6d028bc3b 3b5e195b01e1"
    ),
    _from_qwen(
        "minerva_math",
        "Minerva's MIT courses",
        272,
        "e6c7f4281e3a ffc6b48a76c8 2fdc2efd3119 c5d3e9783862 58a5ff745d75",
    ),
    _from_flashrag(
        "nq",
        "Natural Questions, test",
        "test",
        3_610,
        "06c9568b2c19 c7f2c3f98a3f 601def702aa1 182d1483846e 9fdd7d42aca2",
        copies=(),
    ),
    _from_flashrag(
        "hotpotqa",
        "HotpotQA, development set",
        "dev",
        7_405,
        "7f963a0dd649 7347abf24501 a227ef2fd754 41665e4da74d 5e1917e003db",
        "hotpot_dev_*.json",
    ),
    _from_flashrag(
        "2wikimultihopqa",
        "2WikiMultihopQA, development set",
        "dev",
        12_576,
        "6c6fee71f502 eea4fb10de9b a2583fa55aa7 0874a50c92ad 3e3265b38452",
    ),
    _from_flashrag(
        "musique",
        "MuSiQue, development set",
        "dev",
        2_417,
        "c876fa8ce67f 0fe97c74b82c 9e59a8d9e067 0fcb26444f68 89e5b4c20d27",
    ),
    _from_flashrag(
        "bamboogle",
        "Bamboogle",
        "test",
        125,
        "afa439dcc289 97753e2b56c6 5b8417e80313 b83f30a707ce d67b11cc7e34",
        copies=(),
    ),
)

SOURCES: dict[str, Source] = {source.name: source for source in _TABLE}
