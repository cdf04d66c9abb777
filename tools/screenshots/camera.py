"""Headless Chromium, a mouse that waits for what it clicks, and pictures of pages that have come to rest."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from selenium import webdriver
from selenium.common.exceptions import ElementClickInterceptedException, StaleElementReferenceException
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

PATIENCE = 90
WIDTH, HEIGHT = 1400, 900
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--force-color-profile=srgb",
)  # fmt: skip


@dataclass(frozen=True)
class Camera:
    """One window of the browser."""

    page: WebDriver
    url: str
    folder: Path

    def open(self, path: str, *words: str, height: int = HEIGHT) -> None:
        """A page of Dagster, as soon as it shows these words."""
        self.page.set_window_size(WIDTH, height)
        self.page.get(f"{self.url}/{path}")
        self.until(*words)

    def until(self, *words: str) -> None:
        """Wait for words on the page, however they are cased by its style."""
        for word in words:
            self._wait(f"//*[contains(., {_quoted(word)})]")

    def click(self, xpath: str) -> None:
        """Click what is there, once it is and nothing lies over it."""
        WebDriverWait(
            self.page, PATIENCE, ignored_exceptions=[ElementClickInterceptedException, StaleElementReferenceException]
        ).until(lambda _: self._clicked(xpath), f"nothing to click at {xpath}")

    def button(self, text: str) -> None:
        """Click the last button that reads so: a dialog lies after the page below it."""
        self.click(f"(//button[contains(., {_quoted(text)})])[last()]")

    def drag(self, xpath: str, begin: float, end: float) -> None:
        """Press, move and release over the last such element, from one fraction of its width to another."""
        bar = self._wait(f"({xpath})[last()]")
        width = bar.size["width"]
        mouse = (
            ActionChains(self.page).move_to_element_with_offset(bar, round((begin - 0.5) * width), 0).click_and_hold()
        )
        # Two steps: a page notices where a button was pressed only when the pointer then moves.
        for step in (0.5, 1.0):
            mouse.move_to_element_with_offset(bar, round((begin + step * (end - begin) - 0.5) * width), 0)
        mouse.release().perform()

    def take(self, name: str) -> None:
        """A picture, once two in a row are the same."""
        file = self.folder / f"{name}.png"
        previous, deadline = b"", time.monotonic() + PATIENCE
        while time.monotonic() < deadline and (picture := self.page.get_screenshot_as_png()) != previous:
            previous = picture
            time.sleep(1)
        file.write_bytes(previous)
        print(f"{file}  {len(previous):,} bytes")

    def _wait(self, xpath: str) -> WebElement:
        found: list[WebElement] = WebDriverWait(self.page, PATIENCE).until(
            lambda page: page.find_elements(By.XPATH, xpath), f"never seen: {xpath}"
        )
        return found[0]

    def _clicked(self, xpath: str) -> bool:
        found = [each for each in self.page.find_elements(By.XPATH, xpath) if each.is_displayed() and each.is_enabled()]
        if found:
            found[0].click()
        return bool(found)


@contextmanager
def camera(url: str, folder: Path) -> Iterator[Camera]:
    """Debian's own browser, since one that a test tool downloads would be another one every week."""
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        sys.exit("Chromium is missing: apt-get install chromium chromium-driver")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="screenshots-") as profile:
        options = Options()
        options.binary_location = program
        for flag in (*FLAGS, f"--user-data-dir={profile}", f"--window-size={WIDTH},{HEIGHT}"):
            options.add_argument(flag)
        page = webdriver.Chrome(options=options, service=Service(executable_path=driver))
        try:
            yield Camera(page, url, folder)
        finally:
            page.quit()


def _quoted(text: str) -> str:
    return f"'{text}'" if "'" not in text else f'"{text}"'
