"""A headless Chromium for tests, driven by Playwright.

The browser is the system's own, found on the PATH: ``pip install playwright`` is enough, and its download of browsers
is not needed. A fixture is one line, ``yield from open_chromium()``; it skips where there is no browser.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)


def open_chromium() -> Iterator[Browser]:
    """One browser, closed at the end; skips the test where Playwright or Chromium is missing."""
    if CHROMIUM is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is on the PATH")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    options = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, headless=True, args=options)
        yield browser
        browser.close()
