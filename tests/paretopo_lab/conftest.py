"""One browser for the pages of runs."""

import pytest
from support.browsers import browser


@pytest.fixture(scope="session")
def started(tmp_path_factory):
    with browser(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture
def show_page(started, tmp_path):
    """A function: the text of a page → the browser with it open; complaints fail the test."""

    def show(text, **settings):
        path = tmp_path / "page.html"
        path.write_text(text, encoding="utf-8")
        started.events.clear()
        started.open(path, **settings)
        return started

    yield show
    assert started.complaints() == []
    assert all(address.startswith("file://") for address in started.requests())
