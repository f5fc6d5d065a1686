"""The site reaches every page, lists every public name, and has formulas that code hosts render.

These tests need no Sphinx. `scripts/build_site.sh` builds the site with warnings as errors.
"""

import importlib
import re
import runpy
from pathlib import Path

import pytest
from support.browsers import browser

import paretopo_core as pp

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(path for path in DOCS.rglob("*") if path.suffix in {".md", ".rst"})
OBJECT = re.compile(r"^\.\. (?:auto)?(?:function|class|exception|data):: (\w+)", re.MULTILINE)
NAMES_ON_API_PAGES = {
    f"{module}.{name}"
    for page in (DOCS / "api").glob("*.rst")
    for module, body in re.findall(
        r"currentmodule:: ([\w.]+)\n(.*?)(?=\n\.\. currentmodule|\Z)",
        page.read_text(encoding="utf-8"),
        re.DOTALL,
    )
    for name in OBJECT.findall(body)
}


def listed(page):
    """The pages that a page's tables of contents list."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".md":
        bodies = re.findall(r"```\{toctree\}\n(.*?)```", text, re.DOTALL)
    else:
        bodies = re.findall(r"^\.\. toctree::\n((?:   .*\n|\n)+)", text, re.MULTILINE)
    for line in "\n".join(bodies).splitlines():
        name = re.sub(r".*<(.*)>", r"\1", line.strip())
        if name and not name.startswith(":"):
            [found] = [
                one for end in (".md", ".rst") if (one := page.parent / (name + end)).is_file()
            ]
            yield found


def test_every_page_is_in_one_table_of_contents():
    found = [name for page in PAGES for name in listed(page)]
    assert sorted(found) == [page for page in PAGES if page != DOCS / "index.md"]


def test_every_public_name_is_on_an_api_page():
    assert {f"paretopo_core.{name}" for name in pp.__all__} <= NAMES_ON_API_PAGES


def test_whatever_the_pages_import_is_on_an_api_page():
    for page in DOCS.glob("*.md"):
        text = page.read_text(encoding="utf-8")
        for module, names in re.findall(r"^from (paretopo\.[\w.]*) import ([\w, ]+)", text, re.M):
            for name in names.strip().split(", "):
                assert f"{module}.{name}" in NAMES_ON_API_PAGES, page


def test_names_on_api_pages_exist():
    for name in NAMES_ON_API_PAGES:
        module, _, last = name.rpartition(".")
        try:
            home = importlib.import_module(module)
        except ModuleNotFoundError as missing:
            if missing.name.startswith("paretopo"):
                raise
            continue  # a trainer that is not installed
        assert hasattr(home, last), name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_formula_within_a_line_survives_a_code_host(page):
    r"""Which takes a backslash before a sign away (`\,` becomes `,`), and `|` for a new cell."""
    text = re.sub(r"```.*?```|`[^`\n]+`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert text.count("$") % 2 == 0
    for formula in re.findall(r"\$([^$]+)\$", text):
        assert not re.search(r"\\[^A-Za-z]|\||\n|^\s|\s$", formula), formula


def test_the_help_of_every_command_is_made():
    pytest.importorskip("sphinx")
    directive = runpy.run_path(str(DOCS / "conf.py"))["CommandHelp"]
    titles = [section[0].astext() for section in directive.run(None)]
    assert titles[0] == "paretopo"
    assert {"paretopo train", "paretopo report", "paretopo study"} < set(titles)


# In a browser

TOO_WIDE = (
    "[...document.querySelectorAll('.table-wrapper')]"
    ".filter((one) => one.scrollWidth > one.clientWidth + 1)"
)


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_pages_fit_render_formulas_and_load_no_foreign_files(width, tmp_path):
    site = DOCS.parent / "build" / "site"
    if not site.is_dir():
        pytest.skip("there is no build/site: bash scripts/build_site.sh")
    with browser(tmp_path) as page:
        pages = (
            "index",
            "mathematics",
            "api/choosing",
            "study",
            "coming_from",
            "configuration",
            "data",
        )
        for dark, name in enumerate(pages):
            path = site / f"{name}.html"
            formulas = path.read_text(encoding="utf-8").count('class="math notranslate')
            page.events.clear()
            page.open(path, dark=dark % 2 == 1, width=width)
            page.wait(f"document.querySelectorAll('mjx-container').length >= {formulas}")
            assert page.value("document.querySelectorAll('[data-mml-node=merror]').length") == 0
            assert page.value("document.documentElement.scrollWidth") <= width, name
            page.wait(f"{TOO_WIDE}.length === 0")
            assert all(one.startswith(("file:", "data:")) for one in page.requests()), name
            assert page.complaints() == []
        page.open(site / "search.html", width=width)
        page.value("location.search = '?q=hypervolume'")
        page.wait("document.querySelectorAll('#search-results li').length > 3")
        first = page.value("document.querySelector('#search-results li a').innerText")
        assert first == "paretopo_core.hypervolume"  # not compat's, not the definition
