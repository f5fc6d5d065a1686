"""The notebooks are those of the tutorials, and run."""

import importlib.util
import json
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "notebooks"
MAKER = runpy.run_path(str(ROOT / "scripts" / "make_notebooks.py"))


def run(page, folder, monkeypatch, changes=None):
    """Run the cells of a notebook in a folder and return them."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    notebook = nbformat.read(FOLDER / f"{page}.ipynb", as_version=4)
    for cell in notebook.cells:
        for old, new in (changes or {}).items():
            cell.source = cell.source.replace(old, new)
    client = nbclient.NotebookClient(
        notebook, timeout=600, resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    return notebook.cells


@pytest.mark.parametrize("page", MAKER["PAGES"])
def test_notebooks_are_up_to_date(page):
    written = (FOLDER / f"{page}.ipynb").read_text(encoding="utf-8")
    assert written == MAKER["make_notebook"](page), "run scripts/make_notebooks.py"
    for cell in json.loads(written)["cells"]:
        if cell["cell_type"] == "code":
            compile("".join(cell["source"]), page, "exec")


def test_links_lead_out_of_the_folder():
    text = (FOLDER / "tutorial_training.ipynb").read_text(encoding="utf-8")
    assert "](../objectives.md)" in text
    assert "](../../examples/own_script.py)" in text


def test_the_optimisation_notebook_runs(tmp_path, monkeypatch):
    changes = {}
    if importlib.util.find_spec("pymoo") is None:
        changes = {
            "from pymoo.": "# ",
            'with pp.accelerate("pymoo"):\n    again =': "#",
            "result =": "#",
            "assert (again": "#",
        }
    cells = run("tutorial_optimisation", tmp_path, monkeypatch, changes)
    shown = [out for cell in cells for out in cell.get("outputs", ())]
    texts = [out.data["text/plain"] for out in shown if "data" in out]
    assert "(11, 11)" in texts
    assert any("image/png" in out.get("data", {}) for out in shown)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_own_rewards_lead_to_a_front(tmp_path, monkeypatch):
    pytest.importorskip("trl")
    changes = {
        "'../..'": repr(str(ROOT)),
        "max_steps=60": "max_steps=2",
        "training)\n": "training, steps=2)\n",  # of the imitation
        "imitate(model, tokenizer, training)": "imitate(model, tokenizer, training, steps=2)",
    }
    cells = run("tutorial_training", tmp_path, monkeypatch, changes)
    assert len(list(tmp_path.glob("runs/tokens-*/report/report.md"))) == 3
    printed = "".join(
        out.text for cell in cells for out in cell.get("outputs", ()) if out.get("name") == "stdout"
    )
    assert "'polite':" in printed
