"""`paretopo prepare`: the command, its downloads from the Hub, and training on its files."""

import hashlib
import json
import subprocess
import sys

import huggingface_hub
import pytest
from support import made_data as made

from paretopo import cli
from paretopo.records.schema import DataError, read_rows
from paretopo_lab.prepare import preparing
from paretopo_lab.prepare.sources import SOURCES


def test_files_come_from_the_hub_in_the_state_of_the_table(tmp_path, monkeypatch, capsys):
    asked = []
    rows = [made.math500_row(number, f"How many? {number}", "3") for number in range(500)]

    def hf_hub_download(repository, file, **where):
        asked.append((repository, file, where))
        return str(made.write(tmp_path / "cache" / file, rows))

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", hf_hub_download)
    assert cli.main(["prepare", "math500", "--out", str(tmp_path / "data")]) == 0
    source = SOURCES["math500"]
    assert asked == [
        (source.repository, source.file, {"repo_type": "dataset", "revision": source.revision})
    ]
    assert len(list(read_rows(tmp_path / "data/math500/test.jsonl"))) == 500
    (warning,) = capsys.readouterr().err.splitlines()  # the number of rows is the published one
    assert "the file is not as published" in warning


@pytest.mark.parametrize("name", SOURCES)
def test_missing_hub_names_the_alternative(name, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(DataError) as refused:
        preparing.download(SOURCES[name])
    text = str(refused.value)
    assert f"download {SOURCES[name].address} and pass it: paretopo prepare {name} --from" in text
    assert text.startswith(
        f"{SOURCES[name].title} is not on the Hugging Face Hub"
        if SOURCES[name].repository is None
        else "the Hugging Face"
    )


def test_every_source_is_pinned_and_addressed():
    for name, source in SOURCES.items():
        assert source.name == name
        assert source.address.startswith("https://")
        assert source.repository is None or len(source.revision) == 40
        assert source.sha256 is None or len(bytes.fromhex(source.sha256)) == 32


# ---- the command line ----------------------------------------------------------------------------


def test_command_prints_a_summary(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    made.write(tmp_path / "math.jsonl", [made.math500_row(1, "How many?", "3")])
    rows = [
        *made.torl_rows(),
        made.torl_row(900, "How many?", "3"),
        made.torl_row(901, "What?", ""),
    ]
    made.write(tmp_path / "train.parquet", rows)
    assert cli.main(["prepare", "math500", "--from", "math.jsonl"]) == 0
    printed, warned = capsys.readouterr()
    digest = hashlib.sha256((tmp_path / "math.jsonl").read_bytes()).hexdigest()
    assert f"sha256 {digest}  not as published\n" in printed
    assert f"warning: the file is not as published: sha256 {digest}, expected 35dc4108" in warned
    assert cli.main(["prepare", "torl", "--from", "train.parquet", "--held-out", "0.1"]) == 0
    printed, warned = capsys.readouterr()
    lines = [line.split() for line in printed.splitlines()]
    assert ["read", "302", "rows"] in lines
    assert ["dropped", "1", "same", "question", "as", "a", "benchmark"] in lines
    assert ["dropped", "1", "no", "answer"] in lines
    assert ["without", "1", "questions", "of", "data/math500/test.jsonl"] in lines
    assert ["kept", "300", "made_math"] in lines
    manifest = json.loads((tmp_path / "data/torl/manifest.json").read_text(encoding="utf-8"))
    for output in manifest["outputs"]:
        content = (tmp_path / "data/torl" / output["path"]).read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        assert output["sha256"] == digest
        assert output["rows"] == content.count(b"\n")
        summary = f"wrote {output['rows']} rows data/torl/{output['path']} sha256 {digest}"
        assert summary.split() in lines
    assert "warning: 302 rows of ToRL's training set, where about 28,000" in warned
    assert "as published" not in printed + warned  # no checksum of it is published


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["nothing"], "got 'nothing'"),
        (["torl", "--from", "nowhere.csv"], "paretopo: cannot read nowhere.csv: No such file"),
        (["torl"], "paretopo: ToRL's training set is not on the Hugging Face Hub: download https:"),
        (["math500", "--seed", "3"], "math500 is a benchmark and stays as published"),
        (["math500", "--exclude", "x"], "math500 is a benchmark and stays as published"),
        (["torl", "--held-out", "0"], "--held-out must be above 0 and at most 0.5, got 0.0"),
        (["torl", "--held-out", "nan"], "--held-out must be above 0 and at most 0.5, got nan"),
        (["torl", "--from", "few.jsonl"], "no rows for data/torl/held_out.jsonl: 1 read, 1 kept"),
        (["torl", "--from", "few.jsonl", "--exclude", "no.csv"], "cannot read no.csv: No such"),
        (["torl", "--from", "few.txt"], "few.txt must be a .parquet, .jsonl, .json, .csv file"),
        (["torl", "--from", "few.jsonl", "--out", "few.txt"], "Not a directory"),
    ],
)
def test_wrong_input_is_refused_in_one_line(tmp_path, monkeypatch, capsys, words, complaint):
    monkeypatch.chdir(tmp_path)
    made.write(tmp_path / "few.jsonl", [{"question": "Who?", "answer": "1"}])
    (tmp_path / "few.txt").write_text("Who?", encoding="utf-8")
    try:
        code = cli.main(["prepare", *words])
    except SystemExit as stopped:
        code = stopped.code
    error = capsys.readouterr().err
    assert code == 2
    assert complaint in error
    assert words == ["nothing"] or error.count("\n") == 1
    assert not (tmp_path / "data/torl/train.jsonl").exists()


def test_help_teaches_and_loads_nothing_heavy(tmp_path):
    words = [sys.executable, "-m", "paretopo", "prepare", "--help"]
    shown = subprocess.run(words, capture_output=True, text=True, check=False)
    assert shown.returncode == 0
    for name, source in SOURCES.items():
        assert f"\n  {name} " in shown.stdout
        assert f"{source.rows:,}" in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 100
    code = (
        "import sys; from paretopo import cli; cli.make_parser()\n"
        "heavy = {'torch', 'pyarrow', 'datasets', 'huggingface_hub', 'tqdm'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
