"""Tables in the paper's layout, and tests of made-up evaluations."""

import json

import pytest
from support.run_stories import answer_all, spread_calls, tell

from paretopo.cli import main
from paretopo.config import ConfigError
from paretopo_lab.document.report import write_table
from paretopo_lab.evaluate import published
from paretopo_lab.evaluate.report import compare_with_paper, write_report
from paretopo_lab.evaluate.results import summarise_folder
from paretopo_lab.evaluate.tables import paper_table
from paretopo_lab.prepare.sources import SOURCES

# ---- the paper's numbers -------------------------------------------------------------------------


def test_the_papers_tables_are_whole():
    mathematics, search = published.tables()
    assert [table.number for table in (mathematics, search)] == [1, 2]
    headings = ["MATH500", "AIME24", "AIME25", "Olympiad", "AMC23"]
    assert list(mathematics.columns.values()) == headings
    assert [len(rows) for rows in mathematics.blocks.values()] == [6, 6]
    assert [len(rows) for rows in search.blocks.values()] == [7, 7]
    # Column sums over the LaTeX source of each table.
    sums = {
        datasource: tuple(
            round(sum(getattr(row.cells[datasource], name) or 0 for row in rows), 1)
            for name in ("em", "calls")
        )
        for table in published.tables()
        for rows in [[row for block in table.blocks.values() for row in block]]
        for datasource in table.columns
    }
    assert sums == {
        "math500": (925.0, 16.0),
        "aime24": (286.8, 14.0),
        "aime25": (253.3, 14.4),
        "olympiadbench": (519.6, 16.6),
        "amc23": (807.5, 18.0),
        "nq": (525.9, 12.1),
        "hotpotqa": (430.9, 13.9),
    }
    assert set(published.question_counts()) == set(sums)


# ---- tests ---------------------------------------------------------------------------------------


@pytest.fixture
def two(tmp_path):
    """Two evaluations on the same 500 questions, the second on 30 more."""
    ours = {"math500": spread_calls(500, 400, 450)}
    base = {"math500": spread_calls(500, 389, 1050), "aime24": spread_calls(30, 7, 66)}
    return (
        answer_all(tmp_path / "a", "ours-1.5B", ours, tool="python"),
        answer_all(tmp_path / "b", "base-1.5B", base, tool="python"),
    )


def test_against_a_row_of_the_paper(two):
    torl = published.tables()[0].blocks["Qwen2.5-Math-1.5B"][2]
    measured = {folder.name: summarise_folder(folder) for folder in two}
    tests = compare_with_paper(measured, [("ToRL-GRPO", torl)])
    assert [(one.datasource, one.ours) for one in tests] == [
        ("math500", "ours-1.5B"),
        ("math500", "base-1.5B"),
        ("aime24", "base-1.5B"),
    ]
    assert tests[0].em == pytest.approx(2.2)
    assert tests[0].p == pytest.approx(0.394, abs=5e-4)
    assert tests[0].holm == 1.0
    assert tests[1].p == 1.0


# ---- the report ----------------------------------------------------------------------------------

GOLDEN = """\
| Model                         | Tool | NQ EM | #Tool | HotpotQA EM | #Tool |
|-------------------------------|------|------:|------:|------------:|------:|
| *Qwen2.5-7B (Base), as printed* |    |       |       |             |       |
| R1-Base                       | no   |  27.0 |     / |        24.2 |     / |
| SFT                           | no   |  31.8 |     / |        21.7 |     / |
| RAG                           | yes  |  34.9 |   1.0 |        29.9 |   1.0 |
| Search-R1                     | yes  |  39.9 |   1.7 |        34.1 |   2.1 |
| OTC-GRPO                      | yes  |  44.4 |   1.0 |        36.6 |   1.0 |
| MO-GRPO                       | yes  |  41.5 |   1.4 |        33.1 |   1.6 |
| ParetoPO                      | yes  |  50.1 |   0.9 |        45.2 |   0.9 |
| *measured here*               |      |       |       |             |       |
| a\\|b                          | yes  |  50.0 |   1.5 |             |       |
| bare                          | no   |  25.0 |     / |             |       |"""


