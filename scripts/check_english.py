"""Check prose and names for words and openings that this project avoids.

Usage: check_english.py [FILE]...

Checks comments, docstrings, messages and names of functions and classes in the given files, or in
all tracked ones. Exits with status 1 if a file breaks a rule. CONTRIBUTING.md has the rules.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

# Records of runs, files whose digests these contain, prompts for models, texts of others, and this
# file, which has to name the words.
EXEMPT = (
    "bench/results/",
    "examples/word_problems/make_questions.py",
    "examples/word_problems/tools.py",
    "examples/word_problems/warmup.py",
    "research/choice/",
    "research/parts/",
    "research/routing/",
    "python/paretopo_lab/evaluate/prompting.py",
    "python/paretopo/tasks/calculator.py",
    "python/paretopo/tools/calculator.py",
    "docs/study/",
    "tests/literature/data/",
    "scripts/check_english.py",
)

RULES = {
    "'what' as a noun": re.compile(r"\bwhat\b(?! to\b)(?![^.]*\?)", re.I),
    "opening": re.compile(r"(?:^|[.] )(?:Whether|Those|That of|Of(?! course\b))\b(?![^.]*\?)"),
    "word": re.compile(
        r"\b(?:beside|nobody|somebody|anew|told|likewise|meanwhile|apart|of which|at hand|behind"
        r"|(?<!leave )(?<!leave it )(?<!-)alone)\b",
        re.I,
    ),
    "stranded participle": re.compile(r"\b(?:taken|told|asked for)(?=[.;:](?: |$))"),
}
NAME = re.compile(
    r"(?:^|_)(?:what|beside|apart|nobody|nowhere|told|anew|alone|behind|meets)(?:_|$)"
    r"|kNobody|Beside|are_taken|goes_on"
)
# Plain English that the words above would hit.
FINE = re.compile(
    r"\b(?:leav\w+|left|let) (?:\w+ ){0,3}(?:alone|behind)\b"
    r"|\bfar apart\b|\bwhat about\b|\b(?:tell|set)s? \w+ apart\b",
    re.I,
)
DEFINITION = re.compile(r"\b(?:def|class|struct|enum|constexpr \w+|inline \w+)\s+(\w+)")
CPP = (".cpp", ".hpp", ".cu", ".cuh", ".js", ".h")


def python_prose(text: str, *, messages: bool) -> Iterator[tuple[int, str]]:
    """Yield the lines of comments, docstrings and, with `messages`, of strings of several words."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("#: ")
        elif token.type == tokenize.STRING and token.string.count(" ") > 1:
            is_docstring = re.match(r'\s*r?"""', token.line) is not None
            if messages or is_docstring:
                body = re.sub(r"^[rbfuRBFU]*(\"{3}|\"|'{3}|')|(\"{3}|\"|')$", "", token.string)
                for offset, line in enumerate(body.split("\n")):
                    yield token.start[0] + offset, line.strip()


def prose(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file that people read."""
    if path.suffix == ".py":
        # Strings in tests quote messages of the program and texts of models.
        yield from python_prose(text, messages=path.parts[0] != "tests")
        return
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        if path.suffix in CPP:
            found = re.findall(r"//+ ?(.*)|\"([^\"]* [^\"]* [^\"]*)\"", line)
            yield from ((number, comment or string) for comment, string in found)
        elif path.suffix in (".md", ".rst"):
            fenced ^= line.lstrip().startswith("```")
            if not fenced:
                yield number, re.sub(r"`[^`]*`|\]\([^)]*\)", "`", line).strip("#*->| ")
        elif match := re.search(r"(?:^|\s)#+ (.*)", line):
            yield number, match[1]


def breaches(path: Path) -> Iterator[str]:
    """Yield one line of text for each breach of a rule in a file."""
    text = path.read_text(encoding="utf-8")
    for number, line in prose(path, text):
        # Words in quotes or backticks name things.
        words = FINE.sub("", re.sub(r"``?[^`]+``?", "`", line))
        for rule, pattern in RULES.items():
            for match in pattern.finditer(words):
                yield f"{path}:{number}: {rule}: {match[0].strip(' .')}: {line.strip()}"
    if path.suffix in (".py", *CPP):
        for match in DEFINITION.finditer(text):
            if NAME.search(match[1]):
                yield f"{path}:{text.count(chr(10), 0, match.start()) + 1}: name: {match[1]}"


def main(files: list[str]) -> int:
    """Check the files and return the exit status."""
    if not files:
        listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True)
        files = listed.stdout.split("\n")
    kinds = (".py", ".md", ".rst", ".toml", ".sh", ".cmake", ".txt", ".yml", ".yaml", *CPP)
    files = [name for name in files if name.endswith(kinds) and not name.startswith(EXEMPT)]
    found = [line for name in files for line in breaches(Path(name))]
    for line in found:
        print(line)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
