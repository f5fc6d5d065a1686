"""Parse our HTML pages: their elements, their security policy and their text in a browser."""

from __future__ import annotations

import base64
import hashlib
import html.parser
import json
import re


class Reader(html.parser.HTMLParser):
    """Elements with their attributes, and the texts of scripts and styles."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self._open: str | None = None

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.texts.append("")
        self._open = tag

    def handle_endtag(self, tag):
        self._open = None

    def handle_data(self, data):
        if self._open:
            self.texts[-1] += data

    def of(self, name):
        pairs = zip(self.elements, self.texts, strict=True)
        return [(given, text) for (tag, given), text in pairs if tag == name]


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    return reader


def read_data(text: str):
    """Return the JSON data of a page after checking that it contains no markup."""
    data, script = read(text).of("script")
    assert data[0] == {"type": "application/json", "id": "data"}
    assert script[0] == {}
    assert not re.search("[<>&]", data[1])
    return json.loads(data[1])


def check_self_contained(text: str) -> None:
    """Nothing is loaded, and only our own script may run; a page without one allows none."""
    reader = read(text)
    for tag, attributes in reader.elements:
        assert not {"src", "style", "onclick", "srcset", "action"} & attributes.keys()
        # Pictures use marks of their own.
        assert "href" not in attributes or (tag, attributes["href"][0]) == ("use", "#")
    policy = next(
        given["content"]
        for given, _ in reader.of("meta")
        if given.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    scripts = [text for given, text in reader.of("script") if not given] or [""]
    for kind, own in (("style", reader.of("style")[0][1]), ("script", *scripts)):
        digest = base64.b64encode(hashlib.sha256(own.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy


def texts(browser, selector):
    """Return the visible text of the elements that match a selector."""
    found = f"[...document.querySelectorAll({json.dumps(selector)})].map((e) => e.innerText)"
    return browser.value(found)


def choose(browser, **values):
    """Give elements, by id, a value, as a person would."""
    browser.value(
        f"for (const [name, value] of Object.entries({json.dumps(values)})) {{"
        " const found = document.getElementById(name);"
        " found.value = value;"
        " found.dispatchEvent(new Event(found.matches('select') ? 'change' : 'input')); }"
    )