def test_the_layout_is_the_papers(tmp_path):
    _, table = published.tables()
    folders = [
        answer_all(tmp_path / "a", "a|b", {"nq": spread_calls(4, 2, 6)}, tool="search"),
        answer_all(tmp_path / "b", "bare", {"nq": spread_calls(4, 1, 0)}),
        answer_all(tmp_path / "c", "of another table", {"math500": spread_calls(4, 1, 0)}),
    ]
    measured = {
        one.name: (one.settings["tool"] != "none", summarise_folder(one)) for one in folders
    }
    made = paper_table(table, published.select_blocks(table, ["7B"]), measured)
    lines = write_table(made, aligned=True)
    squeezed = [[cell.strip() for cell in line.split(" | ")] for line in lines]
    golden = [[cell.strip() for cell in line.split(" | ")] for line in GOLDEN.splitlines()]
    assert squeezed[0] == golden[0]
    assert squeezed[2:] == golden[2:]
    assert len({len(line) for line in lines}) == 1  # columns stand below each other
    assert lines[1].strip("|").replace("-", "").replace("|", "") == ":" * 4


def test_several_samples_count_by_their_means(tmp_path):
    data = {f"q{n}": [(n % 2 == 0, 1), (n % 3 == 0, 2)] for n in range(12)}
    folder = answer_all(tmp_path / "a", "a", {"nq": data}, temperature=1.0, samples=2)
    found = summarise_folder(folder)["nq"]
    assert (found.samples, found.calls) == (2, pytest.approx(1.5))
    assert found.em == pytest.approx((6 + 4) / 24)


def test_compare_reads_the_answers_of_evaluations(two, capsys):
    files = [str(folder.path / "trajectories.jsonl") for folder in two]
    columns = ("reward_components.correct:max", "reward_components.calls:min")
    words = [word for one in columns for word in ("--objective", one)]
    assert main(["compare", *files, *words, "--by", "model", "--by", "kind", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    pair = ("a kind=math500", "b kind=math500")
    correct, calls = (one for one in found["tests"] if (one["first"], one["second"]) == pair)
    assert (correct["questions"], correct["difference"]) == (500, pytest.approx(0.022))
    assert calls["difference"] == pytest.approx(-1.2)
    assert found["fronts"][0]["models"] == [pair[0]]


def test_a_report_on_evaluations(two, tmp_path, capsys):
    assert main(["report", *(str(folder.path) for folder in two)]) == 0
    path = tmp_path / "comparison" / "report.md"
    text = path.read_text()
    assert "Qwen2.5-Math-7B" not in text  # the names say 1.5B
    for part in (
        *("*Qwen2.5-Math-1.5B, as printed*", "77.8 [74.0, 81.2]", "## Against the paper's rows"),
        "| ours-1.5B                       | yes  |       80.0 |   0.9 |",
        "Holm's correction for 18 tests",  # 6 rows x 3 results
    ):
        assert part in text
    out = capsys.readouterr().out
    assert "80.0 [76.3, 83.3]" in out
    assert out.splitlines()[-1] == str(path)


def test_one_evaluation_without_a_size(tmp_path):
    data = {"aime24": spread_calls(30, 3, 15), "own": spread_calls(9, 9, 9)}
    folder = answer_all(tmp_path / "a", "<b>mine", data, tool="python", status="interrupted")
    path, report = write_report([folder])
    assert path == folder.path.resolve() / "report" / "report.md"
    text = report.write(aligned=True)
    for part in (
        *(r"* **\<b>mine**: \<b>mine, tool python", "39 of 39 questions, interrupted", "| own "),
        *("*Qwen2.5-Math-1.5B, as printed*", "*Qwen2.5-Math-7B, as printed*"),
        "No tests: no name of a model says the size",
    ):
        assert part in text
    assert "Holm's correction for 6 tests" in write_report([folder], paper="7B")[1].write()
    assert "as printed*" not in write_report([folder], paper="none")[1].write()


def test_equal_names_are_disambiguated(tmp_path):
    a, b, c = (
        answer_all(tmp_path / name, "same", {"own": spread_calls(3, 1, 3)}, tool=tool)
        for name, tool in (("a", "none"), ("b", "search"), ("c", "search"))
    )
    text = write_report([a, b, c])[1].write(aligned=True)
    assert all(
        f"**{name}**" in text for name in ("same, none", "same, search (b)", "same, search (c)")
    )
    with pytest.raises(ConfigError, match=r"different evaluations, got .* twice"):
        write_report([a, a])


def test_wrong_folders_are_refused(tmp_path, capsys):
    empty = answer_all(tmp_path / "a", "a", {})
    assert main(["report", str(empty.path)]) == 2
    assert "has no answers yet" in capsys.readouterr().err
    run = tell(tmp_path)
    assert main(["report", str(run.path), str(empty.path)]) == 2
    assert "not both" in capsys.readouterr().err
    assert main(["report", str(run.path), "--paper", "7B"]) == 2
    assert "--paper is only for reports on evaluations" in capsys.readouterr().err


def test_data_sets_are_those_that_prepare_makes():
    rows = {name: source.rows for name, source in SOURCES.items() if not source.training}
    assert published.question_counts().items() <= rows.items()
