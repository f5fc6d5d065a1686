"""Shell users get a version, suggestions, completion and quiet logs from any command."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import paretopo_core
from paretopo import cli
from paretopo.progress import make_bar

ROOT = Path(__file__).parents[3]


def refuse(capsys, *words):
    """The lines that argparse writes before it exits with status 2."""
    with pytest.raises(SystemExit) as stopped:
        cli.main(words)
    assert stopped.value.code == 2
    return capsys.readouterr().err.splitlines()


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_version_is_that_of_the_core(option, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main([option])
    assert stopped.value.code == 0
    assert capsys.readouterr().out == f"paretopo {paretopo_core.__version__}\n"


def test_no_command_prints_the_help(capsys):
    assert cli.main([]) == 2
    assert "examples:\n  paretopo info" in capsys.readouterr().err


def test_help_is_a_command(capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["help", "report"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out.startswith("usage: paretopo report ")


@pytest.mark.parametrize(
    ("words", "program", "meant"),
    [
        (["trian"], "paretopo", "train"),  # codespell:ignore
        (["evalute", "runs/x"], "paretopo", "evaluate"),  # codespell:ignore
        (["train", "x.toml", "--stpes", "3"], "paretopo train", "--steps"),
        (["train", "x.toml", "--sede=3"], "paretopo train", "--seed"),
        (["evaluate", "x", "--tool", "serch"], "paretopo evaluate", "search"),  # codespell:ignore
        (["prepare", "mth500"], "paretopo prepare", "math500"),
    ],
)
def test_a_misspelt_word_gets_a_suggestion(words, program, meant, capsys):
    lines = refuse(capsys, *words)
    assert lines[0].startswith(f"usage: {program} [-h]")
    assert lines[-1].startswith(f"{program}: error: ")
    assert lines[-1].endswith(f"; did you mean {meant}?")


def test_an_unknown_option_far_from_all_gets_no_suggestion(capsys):
    last = refuse(capsys, "train", "x.toml", "--bogus")[-1]
    assert last == "paretopo train: error: unrecognized arguments: --bogus"
    assert refuse(capsys, "show", "a", "b")[-1] == "paretopo show: error: unrecognized arguments: b"


def complete(line, tmp_path):
    pytest.importorskip("argcomplete")
    found = tmp_path / "found"
    asked = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(found),
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
        "COMP_TYPE": "9",
    }
    subprocess.run([sys.executable, "-m", "paretopo"], env=os.environ | asked, check=True)
    return {word.strip() for word in found.read_text().split("\v")}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("paretopo tr", {"train"}),
        ("paretopo train --res", {"--resume"}),
        ("paretopo train x.toml --set optimiser.ste", {"optimiser.steps="}),
        ("paretopo train x.toml --method mo_", {"mo_grpo"}),
        ("paretopo train x.toml --method paper+without_stage_1", {"paper+without_stage_1"}),
        ("paretopo evaluate x --tool r", {"rag"}),
    ],
)
def test_a_shell_completes(line, words, tmp_path):
    assert complete(line, tmp_path) == words


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals the POSIX way")
def test_a_terminal_sees_a_line_before_packages_load(tmp_path):
    import pty

    torch = tmp_path / "stand_in" / "torch"
    torch.mkdir(parents=True)
    (torch / "__init__.py").write_text(
        "import sys\nprint('loads torch', file=sys.stderr)\nraise KeyboardInterrupt"
    )
    reading, terminal = pty.openpty()
    path = f"{torch.parent}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    words = ["train", str(ROOT / "examples" / "calculator.toml"), "--out", str(tmp_path / "runs")]
    process = subprocess.Popen(
        [sys.executable, "-m", "paretopo", *words],
        stdout=terminal,
        stderr=terminal,
        env=os.environ | {"PYTHONPATH": path},
    )
    assert process.wait() == 130
    os.close(terminal)
    lines = os.read(reading, 65536).decode().splitlines()
    os.close(reading)
    assert lines[0].startswith(f"run folder: {tmp_path / 'runs'}")
    assert lines[2:4] == ["paretopo: loading packages and model ...", "loads torch"]


def test_a_log_gets_lines_and_no_bar(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("paretopo.progress.time.monotonic", lambda: now[0])
    with make_bar(total=100, desc="training") as bar:
        for step in range(100):
            now[0] = float(step)  # a second each
            bar.set_postfix_str(f"step {step}")
            bar.update()
    text = capsys.readouterr().err
    assert "\r" not in text
    assert "█" not in text
    lines = [line.split(",")[0] for line in text.splitlines()]
    assert lines[0] == "training: 0/100"
    assert lines[-1] == "training: 100/100"
    assert 4 <= len(lines) <= 6
    assert len(set(lines)) == len(lines)


def test_a_terminal_gets_a_bar(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with make_bar(total=2, desc="training") as bar:
        bar.update(2)
    assert "\rtraining: 100%|" in capsys.readouterr().err


def test_bars_of_others_are_off_in_a_log(tmp_path):
    code = (
        "import sys\nfrom paretopo import cli\ncli.main(['info'])\n"
        "from tqdm import tqdm\nlist(tqdm(range(3)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
