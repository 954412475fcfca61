import os

import pytest

from browsing import Browser, missing


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.parent.name == "browser":
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def one_browser():
    if missing():
        why = f"{' and '.join(missing())} not installed"
        if os.environ.get("DSNC_BROWSER") == "required":
            pytest.fail(why)
        pytest.skip(why)
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture
def browser(one_browser):
    """The browser; at the end, nothing has gone wrong, and nothing was asked of others."""
    one_browser.screen()
    one_browser.forget()
    yield one_browser
    assert one_browser.problems() == []
    own = "http://127.0.0.1:", "file://", "data:", "blob:", "about:blank"
    assert [url for url in one_browser.requests() if not url.startswith(own)] == []
