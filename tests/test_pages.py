"""The pages: links resolve, commands parse, examples run."""

from __future__ import annotations

import doctest
import importlib.util
import re
import shlex
import shutil
import tomllib
from pathlib import Path

import pytest

from bench.__main__ import _make_parser as make_bench_parser
from paretopo import cli
from paretopo.cli.train import _parse_overrides
from paretopo.config import load, loads, with_method
from paretopo_lab.study import plan

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(
    path
    for pattern in ("*.md", "bench/*.md", "docs/**/*.md", "examples/**/*.md", "research/*.md")
    for path in ROOT.glob(pattern)
)
HELP = [*sorted((ROOT / "python").glob("paretopo*/cli/*.py")), ROOT / "bench/__main__.py"]
OWN = re.compile(r"(?:[A-Z_]+=\S+ )*(?:\.venv/bin/)?(paretopo|python|scripts/\S+\.sh)(?: (.+))?")
ELSEWHERE = {"verl"}  # packages of an environment of their own
STAND_INS = {"S": "0", "NAME": "math500"}  # for words that a reader replaces


def find_commands() -> dict[str, str]:
    """Page by command: those of code blocks, inline code and examples of the help."""
    found = {}
    for path in PAGES + HELP:
        text = re.sub(r" *\\{1,2}\n *", " ", path.read_text(encoding="utf-8"))
        if path.suffix == ".md":
            fenced = re.findall(r"^```(\S*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
            blocks = [block for language, block in fenced if language in {"", "sh", "bash"}]
            lines = "\n".join(blocks).splitlines() + re.findall(r"`([^`\n]+)`", text)
        else:
            lines = re.findall(r"^  (\S.*)$", text, re.MULTILINE)
        for line in lines:
            command = re.split(r"  | # | \| | && ", line.strip())[0].rstrip(".")
            if OWN.fullmatch(command):
                found.setdefault(command, path.relative_to(ROOT).as_posix())
    return found


COMMANDS = find_commands()


def words_of(command: str) -> tuple[str, list[str]]:
    """The program, and its words with one of the choices where several are offered."""
    program, words = OWN.fullmatch(command).groups(default="")
    words = re.sub(r"(?<!=)\[[^\]]*\]|\.\.\.", "", words)
    words = re.sub(r"(\w+)(?:\|\w+)+", r"\1", words)  # none|python|search
    words = re.sub(r"\{(\w+),[^}]*\}", r"\1", words)  # {nq,hotpotqa}
    return program, [STAND_INS.get(word, word) for word in shlex.split(words)]


def test_commands_are_found_on_every_kind_of_page():
    assert len(COMMANDS) > 80
    assert {"README.md", "docs/training.md", "python/paretopo/cli/train.py"} < set(
        COMMANDS.values()
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_a_documented_command_is_understood(command):
    program, words = words_of(command)
    if program.startswith("scripts/"):
        assert (ROOT / program).is_file(), COMMANDS[command]
    elif program == "paretopo":
        check_paretopo(words)
    elif words[:2] == ["-m", "bench"]:
        make_bench_parser().parse_args(words[2:])
    elif words[:1] == ["-m"] and words[1].partition(".")[0] not in ELSEWHERE:
        assert importlib.util.find_spec(words[1]) is not None, COMMANDS[command]
    elif words and words[0].endswith(".py"):
        assert (ROOT / words[0]).is_file(), COMMANDS[command]


def check_paretopo(words: list[str]) -> None:
    own = words[: words.index("--")] if "--" in words else words
    if len(own) <= 1 or "--help" in own:  # the command is named, not called
        with pytest.raises(SystemExit) as end:
            cli.make_parser().parse_args([*own, "--help"])
        assert end.value.code == 0
        return
    parsed = cli.make_parser().parse_args(own)
    config = getattr(parsed, "config", None)
    if own[0] == "train" and config is not None and config.startswith("examples/"):
        overrides = _parse_overrides(parsed.overrides)
        if parsed.method is None:
            load(ROOT / config, overrides)
        else:
            with_method(ROOT / config, parsed.method, overrides)


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", one).lower().replace(" ", "-") for one in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_resolve(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        target, _, anchor = link.partition("#")
        if not re.match(r"\w+:", target):
            found = page.parent / target if target else page
            assert found.exists(), link
            assert not anchor or anchor in anchors(found), link


WITH_DOCTESTS = [path for path in PAGES if ">>> " in path.read_text(encoding="utf-8")]


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # torch's own
@pytest.mark.parametrize("page", WITH_DOCTESTS, ids=lambda path: path.stem)
def test_examples_with_their_output_run(page, tmp_path, monkeypatch):
    if page.stem == "csv_to_picture":
        pytest.importorskip("matplotlib")
        monkeypatch.chdir(tmp_path)  # it writes files
    if page.stem == "gradients":
        pytest.importorskip("torch")
    failed, attempted = doctest.testfile(str(page), module_relative=False)
    assert failed == 0
    assert attempted >= 2


WITH_TOML = [path for path in PAGES if blocks(path, "toml")]


@pytest.mark.parametrize("page", WITH_TOML, ids=lambda path: path.stem)
def test_examples_of_configurations_are_valid(page, tmp_path):
    shutil.copy(DOCS.parent / "examples" / "calculator.toml", tmp_path / "mine.toml")
    for example in blocks(page, "toml"):
        if page.stem == "study":
            plan.from_table(tomllib.loads(example), base=tmp_path)
        else:
            loads(example)


# tests/test_tutorials.py and tests/test_readme.py run those that need more than their own page.
SCRIPTS = ["methods", "own_loop", "rewards", "scripts", "search_server"]


@pytest.mark.parametrize("name", [*SCRIPTS, pytest.param("sandbox", marks=pytest.mark.sandbox)])
def test_examples_of_code_run(name):
    if name == "scripts":
        pytest.importorskip("trl")
    names = {}
    for example in blocks(DOCS / f"{name}.md", "python"):
        if not example.startswith(">>> "):  # those show their output, and run above
            exec(compile(example, f"docs/{name}.md", "exec"), names)
    assert names
