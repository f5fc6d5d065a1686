"""The command line measures, draws and explains itself."""

import lzma
import os
import subprocess
import sys

import pytest
from support.benchmarks import CHECKOUT, PLAN, TINY, a_row, one_line

from bench import __main__ as cli
from bench import command, machine, rows
from bench.cases import OPERATIONS


def test_the_command_line_measures_draws_and_promises(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "QUICK", PLAN)
    monkeypatch.setitem(OPERATIONS, "fronts", lambda *, quick: [TINY])
    out = str(tmp_path / "results")
    assert cli.main(["fronts", "--quick", "--out", out]) == 0
    text = capsys.readouterr().out
    assert "best peer moocore" in text
    assert text.rstrip().endswith("fronts.png")
    assert cli.main(["--promises", "--out", out]) == 0
    assert "| promise " in capsys.readouterr().out
    assert str(os.sep) not in (tmp_path / "results" / "fronts.csv").read_text(encoding="utf-8")
    assert cli.main(["cooking", "--out", out]) == 2
    assert "operation must be one of fronts, filter" in one_line(capsys)


def test_plots_need_only_the_files(tmp_path):
    sizes = [a_row(points=points, peer=name) for points in (10, 100, 1000) for name in PLAN.names]
    rows.write(tmp_path / "fronts.csv", [*sizes, a_row(workload="chain"), a_row(status="wrong")])
    drawn = command.draw((), tmp_path)
    assert [path.name for path in drawn] == ["fronts-uniform.png", "fronts.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in drawn)
    with pytest.raises(ValueError, match="no results in"):
        command.draw(("filter",), tmp_path)


def test_packed_files_are_read_unless_there_is_a_newer_one(tmp_path):
    rows.write(tmp_path / "fronts.csv", [a_row()])
    packed = lzma.compress((tmp_path / "fronts.csv").read_bytes())
    (tmp_path / "fronts.csv.xz").write_bytes(packed)
    rows.write(tmp_path / "fronts.csv", [a_row(), a_row(points=99)])
    assert len(rows.read_all(tmp_path, ["fronts", "filter"])) == 2
    (tmp_path / "fronts.csv").unlink()
    (row,) = rows.read_all(tmp_path, ["fronts", "filter"])
    assert (row.case, row.milliseconds) == (a_row().case, 2.0)


def test_a_machine_gets_a_plain_name():
    names = {
        ("AMD EPYC", "26", "2", "avx512"): "amd-epyc-26-2-avx512",
        ("Intel(R) Core(TM) i7-1165G7 CPU @ 2.80GHz", "", "", "avx2"): "intel-core-i7-1165g7-avx2",
    }
    for (processor, family, model, isa), name in names.items():
        here = {
            "processor": processor, "family": family, "model": model, "instruction set": isa
        }  # fmt: skip
        assert machine.name_machine(here) == name
        assert command.choose_folder(here, "quick") == CHECKOUT / f"bench/results/{name}-quick"


def test_ctrl_c_ends_with_how_to_go_on(monkeypatch, capsys):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "measure", interrupt)
    for words in (["fronts", "--quick"], ["fronts", "--quick", "--resume"]):
        assert cli.main(words) == 130
        told = capsys.readouterr().err
        assert told.endswith("go on with: python -m bench fronts --quick --resume\n")


def test_missing_package_is_named():
    # -S hides installed packages; the command looks for NumPy first.
    done = subprocess.run(
        [sys.executable, "-S", "-m", "bench"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "paretopo_core, matplotlib, moocore not installed" in done.stderr
    assert "pip install '.[bench]'" in done.stderr
    assert done.stderr.count("\n") == 1
