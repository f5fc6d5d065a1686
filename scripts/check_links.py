"""Check the links of a folder of HTML pages: python scripts/check_links.py build/site.

Every link within the folder must lead to an existing file and id. Links to other hosts are counted,
not followed. Exits with 1 if a link is broken.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links and ids of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect ids and links."""
        del tag
        for name, value in attrs:
            if name == "id" and value:
                self.ids.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


def broken(pages: dict[Path, Page]) -> Iterator[str]:
    """Yield a message for each broken link."""
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                yield f"{path}: {link}: no such file"
                continue
            ids = pages[target].ids if target in pages else {parts.fragment}
            if parts.fragment and unquote(parts.fragment) not in ids:
                yield f"{path}: {link}: no such id"


def main(folder: str) -> int:
    """Print broken links and the number of external links, and return the exit status."""
    pages = {path.resolve(): Page(path) for path in sorted(Path(folder).rglob("*.html"))}
    if not pages:
        print(f"{folder} must hold HTML pages, got none: build them with scripts/build_site.sh")
        return 1
    found = list(broken(pages))
    links = {link for page in pages.values() for link in page.links}
    elsewhere = sum(bool(urlsplit(link).netloc) for link in links)
    print(
        *found, f"{len(pages)} pages, {len(links)} links, {elsewhere} of them elsewhere", sep="\n"
    )
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
