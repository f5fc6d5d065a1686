"""How Sphinx makes a site of this folder and the docstrings: `bash scripts/build_site.sh`."""

from __future__ import annotations

import argparse
import io
import os
import re
import sys
from contextlib import redirect_stdout
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ConfigError
from sphinx.util.docutils import SphinxDirective

sys.path.append(str(Path(__file__).parent))
from key_tables import add_key_tables

from paretopo.cli import make_parser
from paretopo_core import __version__

ROOT = Path(__file__).parents[1]

project = "paretopo"
author = copyright = "The paretopo developers"
version = release = __version__
html_title = f"paretopo {__version__}"
html_theme = "furo"
html_copy_source = html_show_sourcelink = False
highlight_language = "text"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
]
exclude_patterns: list[str] = []

# Pages are read on a code host, too: links are relative, anchors those of headings, formulas stand
# between dollars or in a fence called math.
myst_enable_extensions = ["dollarmath"]
myst_fence_as_directive = ["math"]
myst_heading_anchors = 4
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

# The site includes a copy of MathJax, so that it needs no network.
MATHJAX = ROOT / "build" / "mathjax"
mathjax_path = "tex-svg.js"
html_static_path = ["_static", os.path.relpath(MATHJAX, Path(__file__).parent)]
html_css_files = ["tables.css"]
html_js_files = ["tables.js"]
html_search_scorer = str(Path(__file__).parent / "_static" / "scorer.js")

# Mock the packages that only training needs, so that the core is enough to build the site.
autodoc_mock_imports = [
    *("accelerate", "datasets", "httpx", "openrlhf"),
    *("safetensors", "skyrl", "torch", "tqdm", "transformers", "trl"),
]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
maximum_signature_line_length = 88
add_module_names = False
default_role = "code"

# Names of other packages, whose sites may be unreachable at build time; aliases; and objects that
# only our adapters make.
KINDS = (
    "Points",
    "Vector",
    "Mask",
    "PerPoint",
    "PerValue",
    "PerObjective",
    "PerSet",
    "PerPair",
    "Array",
    "Maximise",
)
autodoc_type_aliases = {name: name for name in ("ArrayLike", *KINDS)}
nitpick_ignore_regex = [
    (
        "py:.*",
        r"(np|numpy|collections|io|os|pathlib|typing)\..*|ArrayLike|NDArray|Axes|TypeAliasForwardRef"
        rf"|Generated|.*({'|'.join(KINDS)})(\[.*)?|[\w.]*T|Senses|Centre"
        r"|Rng|Dominance|Duplicates|[\w.]*Users|S\w+Method|[\w.]*Replacement",
    ),
    (
        "py:class",
        r"paretopo\.(config\.notes|controller\.gain|integrations|preference|records|rewards)\..*",
    ),
]


class CommandHelp(SphinxDirective):
    """The help of `paretopo` and its commands, as a terminal of 80 columns shows it."""

    def run(self) -> list[nodes.Node]:
        """One section for each command."""
        os.environ["COLUMNS"] = "80"
        parser = make_parser()
        [commands] = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
        made: list[nodes.Node] = []
        for name, command in {"": parser, **commands.choices}.items():
            title = f"paretopo {name}".strip()
            section = nodes.section(ids=[nodes.make_id(title)], names=[title.replace(" ", "-")])
            section += nodes.title(text=title)
            shown = io.StringIO()
            with redirect_stdout(shown):
                command.print_help()
            section += nodes.literal_block(shown.getvalue(), shown.getvalue(), language="text")
            made.append(section)
        return made


def check_formulas_can_be_drawn(app: Sphinx) -> None:
    """Refuse to build pages whose formulas would stay as TeX."""
    if app.builder.format == "html" and not (MATHJAX / mathjax_path).is_file():
        raise ConfigError(
            f"{MATHJAX / mathjax_path} must be MathJax's tex-svg.js, got no file: "
            "build with scripts/build_site.sh, which fetches it"
        )


# Pages of the site whose text is a file outside docs/: a code host shows that file in its folder.
ELSEWHERE = {"benchmark": "bench/README.md", "contributing": "CONTRIBUTING.md"}
LINK = re.compile(r"\[([^\[\]]*)\]\((?!https?:|#)([^)#\s]+)(#[^)\s]*)?\)")


def read_files_outside(_: Sphinx, page: str, source: list[str]) -> None:
    """Put the text of a file outside docs/ on its page, and point links to such files there."""
    docs = Path(__file__).parent
    file = ROOT / ELSEWHERE[page] if page in ELSEWHERE else docs / f"{page}.md"
    if not file.is_file():
        return
    pages = {(ROOT / path).resolve(): name for name, path in ELSEWHERE.items()}

    def point(link: re.Match[str]) -> str:
        words, target, heading = link[1], (file.parent / link[2]).resolve(), link[3] or ""
        if not target.exists():
            return link[0]
        if target in pages:
            target = docs / f"{pages[target]}.md"
        elif target.suffix == ".md" and not target.is_relative_to(docs):
            return f"{words} (`{target.relative_to(ROOT)}`)"  # no page of the site
        path = Path(os.path.relpath(target, (docs / page).parent)).as_posix()
        return f"[{words}]({path}{heading})"

    text = file.read_text(encoding="utf-8") if page in ELSEWHERE else source[0]
    text = add_key_tables(text) if page == "configuration" else text
    source[0] = LINK.sub(point, text)


def name_pages_by_their_titles(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Show a link whose text is a file's name, as a code host wants it, with the page's title."""
    for link in doctree.findall(nodes.reference):
        name, ending = os.path.splitext(link.astext())  # noqa: PTH122
        target = os.path.normpath(os.path.join(os.path.dirname(page), name))  # noqa: PTH118, PTH120
        if ending == ".md" and target in app.env.titles:
            link[:] = [nodes.Text(app.env.titles[target].astext())]


def drop_blank_ends(_: Sphinx, doctree: nodes.document) -> None:
    """End a block of code with its last line: an example for doctest has a blank line after it."""
    for block in doctree.findall(nodes.literal_block):
        text = block.astext().rstrip("\n")
        if block.rawsource == block.astext() != text:
            block.rawsource = text
            block[:] = [nodes.Text(text)]


def setup(app: Sphinx) -> None:
    """Register our directive and checks."""
    app.add_directive("command-help", CommandHelp)
    app.connect("builder-inited", check_formulas_can_be_drawn)
    app.connect("source-read", read_files_outside)
    app.connect("doctree-read", drop_blank_ends)
    app.connect("doctree-resolved", name_pages_by_their_titles)
